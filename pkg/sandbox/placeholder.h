// Placeholders in a fleet's texts: "rack-{index/8}". Internal to this package.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "pkg/base/error.h"

namespace dra::sandbox {

// The values of the placeholders at the place where a text is used.
struct Scope {
  std::string node;
  int64_t index = 0;
  int64_t device = 0;
  std::string pool;
  // Only inside partitions.
  std::string profile;
  int64_t profile_id = 0;
  int64_t start = 0;
  int64_t size = 0;
};

// Replaces {name}, {name%N}, {name/N} and {name+N}, each also with :x or :04x for hexadecimal. {uuid} is a UUID derived
// from the scope's node, pool, device and partition: equal scopes give equal UUIDs. Inside a partition {parentUUID} is
// its device's. Refuses unknown names and unclosed braces.
Result<std::string> fill(std::string_view text, const Scope& scope);

}  // namespace dra::sandbox
