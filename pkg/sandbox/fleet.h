// Fleet: the simulated hardware of a sandbox, described compactly in YAML and expanded into API objects.
//
// docs/fleet.md documents the format. A fleet names device models (attributes, capacities, partitions), node templates
// that describe N nodes each, pools that are not tied to a node, device classes and namespaces. Texts may contain
// placeholders: {node}, {index} (of the node in its template), {device} (of the device in its entry), {uuid}, each
// number also as {index%4}, {device/2} or {device+1}. Expansion is a pure function of the text: the same file gives the
// same objects, names and UUIDs.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/base/error.h"

namespace dra::sandbox {

// Bounds of one fleet; a file that exceeds them is refused.
inline constexpr size_t kMaxFleetNodes = 20'000;
inline constexpr size_t kMaxFleetDevices = 2'000'000;

// What a simulated driver does besides publishing slices: see docs/fleet.md, "Drivers".
struct DriverBehaviour {
  std::optional<Duration> binding_delay;      // until it sets a device's binding conditions; absent: never
  std::set<std::string> failing_devices;      // these get their failure condition instead
  std::vector<std::string> conditions;        // of status.devices, set True for each allocated device
  std::map<std::string, std::string> health;  // by device: Healthy, Unhealthy, Unknown; absent: none reported
  bool reports_status() const { return binding_delay.has_value() || !conditions.empty(); }
};
using DriverBehaviours = std::map<std::string, DriverBehaviour, std::less<>>;  // by driver name

struct Fleet {
  // Slices that appear later than the rest, by seconds after the start.
  std::vector<std::pair<int64_t, nlohmann::json>> late;
  DriverBehaviours drivers;
  // Objects to create, in this order: namespaces, device classes, storage classes, nodes, slices. Each has apiVersion
  // and kind.
  std::vector<nlohmann::json> objects;
  size_t nodes = 0;
  size_t devices = 0;
};

// `source` is the file's name in messages. Errors: InvalidArgument,
// "fleet.yaml:12:5: nodes[0].cuont: unknown field; did you mean
// \"count\"?".
Result<Fleet> load_fleet(std::string_view text, std::string_view source);

// The fleet that `dra-sandbox up` uses without --fleet (pkg/sandbox/fleets/default.yaml).
std::string_view default_fleet();

}  // namespace dra::sandbox
