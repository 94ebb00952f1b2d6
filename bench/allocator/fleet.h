// A fleet for the scale benchmark: nodes of eight GPUs that are published whole and as MIG partitions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pkg/api/resource.h"

namespace dra::bench {

inline constexpr int kGpusPerNode = 8;

std::string node_name(int node);
// The slices of one node: three of devices, one of counters. `productName` of whole GPUs is as given.
std::vector<api::ResourceSlice> node_slices(int node, const std::string& product = "A100");
std::vector<api::DeviceClass> fleet_classes();

// What a present claim holds: a whole GPU, or the `slot`-th (0 to 6) of a GPU's smallest partitions.
api::AllocationResult hold_gpu(int node, int gpu);
api::AllocationResult hold_small(int node, int gpu, int slot);

enum class Ask { kOneGpu, kMigPair, kEightGpus, kTooMany, kNoSuchProduct };
// A new claim object with the given uid.
std::shared_ptr<const api::ResourceClaim> make_claim(Ask ask, const std::string& uid);

}  // namespace dra::bench
