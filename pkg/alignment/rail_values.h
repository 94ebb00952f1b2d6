// Whether the devices of a group's members are on the same rails.
//
// The rule: there is a list of values, as long as the devices of the member with the most, such that the devices of
// every member can each stand for an entry of their own, which is among the device's values. A rule over one member
// only asks for the attribute. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dra::alignment {

// Of one device: codes of values, sorted, each once. Empty: it lacks the attribute, which breaks the rule.
using DeviceRails = std::vector<std::string>;
// Of the devices of one member, in any order.
using MemberRails = std::vector<DeviceRails>;

enum class Agreement : uint8_t { kAgree, kDisagree, kUndecided };

inline constexpr uint64_t kAgreementSteps = 100'000;  // some 10 ms; only lists of values need more than a few

// Exact unless `steps` are spent: only lists of values can need so many. The same input gives the same answer.
Agreement agree(std::span<const MemberRails> members, uint64_t steps = kAgreementSteps);
// Whether each device can stand for an entry of its own. `entries` may repeat a value.
bool stands(const MemberRails& devices, std::span<const std::string> entries);

}  // namespace dra::alignment
