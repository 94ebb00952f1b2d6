// Rails, judged from the specification by trying every list of values. Written for sight, not for speed.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "test/oracle/scene.h"

namespace dra::oracle {

using RailValues = std::set<std::string>;     // of one device: values with their type
using RailDevices = std::vector<RailValues>;  // of one member

// Whether there is a list of values, as long as the devices of the member with the most, such that the devices of every
// member can each stand for an entry of their own. One member only needs the attribute.
bool same_rails(const std::vector<RailDevices>& members);

// The values that a device of the world publishes, by the attribute's qualified name; empty: none.
RailValues rail_values(const World& world, const std::string& driver, const std::string& pool,
                       const std::string& device, const std::string& attribute);

}  // namespace dra::oracle
