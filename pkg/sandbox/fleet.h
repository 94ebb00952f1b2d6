// Fleet: the simulated hardware of a sandbox, described compactly in YAML and expanded into API objects.
//
// The format is documented in docs/fleet.md. A fleet names device models (attributes, capacities, partitions), node
// templates that stand for N nodes each, pools that are not tied to a node, device classes and namespaces. Texts may
// hold placeholders: {node}, {index} (of the node in its template), {device} (of the device in its entry), {uuid}, each
// number also as {index%4}, {device/2} or {device+1}. Expansion is a pure function of the text: the same file gives the
// same objects, names and UUIDs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/error.h"

namespace dra::sandbox {

// Bounds of one fleet; a file that asks for more is refused.
inline constexpr size_t kMaxFleetNodes = 20'000;
inline constexpr size_t kMaxFleetDevices = 2'000'000;

struct Fleet {
  // Objects to create, in this order: namespaces, device classes, storage classes, nodes, slices. Each has apiVersion
  // and kind.
  std::vector<nlohmann::json> objects;
  size_t nodes = 0;
  size_t devices = 0;
};

// `source` is the file's name for messages. Errors: InvalidArgument, "fleet.yaml:12:5: nodes[0].cuont: unknown field;
// did you mean
// \"count\"?".
Result<Fleet> load_fleet(std::string_view text, std::string_view source);

// The fleet that `dra-sandbox up` uses without --fleet (pkg/sandbox/fleets/default.yaml).
std::string_view default_fleet();

}  // namespace dra::sandbox
