// What pods, namespaces and classes say about evictions, in annotations. Pure.
//
//   dra-controller-manager/do-not-move: "true"      on a Pod: it is never moved so that others fit
//   dra-controller-manager/moves-per-hour: "2"      on a Pod: of its controlling owner; on a Namespace: of its pods
//   dra-controller-manager/preemption: never        on a DeviceClass: its pods neither preempt nor are victims
//   dra-controller-manager/preemption: "true"       a label of a Namespace: its pods may preempt
//   dra-controller-manager/defragment: advice       on a DeviceClass: whether pods move for requests of the class
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "pkg/api/resource.h"

namespace dra::protocol {

inline constexpr std::string_view kDoNotMoveAnnotation = "dra-controller-manager/do-not-move";
inline constexpr std::string_view kMovesPerHourAnnotation = "dra-controller-manager/moves-per-hour";
inline constexpr std::string_view kPreemptionAnnotation = "dra-controller-manager/preemption";

inline constexpr std::string_view kDefragmentAnnotation = "dra-controller-manager/defragment";

// The flag without which nothing is said about moves, without dashes. Its words are those of Defragment.
inline constexpr std::string_view kDefragmentFlag = "defragment";

inline constexpr uint32_t kMostMovesPerHour = 1000;

// A note about itself (reconcile::Note): whom the manager moved in the last hour, as "SECONDS/namespace/owner/pod",
// owner and pod by uid, separated by commas, the newest first. The leader writes it on its Lease, and reads there what
// the one before wrote, so that a restart moves no more than an hour allows. What does not fit is forgotten.
inline constexpr std::string_view kMovesOfTheHour = "moves-of-the-hour";
inline constexpr size_t kMaxMovesText = 4000;
// Of one owner, where its pods have no annotation.
inline constexpr uint32_t kMovesPerHourOfOwner = 1;

// A number from 0 to 1000 without a leading zero; nothing: it is malformed, and counts as 0.
std::optional<uint32_t> read_moves_per_hour(std::string_view text);

// What is done when a pod would fit if others moved. The lesser of two counts.
enum class Defragment : uint8_t { kOff, kAdvice, kOn };
// "off", "advice", "on"; nothing: it is malformed, and counts as off.
std::optional<Defragment> read_defragment(std::string_view text);
// For a claim: the least of `flag` and what the classes of its requests and alternatives say. `class_of`: null:
// unknown.
Defragment defragment_for(const api::ResourceClaimSpec& spec, Defragment flag,
                          const std::function<const api::DeviceClass*(const std::string&)>& class_of);

// The class says that pods which ask for it neither preempt nor are victims.
bool is_kept_class(const api::DeviceClass& one);
// Some request or alternative is for a class whose pods neither preempt nor are victims. `class_of`: null: unknown.
bool names_kept_class(const api::ResourceClaimSpec& spec,
                      const std::function<const api::DeviceClass*(const std::string&)>& class_of);

}  // namespace dra::protocol
