#include "pkg/allocator/explain/value_miss.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "pkg/allocator/explain/selector_text.h"
#include "pkg/base/strings.h"
#include "pkg/inventory/value_code.h"

namespace dra::allocator {

namespace {

constexpr size_t kMostSelectorText = 8192;
constexpr size_t kShownValues = 3;

bool take(std::string_view& text, std::string_view word) {
  std::string_view rest = skip_blanks(text);
  if (!rest.starts_with(word)) return false;
  text = rest.substr(word.size());
  return true;
}

// quantity("80Gi")
std::optional<api::Quantity> take_quantity(std::string_view& text) {
  if (!take(text, "quantity") || !take(text, "(")) return std::nullopt;
  const std::optional<std::string> written = take_quoted(text);
  if (!written || !take(text, ")")) return std::nullopt;
  auto read = api::Quantity::parse(*written);
  return read ? std::optional(std::move(*read)) : std::nullopt;
}

// -1, 0 or 1; nullopt: of different types.
template <class V>
std::optional<int> order_of(const V& a, const V& b) {
  if (a.index() != b.index()) return std::nullopt;
  return std::visit(
      [&](const auto& left) {
        using T = std::decay_t<decltype(left)>;
        const T& right = std::get<T>(b);
        return left == right ? 0 : left < right ? -1 : 1;
      },
      a);
}

std::string short_name_of(const std::string& name) {
  return name.substr(name.find('/') + 1);
}

}  // namespace

ValueMiss::ValueMiss(std::string_view selector) {
  selector = selector.substr(0, kMostSelectorText);
  // In an alternative or a negation a comparison that no device passes need not be why the selector refuses them.
  if (selector.find("||") != std::string_view::npos || selector.find('?') != std::string_view::npos ||
      selector.find("!(") != std::string_view::npos || selector.find("!device") != std::string_view::npos)
    return;
  const auto add_all = [&](std::string_view what, auto read) {
    for (const NamedValue& named : values_named(selector, what)) {
      std::optional<Comparison> found = read(named.after);
      if (!found || comparisons_.size() == kMostComparisons) continue;
      found->name = named.name;
      comparisons_.push_back(std::move(*found));
    }
  };
  add_all("attributes", &ValueMiss::attribute_comparison);
  add_all("capacity", &ValueMiss::capacity_comparison);
}

std::optional<ValueMiss::Op> ValueMiss::take_op(std::string_view& text) {
  if (take(text, "==")) return Op::kEqual;
  if (take(text, ">=")) return Op::kAtLeast;
  if (take(text, "<=")) return Op::kAtMost;
  if (take(text, ">")) return Op::kAbove;
  if (take(text, "<")) return Op::kBelow;
  return std::nullopt;
}

// .compareTo(quantity("80Gi")) >= 0, .isGreaterThan(quantity("80Gi")), .isLessThan(quantity("80Gi"))
std::optional<ValueMiss::Comparison> ValueMiss::capacity_comparison(std::string_view after) {
  Comparison found;
  found.of_capacity = true;
  const bool compares = take(after, ".compareTo(");
  const bool above = !compares && take(after, ".isGreaterThan(");
  const bool below = !compares && !above && take(after, ".isLessThan(");
  if (!compares && !above && !below) return std::nullopt;
  std::optional<api::Quantity> constant = take_quantity(after);
  if (!constant || !take(after, ")")) return std::nullopt;
  found.constant = std::move(*constant);
  found.op = above ? Op::kAbove : Op::kBelow;
  if (!compares) return found;
  const std::optional<Op> op = take_op(after);
  const bool zero = op && take(after, "0") && (after.empty() || !std::isalnum(static_cast<unsigned char>(after[0])));
  if (!zero) return std::nullopt;
  found.op = *op;
  return found;
}

// == "H200", >= 8, == true
std::optional<ValueMiss::Comparison> ValueMiss::attribute_comparison(std::string_view after) {
  Comparison found;
  const std::optional<Op> op = take_op(after);
  if (!op) return std::nullopt;
  found.op = *op;
  after = skip_blanks(after);
  if (auto written = take_quoted(after)) {
    if (found.op != Op::kEqual || written->find('\\') != std::string::npos) return std::nullopt;
    found.constant = std::move(*written);
    return found;
  }
  if (found.op == Op::kEqual && (take(after, "true") || after.starts_with("false"))) {
    found.constant = !after.starts_with("false");
    return found;
  }
  int64_t number = 0;
  const auto [end, error] = std::from_chars(after.data(), after.data() + after.size(), number);
  if (error != std::errc()) return std::nullopt;
  after.remove_prefix(static_cast<size_t>(end - after.data()));
  if (!after.empty() && (std::isalnum(static_cast<unsigned char>(after[0])) || after[0] == '.')) return std::nullopt;
  found.constant = number;
  return found;
}

std::string ValueMiss::text_of(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* number = std::get_if<int64_t>(&value)) return std::to_string(*number);
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  return std::get<api::Quantity>(value).to_string();
}

