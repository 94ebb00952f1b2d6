// The pod condition that says why a pod waits, for people and for programs that read pods instead of events.
//
// PodScheduled=False with reason Unschedulable for pods that we bind, as kube-scheduler writes it and autoscalers read
// it; dra-controller-manager/Allocated=False for pods that our gate holds. None for pods of other schedulers.
#pragma once

#include <string>
#include <string_view>

#include "controllers/allocation/protocol.h"
#include "pkg/base/clock.h"

namespace dra::allocation {

inline constexpr std::string_view kAllocatedCondition = "dra-controller-manager/Allocated";
inline constexpr std::string_view kPodScheduledCondition = "PodScheduled";

// A waiting condition is written at most this often, and not before the pod has waited as long: most pods get none. Of
// a pod that we bind and that fits nowhere the first one is written at once, at its turn (Outcome::at_its_turn).
inline constexpr Duration kConditionPause = std::chrono::seconds(30);

// Empty: pods of this role get no condition.
std::string_view condition_type(Role role);
const api::Condition* find_condition(const api::Pod& pod, std::string_view type);

// The text without its numbers: two that differ only in numbers are the same news.
std::string without_numbers(std::string_view text);

}  // namespace dra::allocation
