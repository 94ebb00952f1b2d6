#include "test/oracle/selectors.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

#include "test/oracle/amount.h"

namespace dra::oracle {
namespace {

bool eat(std::string_view& text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) != prefix) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::optional<std::string> eat_quoted(std::string_view& text) {
  if (!eat(text, "\"")) return std::nullopt;
  const size_t end = text.find('"');
  if (end == std::string_view::npos) return std::nullopt;
  std::string out(text.substr(0, end));
  text.remove_prefix(end + 1);
  return out;
}

std::optional<int64_t> eat_int(std::string_view& text) {
  int64_t out = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return out;
}

std::string eat_identifier(std::string_view& text) {
  size_t end = 0;
  while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) ++end;
  std::string out(text.substr(0, end));
  text.remove_prefix(end);
  return out;
}

// A map key is "id" (in the driver's own domain) or "domain/id".
template <class Map>
const typename Map::mapped_type* look_up(const Map& map, const std::string& driver, const std::string& domain,
                                         const std::string& id) {
  auto found = map.find(domain + "/" + id);
  if (found == map.end() && domain == driver) found = map.find(id);
  return found == map.end() ? nullptr : &found->second;
}

Truth truth(bool value) {
  return value ? Truth::kTrue : Truth::kFalse;
}

std::array<int64_t, 3> version_numbers(std::string_view text) {
  std::array<int64_t, 3> out{};
  for (int64_t& number : out) {
    number = eat_int(text).value_or(0);
    eat(text, ".");
  }
  return out;
}

// The part after device.attributes["D"].id, with the attribute given.
Truth judge_attribute(std::string_view rest, const api::DeviceAttribute* attribute) {
  if (!attribute) return Truth::kError;
  const auto* text = std::get_if<std::string>(attribute);
  const auto* number = std::get_if<int64_t>(attribute);
  const auto* flag = std::get_if<bool>(attribute);
  const auto* version = std::get_if<api::VersionText>(attribute);
  if (rest.empty()) return flag ? truth(*flag) : Truth::kError;
  if (eat(rest, " == ")) {
    if (std::optional<std::string> wanted = eat_quoted(rest)) return text ? truth(*text == *wanted) : Truth::kFalse;
    if (rest == "true" || rest == "false") return flag ? truth(*flag == (rest == "true")) : Truth::kFalse;
    if (std::optional<int64_t> wanted = eat_int(rest)) return number ? truth(*number == *wanted) : Truth::kFalse;
    return Truth::kUnknownForm;
  }
  if (eat(rest, " > ")) {
    std::optional<int64_t> bound = eat_int(rest);
    return !bound ? Truth::kUnknownForm : number ? truth(*number > *bound) : Truth::kError;
  }
  if (eat(rest, " < ")) {
    std::optional<int64_t> bound = eat_int(rest);
    return !bound ? Truth::kUnknownForm : number ? truth(*number < *bound) : Truth::kError;
  }
  if (eat(rest, " % ")) {
    std::optional<int64_t> divisor = eat_int(rest);
    if (!divisor || *divisor == 0 || !eat(rest, " == ")) return Truth::kUnknownForm;
    std::optional<int64_t> remainder = eat_int(rest);
    return !remainder ? Truth::kUnknownForm : number ? truth(*number % *divisor == *remainder) : Truth::kError;
  }
  if (eat(rest, " in [")) {
    bool found = false;
    while (std::optional<int64_t> member = eat_int(rest)) {
      found = found || (number && *number == *member);
      eat(rest, ", ");
    }
    while (std::optional<std::string> member = eat_quoted(rest)) {
      found = found || (text && *text == *member);
      eat(rest, ", ");
    }
    return rest == "]" ? truth(found) : Truth::kUnknownForm;
  }
  if (eat(rest, ".isGreaterThan(semver(")) {
    std::optional<std::string> bound = eat_quoted(rest);
    if (!bound || rest != "))") return Truth::kUnknownForm;
    return version ? truth(version_numbers(version->text) > version_numbers(*bound)) : Truth::kError;
  }
  return Truth::kUnknownForm;
}

Truth judge_capacity(std::string_view rest, const std::string& driver, const api::Device& device) {
  std::optional<std::string> domain = eat_quoted(rest);
  if (!domain || !eat(rest, "].")) return Truth::kUnknownForm;
  const std::string id = eat_identifier(rest);
  if (!eat(rest, ".compareTo(quantity(")) return Truth::kUnknownForm;
  std::optional<std::string> bound = eat_quoted(rest);
  if (!bound || rest != ")) >= 0") return Truth::kUnknownForm;
  const api::DeviceCapacity* capacity = look_up(device.capacity, driver, *domain, id);
  if (!capacity) return Truth::kError;
  std::optional<Amount> have = parse_amount(capacity->value);
  std::optional<Amount> want = parse_amount(*bound);
  return have && want ? truth(*have >= *want) : Truth::kError;
}

Truth judge_term(std::string_view term, const std::string& driver, const api::Device& device) {
  if (term == "true") return Truth::kTrue;
  if (term == "false") return Truth::kFalse;
  if (eat(term, "device.driver == ")) {
    std::optional<std::string> wanted = eat_quoted(term);
    return wanted && term.empty() ? truth(driver == *wanted) : Truth::kUnknownForm;
  }
  if (eat(term, "device.allowMultipleAllocations == ")) {
    if (term != "true" && term != "false") return Truth::kUnknownForm;
    return truth(device.allow_multiple_allocations == (term == "true"));
  }
  if (eat(term, "device.capacity[")) return judge_capacity(term, driver, device);
  if (eat(term, "!device.attributes[")) {
    std::optional<std::string> domain = eat_quoted(term);
    if (!domain || !eat(term, "].?")) return Truth::kUnknownForm;
    const std::string id = eat_identifier(term);
    if (term != ".orValue(false)") return Truth::kUnknownForm;
    const api::DeviceAttribute* attribute = look_up(device.attributes, driver, *domain, id);
    if (!attribute) return Truth::kTrue;
    const bool* flag = std::get_if<bool>(attribute);
    return flag ? truth(!*flag) : Truth::kError;
  }
  if (eat(term, "device.attributes[")) {
    std::optional<std::string> domain = eat_quoted(term);
    if (!domain || !eat(term, "].")) return Truth::kUnknownForm;
    const std::string id = eat_identifier(term);
    return judge_attribute(term, look_up(device.attributes, driver, *domain, id));
  }
  if (std::optional<std::string> id = eat_quoted(term)) {
    if (!eat(term, " in device.attributes[")) return Truth::kUnknownForm;
    std::optional<std::string> domain = eat_quoted(term);
    if (!domain || term != "]") return Truth::kUnknownForm;
    return truth(look_up(device.attributes, driver, *domain, *id) != nullptr);
  }
  return Truth::kUnknownForm;
}

}  // namespace

Truth judge_selector(const std::string& expression, const std::string& driver, const api::Device& device) {
  std::string_view rest = expression;
  Truth all = Truth::kTrue;
  while (true) {
    const size_t end = rest.find(" && ");
    const Truth one = judge_term(rest.substr(0, end), driver, device);
    if (one == Truth::kUnknownForm) return one;
    if (one == Truth::kFalse)
      all = Truth::kFalse;
    else if (one == Truth::kError && all == Truth::kTrue)
      all = Truth::kError;
    if (end == std::string_view::npos) return all;
    rest.remove_prefix(end + 4);
  }
}

}  // namespace dra::oracle
