#include "cmd/dra-conformance/cel_devices.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace dra::conformance {

namespace {

using Json = nlohmann::json;

void add_attribute(cel::DeviceInputBuilder& builder, const std::string& name, const Json& value) {
  if (value.contains("ints"))
    builder.add_ints(name, value["ints"].get<std::vector<int64_t>>());
  else if (value.contains("bools"))
    builder.add_bools(name, value["bools"].get<std::vector<bool>>());
  else if (value.contains("strings"))
    builder.add_strings(name, value["strings"].get<std::vector<std::string>>());
  else if (value.contains("versions"))
    builder.add_versions(name, value["versions"].get<std::vector<std::string>>());
  else if (value.contains("int"))
    builder.add_int(name, value["int"].get<int64_t>());
  else if (value.contains("bool"))
    builder.add_bool(name, value["bool"].get<bool>());
  else if (value.contains("string"))
    builder.add_string(name, value["string"].get<std::string>());
  else if (value.contains("version"))
    builder.add_version(name, value["version"].get<std::string>());
  else
    builder.add_empty(name);
}

}  // namespace

cel::DeviceInput make_device(const Json& device) {
  cel::DeviceInputBuilder builder(device.value("driver", ""), device.value("allowMultipleAllocations", false));
  const Json attributes = device.value("attributes", Json::object());
  const Json capacity = device.value("capacity", Json::object());
  for (const auto& [name, value] : attributes.items()) add_attribute(builder, name, value);
  for (const auto& [name, value] : capacity.items()) builder.add_capacity_text(name, value["value"].get<std::string>());
  return builder.build();
}

}  // namespace dra::conformance
