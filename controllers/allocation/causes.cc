#include "controllers/allocation/causes.h"

#include <algorithm>

namespace dra::allocation {

reconcile::Cause class_cause(std::string_view name) {
  return "class/" + std::string(name);
}
reconcile::Cause driver_cause(std::string_view driver) {
  return "driver/" + std::string(driver);
}

std::set<std::string> classes_of(const api::ResourceClaimSpec& spec) {
  std::set<std::string> names;
  for (const api::DeviceRequest& request : spec.requests) {
    if (request.exactly) names.insert(request.exactly->device_class_name);
    for (const api::DeviceSubRequest& alternative : request.first_available)
      names.insert(alternative.device_class_name);
  }
  return names;
}

void add_class_causes(const api::ResourceClaimSpec& spec, std::set<reconcile::Cause>& out) {
  for (const std::string& name : classes_of(spec)) out.insert(class_cause(name));
}

bool asks_for_all(const api::ResourceClaimSpec& spec) {
  const auto all = [](const auto& request) { return request.allocation_mode == "All"; };
  return std::any_of(spec.requests.begin(), spec.requests.end(), [&](const api::DeviceRequest& request) {
    return (request.exactly && all(*request.exactly)) ||
           std::any_of(request.first_available.begin(), request.first_available.end(), all);
  });
}

namespace {

std::string_view skip_spaces(std::string_view text) {
  const size_t at = text.find_first_not_of(" \t\n");
  return at == std::string_view::npos ? std::string_view() : text.substr(at);
}

bool take_word(std::string_view& text, std::string_view word) {
  text = skip_spaces(text);
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

// What follows the comparison may only narrow it: `&&` binds tighter than `||` and `?:`, so neither may be anywhere.
std::optional<std::string> driver_required_by(std::string_view selector) {
  if (selector.find("||") != std::string_view::npos || selector.find('?') != std::string_view::npos)
    return std::nullopt;
  if (!take_word(selector, "device.driver") || !take_word(selector, "==")) return std::nullopt;
  selector = skip_spaces(selector);
  if (selector.empty() || (selector[0] != '"' && selector[0] != '\'')) return std::nullopt;
  const size_t end = selector.find(selector[0], 1);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view driver = selector.substr(1, end - 1);
  if (driver.find('\\') != std::string_view::npos) return std::nullopt;
  const std::string_view rest = skip_spaces(selector.substr(end + 1));
  return rest.empty() || rest.starts_with("&&") ? std::optional<std::string>(driver) : std::nullopt;
}

}  // namespace

std::optional<std::string> only_driver(const api::DeviceClass& device_class) {
  for (const std::string& selector : device_class.selectors)
    if (std::optional<std::string> driver = driver_required_by(selector)) return driver;
  return std::nullopt;
}

void add_driver_causes(const api::AllocationResult& allocation, std::set<reconcile::Cause>& out) {
  for (const api::DeviceRequestAllocationResult& result : allocation.results) out.insert(driver_cause(result.driver));
}

}  // namespace dra::allocation
