// The pod condition that says why a pod waits, for people and for programs that read pods instead of events.
//
// PodScheduled=False with reason Unschedulable for pods that we bind, as kube-scheduler writes it and autoscalers read
// it; dra-controller-manager/Allocated=False for pods that our gate holds. None for pods of other schedulers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "controllers/allocation/pod/context.h"
#include "controllers/allocation/protocol.h"
#include "pkg/base/clock.h"

namespace dra::allocation {

inline constexpr std::string_view kAllocatedCondition = "dra-controller-manager/Allocated";
inline constexpr std::string_view kPodScheduledCondition = "PodScheduled";

// A waiting condition is written at most this often, and not before the pod has waited as long: most pods get none. Of
// a pod that we bind and that fits nowhere the first one is written at once, at its turn
// (ReconcileResult::at_its_turn).
inline constexpr Duration kConditionPause = std::chrono::seconds(30);

// Empty: pods of this role get no condition.
std::string_view condition_type(Role role);
const api::Condition* find_condition(const api::Pod& pod, std::string_view type);

// What a pod that waits is known to be: fitting nowhere now, or waiting for an answer.
enum class Fit : uint8_t { kNowhere, kUndecided };

// Says in the condition why the pod waits, or requeues it for when that may be said. `kind`: sentences of one kind are
// the same news, but for their numbers. Call it after the pod is parked: a write of the condition replaces parking.
void show_waiting(const PodContext& context, const std::string& sentence, const std::string& kind, Fit fit,
                  reconcile::ReconcileResult& out);
// The gate is lifted: writes True, and only over False, since most pods never had the condition.
void show_allocated(const PodContext& context, const std::string& message, reconcile::ReconcileResult& out);
// Bind mode: removes a nomination by others to a node that does not fit the pod.
void drop_nomination(const PodContext& context, reconcile::ReconcileResult& out);
// Requests of the pod fail, as the sentence says: the condition that says so. Nothing: pods like it get none.
std::optional<reconcile::Write> write_outage(const reconcile::View& view, const api::Pod& pod,
                                             const std::string& sentence, const Options& options);

// The text without its numbers: two that differ only in numbers are the same news.
std::string without_numbers(std::string_view text);

}  // namespace dra::allocation
