#include "pkg/inspect/verbs/explain_owner.h"

#include <nlohmann/json.hpp>

#include "pkg/inspect/verbs/fits.h"

namespace dra::inspect {
namespace {

using nlohmann::json;

constexpr const char* kKueueQueue = "kueue.x-k8s.io/queue-name";  // https://kueue.sigs.k8s.io, label of a Job

const json& inside(const json& object, const char* key) {
  static const json kNothing;
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() ? *found : kNothing;
}

std::string text_inside(const json& object, const char* key) {
  const json& value = inside(object, key);
  return value.is_string() ? value.get<std::string>() : "";
}

// "kubectl VERB job train -n ml"
std::string command(const char* verb, const json& object, const std::string& ns) {
  return std::string("kubectl ") + verb + " " + to_lower(text_inside(object, "kind")) + " " +
         text_inside(inside(object, "metadata"), "name") + " -n " + ns;
}

std::string why_no_pods(const json& object, const std::string& ns) {
  const json& spec = inside(object, "spec");
  if (inside(spec, "suspend") == true) {
    const std::string queue = text_inside(inside(inside(object, "metadata"), "labels"), kKueueQueue);
    if (!queue.empty())
      return "It is suspended (spec.suspend): queue " + quote(queue) + " (label " + kKueueQueue +
             ") has not admitted it; kubectl describe workloads -n " + ns + " shows why";
    return "It is suspended (spec.suspend): by a queue, or until somebody resumes it: " + command("patch", object, ns) +
           R"( --type=merge -p '{"spec":{"suspend":false}}')";
  }
  for (const json& condition : inside(inside(object, "status"), "conditions"))
    if (const std::string type = text_inside(condition, "type");
        (type == "Complete" || type == "Failed") && text_inside(condition, "status") == "True")
      return "It has ended: condition " + type +
             (text_inside(condition, "message").empty() ? "" : ", " + text_inside(condition, "message"));
  for (const char* count : {"replicas", "parallelism"})
    if (inside(spec, count) == 0) return std::string("Its spec.") + count + " is 0";
  return "Its controller has made none yet: " + command("describe", object, ns) + " shows why";
}

}  // namespace

Result<Answer> explain_without_pods(const Objects& objects, const StateOptions& options, const std::string& ns,
                                    std::string_view text) {
  const json object = json::parse(text, nullptr, false);
  const std::string name = text_inside(inside(object, "metadata"), "name");
  if (name.empty() || !inside(object, "spec").is_object())
    return fail(Code::kInvalidArgument, "the answer is not an object with a name and a spec");
  Answer answer{"DRAExplain"};
  answer.status = Status::kNo;
  const ObjectRef owner{text_inside(object, "kind"), ns, name};
  answer.say({"NoPods", owner.kind + " " + ns + "/" + name + " has no pods.", owner});
  answer.say({"WhyNoPods", why_no_pods(object, ns) + ".", owner});
  const auto manifest = read_manifest(text, ns);
  if (!manifest || manifest->workloads.empty()) return answer;
  FitsOptions asked;
  asked.state = options;
  asked.count_more = false;
  const auto found = fits(objects, *manifest, asked);
  if (!found) {
    answer.say({"Undecided", "Whether its pods would fit is not known: " + found.error().message() + ".", owner});
    return answer;
  }
  for (const FitAnswer& one : *found)
    if (one.fit == Fit::kNow)
      answer.say({"Fits", "Its pods would fit now.", owner});
    else
      answer.say({"DoesNotFit",
                  "Its pods would not all fit now (" + std::to_string(one.placed) + " of " +
                      std::to_string(one.copies) + "): " + one.why,
                  owner,
                  "spec.template",
                  {{"placed", one.placed}, {"copies", one.copies}}});
  return answer;
}

}  // namespace dra::inspect
