#include "pkg/inspect/state/priorities.h"

namespace dra::inspect {

SetPriority set_priority(const Objects& objects, api::Pod& pod) {
  SetPriority set;
  const auto& classes = objects.evictions.priority_classes;
  const api::PriorityClass* found = nullptr;
  if (!pod.priority_class_name.empty()) {
    const auto known = classes.find(pod.priority_class_name);
    if (known != classes.end()) found = known->second.get();
    if (found == nullptr && pod.priority == 0)
      set.unknown = "PriorityClass " + pod.priority_class_name + " of pod " + pod.metadata.key() +
                    (objects.evictions.hides("priorityclasses") ? " is not visible" : " is not there") +
                    "; its priority is taken as 0";
  } else {
    for (const auto& [name, one] : classes)
      if (one->global_default && (found == nullptr || one->value < found->value)) found = one.get();
  }
  if (found == nullptr) return set;
  if (pod.priority == 0) pod.priority = found->value;
  set.preempts = found->preemption_policy != "Never";
  return set;
}

}  // namespace dra::inspect
