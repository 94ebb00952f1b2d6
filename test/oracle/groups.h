// Groups: small worlds with several pods, and a brute-force search for places for enough of them. Obviously correct and
// slow: it tries every order, node and set of devices, one pod after the other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "test/oracle/exhaustive.h"
#include "test/oracle/world.h"

namespace dra::oracle {

struct GroupMember {
  std::vector<size_t> claims;  // indexes of the world's claims; members may share a claim
  int64_t cpu = 0;
  std::string shape;  // equal and not empty: the members differ only in names
};

struct GroupWorld {
  // Its claims are those of all members; some are allocated, and the world lists their devices as held.
  World world;
  std::vector<int64_t> cpu;  // free, by node
  std::vector<GroupMember> members;
  size_t min_count = 0;
  std::optional<std::string> required;  // a label key: all members on nodes of one value
};

// Up to four members on up to three nodes. The same seed gives the same world.
GroupWorld random_group(uint64_t seed);

struct GroupVerdict {
  Answer answer = Answer::kInfeasible;
  std::vector<std::string> places;  // "member 0 on n1 with d0, d1", for messages
};
// kTooBig after `max_steps` pods placed or claims decided.
GroupVerdict solve_group(const GroupWorld& group, uint64_t max_steps = 30'000);

}  // namespace dra::oracle
