#include "pkg/inspect/verbs/history.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "pkg/base/strings.h"
#include "pkg/inspect/state/unseen.h"
#include "pkg/protocol/history.h"

namespace dra::inspect {
namespace {

using Json = nlohmann::json;

struct Moment {
  Timestamp time;
  bool known = false;
  std::string source, what, text;
  Tone tone = Tone::kPlain;
};

std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string first_text(const Json& object, std::initializer_list<const char*> keys) {
  for (const char* key : keys)
    if (std::string text = text_at(object, key); !text.empty()) return text;
  return "";
}

void add_moment(std::vector<Moment>& to, const std::string& time, Moment moment) {
  moment.known = parse_rfc3339(time, moment.time);
  to.push_back(std::move(moment));
}

void add_conditions(const api::Pod& pod, std::vector<Moment>& to) {
  for (const api::Condition& one : pod.conditions)
    add_moment(to, one.last_transition_time,
               {{},
                false,
                "condition",
                one.type + "=" + one.status,
                one.reason + (one.reason.empty() || one.message.empty() ? "" : ": ") + one.message,
                one.status == "True" ? Tone::kGood : Tone::kPlain});
}

void add_claims(const Objects& objects, const api::Pod& pod, std::vector<Moment>& to) {
  for (const auto& [key, claim] : objects.claims) {
    if (claim->metadata.ns != pod.metadata.ns) continue;
    const auto& users = claim->status.reserved_for;
    const bool reserved =
        std::any_of(users.begin(), users.end(), [&](const auto& user) { return user.uid == pod.metadata.uid; });
    const auto& owners = claim->metadata.owner_references;
    const bool owned =
        std::any_of(owners.begin(), owners.end(), [&](const auto& owner) { return owner.uid == pod.metadata.uid; });
    if (owned)
      add_moment(to, claim->metadata.creation_timestamp,
                 {{}, false, "claim", "Created", "claim " + claim->metadata.name});
    if (!claim->status.allocation || (!reserved && !owned)) continue;
    std::vector<std::string> devices;
    for (const auto& result : claim->status.allocation->results)
      devices.push_back(result.driver + "/" + result.pool + "/" + result.device);
    add_moment(to, claim->status.allocation->allocation_timestamp,
               {{},
                false,
                "claim",
                "Allocated",
                "claim " + claim->metadata.name + (devices.empty() ? "" : ": " + join(devices, ", ")),
                Tone::kGood});
  }
}

void add_events(const EventsOfPod& events, std::vector<Moment>& to) {
  for (const PodEvent& one : events.events) {
    const std::string& time = one.first.empty() ? one.last : one.first;
    std::string text = one.note;
    if (one.count > 1)
      text += " (" + std::to_string(one.count) + " times" + (one.last.empty() ? "" : ", last " + one.last) + ")";
    add_moment(to, time,
               {{},
                false,
                one.reporter.empty() ? "event" : "event of " + one.reporter,
                one.reason,
                std::move(text),
                one.type == "Warning" ? Tone::kWarn : Tone::kPlain});
  }
}

void note_losses(const api::Pod& pod, const EventsOfPod& events, size_t causes, Answer& answer) {
  const auto lost = [&](std::string code, std::string text) {
    answer.statements.push_back({std::move(code), text});
    answer.notes.push_back(std::move(text));
  };
  if (causes == protocol::kMaxHistoryEntries)
    lost("HistoryFull", "causes before the first of these eight are lost: the annotation " +
                            std::string(protocol::kHistoryAnnotation) + " keeps the last eight");
  else if (causes == 0)
    lost(
        "HistoryAbsent",
        "no cause is recorded: dra-controller-manager writes them along with the condition of a pod that it serves and "
        "that has waited for 30 s");
  lost("HistoryOfConditions", "a condition has the time of its last change alone; what it said before is lost");
  if (!events.why_not.empty()) return lost("EventsUnknown", "events are not shown: " + events.why_not);
  if (events.cut)
    lost("EventsCut", "only the first " + std::to_string(kMaxHistoryEvents) + " events of the pod were read");
  lost("EventsExpire", "events are lost after an hour, unless the API server keeps them longer (--event-ttl)" +
                           std::string(pod.metadata.creation_timestamp.empty() ? "" : "; the pod was made at ") +
                           pod.metadata.creation_timestamp);
}

}  // namespace

Result<EventsOfPod> events_of_pod(std::string_view list, const std::string& uid) {
  const Json json = Json::parse(list, nullptr, false);
  const auto items = json.is_object() ? json.find("items") : json.end();
  if (!json.is_object() || items == json.end() || !items->is_array())
    return fail(Code::kUnavailable, "the answer of the API server is not a list of events");
  EventsOfPod found;
  if (const auto metadata = json.find("metadata"); metadata != json.end() && metadata->is_object())
    found.cut = !text_at(*metadata, "continue").empty();
  for (const Json& item : *items) {
    if (!item.is_object() || !item.contains("involvedObject") || !item["involvedObject"].is_object()) continue;
    if (text_at(item["involvedObject"], "uid") != uid) continue;
    if (found.events.size() == kMaxHistoryEvents) {
      found.cut = true;
      break;
    }
    PodEvent event;
    event.first = first_text(item, {"firstTimestamp", "eventTime"});
    event.last = text_at(item, "lastTimestamp");
    event.type = text_at(item, "type");
    event.reason = text_at(item, "reason");
    event.note = text_at(item, "message");
    event.reporter = text_at(item, "reportingComponent");
    if (event.reporter.empty())
      if (const auto source = item.find("source"); source != item.end() && source->is_object())
        event.reporter = text_at(*source, "component");
    if (const auto count = item.find("count"); count != item.end() && count->is_number_unsigned())
      event.count = count->get<uint64_t>();
    if (const auto series = item.find("series"); series != item.end() && series->is_object()) {
      if (const auto count = series->find("count"); count != series->end() && count->is_number_unsigned())
        event.count = count->get<uint64_t>();
      event.last = first_text(*series, {"lastObservedTime"});
    }
    found.events.push_back(std::move(event));
  }
  return found;
}

Result<const api::Pod*> pod_of_history(const Objects& objects, const std::string& target, const std::string& ns) {
  const size_t slash = target.find('/');
  const std::string kind = slash == std::string::npos ? "pod" : target.substr(0, slash);
  const std::string name = slash == std::string::npos ? target : target.substr(slash + 1);
  if (kind != "pod" && kind != "pods" && kind != "po")
    return fail(Code::kInvalidArgument, "history is about a pod: history pod/NAME; " + quote(target) + " is none");
  const auto found = objects.pods.find(ns + "/" + name);
  if (found != objects.pods.end()) return found->second.get();
  std::vector<std::string> names;
  for (const auto& [key, pod] : objects.pods)
    if (pod->metadata.ns == ns) names.push_back(pod->metadata.name);
  const std::string near = nearest(name, names);
  return fail(not_known(objects, "pods", ns, "pod " + quote(ns + "/" + name),
                        near.empty() ? "" : "; did you mean " + quote(near) + "?"));
}

Answer history(const Objects& objects, const api::Pod& pod, const EventsOfPod& events) {
  Answer answer{"DRAHistory"};
  std::vector<Moment> moments;
  add_moment(moments, pod.metadata.creation_timestamp, {{}, false, "pod", "Created", ""});
  const auto annotation = pod.metadata.annotations.find(protocol::kHistoryAnnotation);
  std::vector<protocol::HistoryEntry> causes;
  if (annotation != pod.metadata.annotations.end()) causes = protocol::read_history(annotation->second);
  for (const protocol::HistoryEntry& one : causes) moments.push_back({one.time, true, "cause", "Waits", one.text});
  add_conditions(pod, moments);
  add_claims(objects, pod, moments);
  add_events(events, moments);
  std::stable_sort(moments.begin(), moments.end(), [](const Moment& a, const Moment& b) {
    return std::tuple(!a.known, a.time) < std::tuple(!b.known, b.time);
  });
  Table table{"", "history", {{"TIME", "time"}, {"SOURCE", "source"}, {"WHAT", "what"}, {"TEXT", "text"}}, {}};
  for (const Moment& one : moments)
    table.rows.push_back({"",
                          {Cell(one.known ? format_rfc3339(one.time) : "-"), Cell(one.source), Cell(one.what, one.tone),
                           Cell(one.text.empty() ? "-" : one.text)}});
  answer.tables.push_back(std::move(table));
  note_losses(pod, events, causes.size(), answer);
  return answer;
}

}  // namespace dra::inspect
