// history: what a pod waited for and when, from all that is left of it: the annotation that the manager writes along
// with the pod's condition (pkg/protocol/history.h), the conditions, the claims, and the events. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pkg/inspect/answer/answer.h"
#include "pkg/inspect/state/objects.h"

namespace dra::inspect {

struct PodEvent {
  std::string first, last;  // times in RFC 3339; empty: not known
  uint64_t count = 1;
  std::string type, reason, note, reporter;
};

struct EventsOfPod {
  std::vector<PodEvent> events;
  std::string why_not;  // why they are not known; empty: they are
  bool cut = false;     // there are more than were read
};

// At most this many events are read.
inline constexpr size_t kMaxHistoryEvents = 500;

// Those of the pod in one page of a list of core/v1 events. Errors: the text is no such list.
Result<EventsOfPod> events_of_pod(std::string_view list, const std::string& uid);

// `target`: "pod/X" or "X". Errors: the pod is not known; similar names are suggested.
Result<const api::Pod*> pod_of_history(const Objects& objects, const std::string& target, const std::string& ns);
Answer history(const Objects& objects, const api::Pod& pod, const EventsOfPod& events);

}  // namespace dra::inspect
