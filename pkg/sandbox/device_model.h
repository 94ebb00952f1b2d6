// Device models of a fleet: a model and a position give the devices that a driver would publish there. Internal to this
// package.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pkg/sandbox/fields.h"
#include "pkg/sandbox/placeholder.h"

namespace dra::sandbox {

// A partition profile, as NVIDIA's driver derives it from NVML: the memory slices at which an instance may begin, and
// how many it takes.
struct PartitionProfile {
  std::string name;
  int64_t id = 0;
  int64_t size = 1;
  std::vector<int64_t> starts;
  std::vector<std::pair<std::string, std::string>> capacity;
};

struct Partitions {
  std::string name;              // of a partition device, with placeholders
  std::optional<Field> name_at;  // where it is written
  std::string counter_set;       // of one parent device, with placeholders
  int64_t memory_slices = 0;
  std::vector<std::pair<std::string, Field>> attributes;
  std::vector<std::string> without;  // attributes of the parent that its partitions lack
  std::vector<PartitionProfile> profiles;
};

struct DeviceModel {
  std::string driver;
  std::string name;
  std::optional<Field> name_at;  // where it is written
  std::vector<std::pair<std::string, Field>> attributes;
  std::vector<std::pair<std::string, Field>> capacity;
  bool allow_multiple_allocations = false;
  std::vector<std::pair<std::string, Field>> as_in_api;  // taints and binding conditions, copied unchanged
  std::optional<Partitions> partitions;
};

// Devices and counter sets of a pool, as resource.k8s.io/v1 JSON.
struct PoolContent {
  std::vector<nlohmann::json> devices;
  std::vector<nlohmann::json> counter_sets;
};

DeviceModel read_model(const Field& field);

// Adds the devices of one instance of the model (itself and its partitions). Errors in filling in texts name the field
// `where`.
void add_devices(const DeviceModel& model, const Scope& scope, const Field& where, PoolContent& pool);

// A quantity of the API, as it is written; refuses anything else.
std::string quantity_text(const Field& field);

// fill(); errors name the field.
std::string fill_or_refuse(std::string_view text, const Scope& scope, const Field& where);

}  // namespace dra::sandbox
