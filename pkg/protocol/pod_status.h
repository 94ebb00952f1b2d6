// PodStatus: server-side apply to a pod's status, for the files of this package that write one.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "pkg/api/core.h"
#include "pkg/api/meta.h"
#include "pkg/base/json_text.h"
#include "pkg/protocol/history.h"
#include "pkg/reconcile/effect.h"

namespace dra::protocol {

// What a write to a pod's status is beside its members.
struct StatusApply {
  std::string manager;  // "": this program's
  std::string purpose;
  std::string history;      // the new value of kHistoryAnnotation; "": it stays
  bool at_version = false;  // 409 if the pod has changed; without it the write is pinned to the uid alone
};

// Fields applied before and now left out are removed. `members` adds the members of the status.
template <class F>
reconcile::Write apply_pod_status(const api::Pod& pod, StatusApply as, F&& members) {
  JsonText out;
  out.object([&] {
    out.member("apiVersion", "v1");
    out.member("kind", "Pod");
    out.object("metadata", [&] {
      if (!as.history.empty()) out.object("annotations", [&] { out.member(kHistoryAnnotation, as.history); });
      out.member("name", pod.metadata.name);
      out.member("namespace", pod.metadata.ns);
      if (as.at_version) out.member("resourceVersion", pod.metadata.resource_version);
      out.member("uid", pod.metadata.uid);
    });
    out.object("status", [&] { members(out); });
  });
  reconcile::Write write;
  write.verb = reconcile::Verb::kApply;
  write.object = {reconcile::Kind::kPod, pod.metadata.ns, pod.metadata.name, pod.metadata.uid};
  write.subresource = "status";
  if (as.at_version) write.resource_version = pod.metadata.resource_version;
  write.field_manager = std::move(as.manager);
  write.purpose = std::move(as.purpose);
  write.body = std::move(out).text();
  return write;
}

// The member "conditions" with this one alone; `generation`: of the object that was judged.
void write_conditions(JsonText& out, const api::Condition& condition, const std::string& since,
                      std::optional<int64_t> generation = std::nullopt);

}  // namespace dra::protocol
