#include "pkg/reconcile/controller.h"

namespace dra::reconcile {

bool switched_on(const std::map<std::string, std::string>& flags, std::string_view name) {
  const auto flag = flags.find(std::string(name));
  return flag != flags.end() && (flag->second == "on" || flag->second == "true");
}

}  // namespace dra::reconcile