bool ValueMiss::passes(const Value& value, Op op, const Value& constant) {
  const std::optional<int> order = order_of(value, constant);
  if (!order) return false;
  switch (op) {
    case Op::kEqual:
      return *order == 0;
    case Op::kAtLeast:
      return *order >= 0;
    case Op::kAbove:
      return *order > 0;
    case Op::kAtMost:
      return *order <= 0;
    case Op::kBelow:
      return *order < 0;
  }
  return false;
}

void ValueMiss::note(Comparison& comparison, const Value& value) {
  comparison.passed = comparison.passed || passes(value, comparison.op, comparison.constant);
  const std::string text = text_of(value);
  if (comparison.had.size() < kMostValues || comparison.had.contains(text))
    ++comparison.had[text];
  else
    comparison.too_many = true;
  if (order_of(value, comparison.constant)) {
    if (!comparison.least || order_of(value, *comparison.least).value_or(0) < 0) comparison.least = value;
    if (!comparison.most || order_of(value, *comparison.most).value_or(0) > 0) comparison.most = value;
  }
}

void ValueMiss::add(const inventory::DeviceIndex& device_index, const inventory::Pool& pool, uint32_t device) {
  for (Comparison& comparison : comparisons_) {
    if (comparison.of_capacity) {
      for (const inventory::CapacityEntry& entry : pool.shape(device).entries) {
        const bool qualified = entry.name.find('/') != std::string::npos;
        if ((qualified ? entry.name : pool.driver_text + "/" + entry.name) == comparison.name)
          note(comparison, entry.value);
      }
      continue;
    }
    const inventory::StrId key = device_index.strings().find(comparison.name);
    const inventory::StrId value = key == inventory::kNoStr ? key : pool.attribute(device, key);
    if (value == inventory::kNoStr) continue;
    const api::DeviceAttribute had = inventory::decode_value(device_index.strings().text(value));
    if (const auto* text = std::get_if<std::string>(&had))
      note(comparison, *text);
    else if (const auto* number = std::get_if<int64_t>(&had))
      note(comparison, *number);
    else if (const auto* truth = std::get_if<bool>(&had))
      note(comparison, *truth);
    else
      comparison.passed = true;  // a version or a list: nothing is said about it
  }
}

std::string ValueMiss::words(const Comparison& comparison) {
  const std::string name = short_name_of(comparison.name);
  const std::string constant = text_of(comparison.constant);
  const bool is_text = std::holds_alternative<std::string>(comparison.constant);
  static constexpr const char* kOps[] = {" == ", " >= ", " > ", " <= ", " < "};
  const std::string wants = name + kOps[static_cast<size_t>(comparison.op)] + (is_text ? quote(constant) : constant);
  if (comparison.had.empty()) return wants + ": none has " + name;
  if (comparison.op != Op::kEqual) {
    const bool up = comparison.op == Op::kAtLeast || comparison.op == Op::kAbove;
    const std::optional<Value>& nearest = up ? comparison.most : comparison.least;
    if (!nearest) return "";
    return wants + ": the " + (up ? "largest" : "smallest") + " has " + text_of(*nearest);
  }
  if (comparison.too_many) return "";
  std::vector<std::pair<std::string, uint32_t>> values(comparison.had.begin(), comparison.had.end());
  std::stable_sort(values.begin(), values.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string there;
  for (size_t i = 0; i < values.size() && i < kShownValues; ++i)
    there += (i == 0 ? "" : ", ") + values[i].first + " (" + std::to_string(values[i].second) + ")";
  if (values.size() > kShownValues) there += " and " + std::to_string(values.size() - kShownValues) + " more values";
  return wants + ": there are " + there;
}

std::string ValueMiss::words() const {
  for (const Comparison& comparison : comparisons_)
    if (!comparison.passed)
      if (std::string said = words(comparison); !said.empty()) return said;
  return "";
}

}  // namespace dra::allocator
