// Model: a small cluster as plain numbers, for tests. From a model a World is made (build.h), and the slow twin answers
// from the model alone (twin.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pkg/preempt/candidates.h"

namespace dra::preempt::testing {

enum class DeviceKind : uint8_t { kGpu, kPartition, kShared };

struct ModelDevice {
  std::string name;
  DeviceKind kind = DeviceKind::kGpu;
  int node = -1;        // -1: every node can use it
  int card = 0;         // partitions of one card share its four memory slices
  unsigned slices = 0;  // of kPartition, as bits
  int gib = 0;          // its memory
};

struct ModelClaim {
  DeviceKind kind = DeviceKind::kGpu;
  int size = 0;              // slices of kPartition, GiB of kShared
  int count = 1;             // of kGpu
  std::vector<int> devices;  // what is allocated; empty: nothing
  std::vector<int> pods;     // in reservedFor
  bool stranger = false;     // reservedFor also names a pod that is not in the model
};

struct ModelPod {
  int priority = 0;
  int cpu = 1;
  int node = -1;  // -1: waits
  int only = -1;  // nodeSelector names this node
  int group = -1;
  int start = 0;
  int app = 0;  // budgets select by it
  bool terminates = false, mirror = false, foreign = false, owned = true, kept = false, never_preempts = false;
  bool not_ready = false;
  std::vector<int> claims;
};

struct ModelGroup {
  int min_count = 0;
  bool whole = false;
};

struct ModelBudget {
  int app = 0;
  int allowed = 0;
};

struct ModelPromise {
  std::map<int, int> places;                    // pod -> node
  std::map<int, std::vector<int>> allocations;  // claim -> devices
  std::vector<int> victims;                     // -1: a pod that is gone
};

struct Model {
  Kind kind = Kind::kVictims;
  std::vector<int> cpu;        // by node
  std::vector<bool> cordoned;  // by node
  std::vector<ModelDevice> devices;
  std::vector<ModelClaim> claims;
  std::vector<ModelPod> pods;
  std::vector<ModelGroup> groups;
  std::vector<ModelBudget> budgets;
  std::vector<ModelPromise> promises;
  std::vector<int> pending;
  int max_moves = -1;  // -1: any number
};

// The same seed gives the same model: up to three nodes and eight pods that may go.
Model random_model(uint64_t seed);

}  // namespace dra::preempt::testing
