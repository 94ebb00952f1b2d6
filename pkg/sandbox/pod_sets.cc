#include "pkg/sandbox/pod_sets.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/base/random.h"
#include "pkg/base/timestamp.h"

namespace dra::sandbox {

bool finished(const Json& pod) {
  const std::string phase = text_at(pod, "/status/phase");
  return phase == "Succeeded" || phase == "Failed";
}

bool deleting(const Json& object) {
  return !text_at(object, "/metadata/deletionTimestamp").empty();
}

bool ready(const Json& pod) {
  for (const Json& condition : pod.value("/status/conditions"_json_pointer, Json::array())) {
    if (condition.value("type", "") == "Ready") return condition.value("status", "") == "True";
  }
  return false;
}

int64_t ready_among(const std::vector<const Json*>& pods) {
  return std::count_if(pods.begin(), pods.end(), [](const Json* pod) { return ready(*pod); });
}

std::string template_hash(const Json& owner) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : owner.value("/spec/template"_json_pointer, Json::object()).dump())
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return SeededRandom(hash).name_suffix(10);
}

std::string object_path(const OwnerKind& kind, const Json& object) {
  return std::string(kind.path) + "/namespaces/" + text_at(object, "/metadata/namespace") + "/" + kind.plural + "/" +
         text_at(object, "/metadata/name");
}

Json controller_reference(const OwnerKind& kind, const Json& owner) {
  return {{"apiVersion", kind.api_version},         {"kind", kind.kind},  {"name", text_at(owner, "/metadata/name")},
          {"uid", text_at(owner, "/metadata/uid")}, {"controller", true}, {"blockOwnerDeletion", true}};
}

Json pod_of(const OwnerKind& kind, const Json& owner, const std::string& name, const Json& extra_labels) {
  Json pod = owner.value("/spec/template"_json_pointer, Json::object());
  pod["apiVersion"] = "v1";
  pod["kind"] = "Pod";
  Json& metadata = pod["metadata"];
  metadata["name"] = name;
  metadata["namespace"] = text_at(owner, "/metadata/namespace");
  if (!metadata.contains("labels") || metadata["labels"].is_null()) metadata["labels"] = Json::object();
  metadata["labels"].update(extra_labels);
  metadata["ownerReferences"] = Json::array({controller_reference(kind, owner)});
  return pod;
}

ApiCall create_pod(const Json& pod) {
  return {"POST", "/api/v1/namespaces/" + text_at(pod, "/metadata/namespace") + "/pods", pod.dump()};
}

ApiCall delete_pod(const Json& pod) {
  return {"DELETE",
          "/api/v1/namespaces/" + text_at(pod, "/metadata/namespace") + "/pods/" + text_at(pod, "/metadata/name"),
          Json{{"preconditions", {{"uid", text_at(pod, "/metadata/uid")}}}}.dump()};
}

void report(const OwnerKind& kind, const Json& owner, const Json& status, Step& step) {
  const Json old = owner.value("/status"_json_pointer, Json::object());
  bool same = true;
  for (const auto& [key, value] : status.items())
    same = same && (old.contains(key) ? old[key] == value : value.is_null() || value == 0 || value == "");
  if (same) return;
  step.calls.push_back({"PATCH", object_path(kind, owner) + "/status",
                        Json{{"metadata", {{"uid", text_at(owner, "/metadata/uid")}}}, {"status", status}}.dump()});
}

Json with_conditions(const Json& owner, const std::vector<WantedCondition>& wanted, WallTime now) {
  Json list = owner.value("/status/conditions"_json_pointer, Json::array());
  if (!list.is_array()) list = Json::array();
  for (const WantedCondition& want : wanted) {
    const auto at = std::find_if(list.begin(), list.end(),
                                 [&](const Json& c) { return c.value("type", "") == std::string_view(want.type); });
    const bool there = at != list.end();
    if (there && at->value("status", "") == want.status && at->value("reason", "") == want.reason &&
        at->value("message", "") == want.message)
      continue;
    const bool turned = !there || at->value("status", "") != want.status;
    Json condition = {{"type", want.type}, {"status", want.status}, {"reason", want.reason}, {"message", want.message}};
    condition["lastUpdateTime"] = format_rfc3339(now);
    condition["lastTransitionTime"] = turned ? Json(format_rfc3339(now)) : (*at)["lastTransitionTime"];
    if (there) {
      *at = std::move(condition);
    } else {
      list.push_back(std::move(condition));
    }
  }
  return list;
}

int64_t amount_of(const Json& value, int64_t total, bool round_up, int64_t fallback) {
  if (value.is_number_integer()) return std::max<int64_t>(0, value.get<int64_t>());
  if (!value.is_string()) return fallback;
  const std::string text = value.get<std::string>();
  if (text.size() < 2 || text.size() > 5 || text.back() != '%' ||
      text.find_first_not_of("0123456789") != text.size() - 1)
    return fallback;
  const int64_t percent = std::stoll(text);
  return (percent * total + (round_up ? 99 : 0)) / 100;
}

}  // namespace dra::sandbox
