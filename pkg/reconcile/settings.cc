#include "pkg/reconcile/settings.h"

namespace dra::reconcile {

bool switched_on(const Settings& settings, std::string_view name) {
  const auto flag = settings.flags.find(std::string(name));
  return flag != settings.flags.end() && (flag->second == "on" || flag->second == "true");
}

}  // namespace dra::reconcile
