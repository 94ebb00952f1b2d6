#include "pkg/sharing/rules.h"

#include <algorithm>

#include "pkg/base/strings.h"

namespace dra::sharing {
namespace {

constexpr std::string_view kNvidia = "gpu.nvidia.com";

// "DRIVER=VALUE"; the value of `parse`.
template <class Parse>
auto value_in(std::string_view text, std::string& driver, Parse&& parse) -> decltype(parse(text)) {
  const size_t at = text.find('=');
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  driver = text.substr(0, at);
  return parse(text.substr(at + 1));
}

}  // namespace

std::optional<Requests> parse_requests(std::string_view text) {
  for (const Requests one : {Requests::kTogether, Requests::kApart, Requests::kNever})
    if (text == requests_name(one)) return one;
  return std::nullopt;
}

std::string_view requests_name(Requests value) {
  switch (value) {
    case Requests::kApart:
      return "apart";
    case Requests::kNever:
      return "never";
    case Requests::kTogether:
      break;
  }
  return "together";
}

std::optional<Parameters> parse_parameters(std::string_view text) {
  for (const Parameters one : {Parameters::kAny, Parameters::kEqual})
    if (text == parameters_name(one)) return one;
  return std::nullopt;
}

std::string_view parameters_name(Parameters value) {
  return value == Parameters::kEqual ? "equal" : "any";
}

Rules Rules::usual() {
  Rules rules;
  rules.others = Requests::kApart;
  rules.requests.emplace(kNvidia, Requests::kNever);
  rules.parameters.emplace(kNvidia, Parameters::kEqual);
  return rules;
}

Requests Rules::requests_of(std::string_view driver) const {
  const auto found = requests.find(driver);
  return found == requests.end() ? others : found->second;
}

bool Rules::compares(std::string_view driver) const {
  const auto found = parameters.find(driver);
  return found != parameters.end() && found->second == Parameters::kEqual;
}

bool Rules::compares_any() const {
  return std::any_of(parameters.begin(), parameters.end(),
                     [](const auto& one) { return one.second == Parameters::kEqual; });
}

bool Rules::prefers_apart() const {
  return others == Requests::kApart ||
         std::any_of(requests.begin(), requests.end(), [](const auto& one) { return one.second == Requests::kApart; });
}

std::optional<std::string> Rules::add_requests(std::string_view text) {
  std::string driver;
  const auto value = value_in(text, driver, parse_requests);
  if (!value) return quote(text) + ": write DRIVER=never, DRIVER=apart or DRIVER=together";
  requests[driver] = *value;
  return std::nullopt;
}

std::optional<std::string> Rules::add_parameters(std::string_view text) {
  std::string driver;
  const auto value = value_in(text, driver, parse_parameters);
  if (!value) return quote(text) + ": write DRIVER=equal or DRIVER=any";
  parameters[driver] = *value;
  return std::nullopt;
}

}  // namespace dra::sharing
