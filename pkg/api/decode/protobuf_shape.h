// The schema tables compiled for reading protobuf: the field and type of each JSON name. Internal to pkg/api.
//
// An inlined struct is a message of its own in protobuf and part of its parent in JSON. Its fields are members of the
// parent's shape here, with a number made of both (join_numbers()).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "pkg/api/schema/schema.h"

namespace dra::api::detail {

struct ProtobufShape;

struct ProtobufType {
  schema::FieldType type = schema::FieldType::kString;
  bool shown_when_zero = false;           // `*` or `!` in the table
  const ProtobufType* element = nullptr;  // of lists and maps
  const ProtobufShape* shape = nullptr;   // of objects
};

struct ProtobufShape {
  struct Member {
    std::string_view name;
    uint32_t number = 0;
    const ProtobufType* type = nullptr;
  };
  struct Inlined {
    uint32_t number = 0;
    const ProtobufShape* shape = nullptr;
  };
  std::string_view name;
  std::vector<Member> members;
  std::vector<Inlined> inlined;
  // Fields beyond the table are noted: of what decides about devices (pkg/api/unknown_fields.h).
  bool watched = false;
  uint64_t plain = ~uint64_t{1};  // by number below 64: nothing but to be kept
  ProtobufType type;              // of an object of this shape

  // The member of this name, if the message has it: `present` is the union of the bit_of() of its fields. Readers ask
  // for every field they know, most of which are absent, so this is most of the work of reading.
  const Member* find(std::string_view member, uint64_t present) const {
    size_t at = slot_of(member);
    if ((present >> at % 64 & 1) == 0) return nullptr;
    for (; slots[at] != 0; at = (at + 1) % kSlots)
      if (const Member& found = members[slots[at] - 1u]; found.name == member) return &found;
    return nullptr;
  }
  // One bit for each number, the same for the number of an inlined struct's field as in its parent; several may share
  // it.
  uint64_t bit_of(uint32_t number) const { return number < bits.size() ? bits[number] : ~uint64_t{0}; }
  bool knows(uint32_t number) const {
    const auto is = [number](const auto& part) { return part.number == number; };
    return std::any_of(inlined.begin(), inlined.end(), is) || std::any_of(members.begin(), members.end(), is);
  }
  // Call once, when the members are complete.
  void index() {
    for (size_t i = 0; i < members.size(); ++i) {
      size_t at = slot_of(members[i].name);
      while (slots[at] != 0) at = (at + 1) % kSlots;
      slots[at] = static_cast<uint8_t>(i + 1);
      if (members[i].number < bits.size()) bits[members[i].number] = uint64_t{1} << slot_of(members[i].name) % 64;
    }
  }

  static constexpr size_t kSlots = 256;  // more than twice the members of any type
  std::array<uint8_t, kSlots> slots{};   // by name: 1 + the member
  std::array<uint64_t, 64> bits{};       // by number: of the name's slot; 0: no member has the number

 private:
  static size_t slot_of(std::string_view member) {
    if (member.empty()) return 0;
    const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(member[i])); };
    return (member.size() * 37 + byte(0) * 7 + byte(member.size() / 2) * 31 + byte(member.size() - 1) * 3) % kSlots;
  }
};

// Field numbers of the tables are below this; others are unknown fields.
inline constexpr uint32_t kNumbersEnd = 256;
inline uint32_t join_numbers(uint32_t outer, uint32_t inner) {
  return outer * kNumbersEnd + inner;
}

// The shape of the messages of ("v1", "Pod"), ("resource.k8s.io/v1", "ResourceClaim"), ("v1", "Status") ...; nullptr if
// no table in use has it. Compiled on first use. Safe from any thread.
const ProtobufShape* protobuf_shape(std::string_view api_version, std::string_view kind);

}  // namespace dra::api::detail
