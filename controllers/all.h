// Every controller of this program, in the order of list.inc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pkg/reconcile/controller.h"

namespace dra {

const std::vector<const reconcile::Controller*>& all_controllers();
// By name or alias; null when there is none.
const reconcile::Controller* find_controller(std::string_view name);
std::vector<std::string> controller_names();
// "a, b, c", by name.
std::string known_controllers();

}  // namespace dra
