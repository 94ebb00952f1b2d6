// The pod condition that says why a pod waits, for people and for programs that look at pods instead of events.
//
// PodScheduled=False with reason Unschedulable where we bind the pod, as kube-scheduler has it and autoscalers read it;
// dra-controller-manager/Allocated=False where our gate holds it. Nothing for pods of other schedulers.
#pragma once

#include <string>
#include <string_view>

#include "controllers/allocation/protocol.h"
#include "pkg/base/clock.h"

namespace dra::allocation {

inline constexpr std::string_view kAllocatedCondition = "dra-controller-manager/Allocated";
inline constexpr std::string_view kPodScheduledCondition = "PodScheduled";

// A condition is written at most once in this time, and not before the pod has waited as long: most pods never get one.
inline constexpr Duration kConditionPause = std::chrono::seconds(30);

// Empty: pods of this role get no condition.
std::string_view condition_type(Role role);
const api::Condition* find_condition(const api::Pod& pod, std::string_view type);

// A text apart from its figures: two that differ in these only are the same news.
std::string without_numbers(std::string_view text);

}  // namespace dra::allocation
