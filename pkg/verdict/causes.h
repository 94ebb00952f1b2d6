// causes_of(): a verdict as a flat list of causes, for programs. Pure.
//
//   for (const Cause& cause : causes_of(verdict)) count(cause.code, cause.devices);
//
// It is made from the same groups as sentence() and text(), so the three agree on causes and figures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pkg/verdict/verdict.h"
#include "pkg/verdict/would_fit.h"

namespace dra::verdict {

struct Cause {
  // "Node" or "Device" and the name of the problem ("NodeCordoned", "DeviceHeld"), or one of a few others:
  // cause_codes().
  std::string code;
  std::string text;          // "4 devices in use by claim ml/a"; one line
  std::string claim;         // of a request: namespace/name
  std::string request;       // "gpu" or "gpu/sub"; empty: about nodes, or the whole pod
  std::string device_class;  // of the request
  uint32_t nodes = 0;        // that it concerns; 0 where it is about devices
  uint32_t nodes_with_devices = 0;
  uint32_t devices = 0;
  std::vector<std::string> node_names, device_names;  // at most kMaxNames
  std::vector<Holder> holders;
};

// The main obstacle first; none if it fits.
std::vector<Cause> causes_of(const Verdict& verdict);
// Every code that causes_of() can give. Sorted.
std::vector<std::string> cause_codes();

std::string_view change_kind_name(ChangeKind kind);  // "DropSelector"; part of the interface
std::vector<std::string> change_kind_names();

}  // namespace dra::verdict
