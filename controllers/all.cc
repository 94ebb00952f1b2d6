#include "controllers/all.h"

#include <algorithm>

#define CONTROLLER(folder)                 \
  namespace dra::folder {                  \
  const reconcile::Controller& describe(); \
  }
#include "controllers/list.inc"
#undef CONTROLLER

namespace dra {

const std::vector<const reconcile::Controller*>& all_controllers() {
#define CONTROLLER(folder) &folder::describe(),
  static const std::vector<const reconcile::Controller*> all{
#include "controllers/list.inc"
  };
#undef CONTROLLER
  return all;
}

const reconcile::Controller* find_controller(std::string_view name) {
  for (const reconcile::Controller* controller : all_controllers()) {
    const auto& aliases = controller->aliases;
    if (controller->name == name || std::find(aliases.begin(), aliases.end(), name) != aliases.end()) return controller;
  }
  return nullptr;
}

std::vector<std::string> controller_names() {
  std::vector<std::string> names;
  for (const reconcile::Controller* controller : all_controllers()) names.emplace_back(controller->name);
  return names;
}

std::string known_controllers() {
  std::vector<std::string> names = controller_names();
  std::sort(names.begin(), names.end());
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace dra
