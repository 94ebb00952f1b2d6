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

// Of a group of groups; the first one is the whole.
struct GroupPartOf {
  std::optional<size_t> parent;  // an earlier part
  size_t need = 0;               // of its children: parts, or members
  std::vector<size_t> members;
  std::optional<std::string> required;  // a label key: all members that are placed below it on nodes of one value
};

struct GroupWorld {
  // Its claims are those of all members; some are allocated, and the world lists their devices as held.
  World world;
  std::vector<int64_t> cpu;  // free, by node
  std::vector<GroupMember> members;
  size_t min_count = 0;
  std::optional<std::string> required;  // a label key: all members on nodes of one value
  std::vector<GroupPartOf> parts;       // not empty: these say what is enough, not min_count
};

// Up to four members on up to three nodes. The same seed gives the same world.
GroupWorld random_group(uint64_t seed);
// The same, in two to four groups of one or two levels below the whole; "rack" is a second label of nodes.
GroupWorld random_group_of_groups(uint64_t seed);

struct GroupVerdict {
  Answer answer = Answer::kInfeasible;
  std::vector<std::string> places;  // "member 0 on n1 with d0, d1", for messages
};
// kTooBig after `max_steps` pods placed or claims decided.
GroupVerdict solve_group(const GroupWorld& group, uint64_t max_steps = 30'000);

}  // namespace dra::oracle
