#include "test/oracle/derived.h"

#include <charconv>
#include <vector>

#include "test/oracle/amount.h"

namespace dra::oracle {
namespace {

using Value = std::optional<api::DeviceAttribute>;  // nullopt: an error

class Reader {
 public:
  Reader(std::string_view text, const std::string& driver, const api::Device& device)
      : text_(text), driver_(driver), device_(device) {}

  Value run() {
    Value value = choice(true);
    return text_.empty() ? value : std::nullopt;
  }

 private:
  bool eat(std::string_view prefix) {
    if (!text_.starts_with(prefix)) return false;
    text_.remove_prefix(prefix.size());
    return true;
  }

  std::string word() {
    size_t end = 0;
    while (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) || text_[end] == '_')) ++end;
    std::string out(text_.substr(0, end));
    text_.remove_prefix(end);
    return out;
  }

  std::string quoted() {
    if (!eat("\"")) return "";
    const size_t end = text_.find('"');
    if (end == std::string_view::npos) return "";
    std::string out(text_.substr(0, end));
    text_.remove_prefix(end + 1);
    return out;
  }

  // Only the branch that is taken counts; `counts` false: read, but do not care.
  Value choice(bool counts) {
    Value condition = comparison();
    if (!eat(" ? ")) return condition;
    const bool* truth = condition ? std::get_if<bool>(&*condition) : nullptr;
    Value yes = choice(counts && truth != nullptr && *truth);
    if (!eat(" : ")) return std::nullopt;
    Value no = choice(counts && truth != nullptr && !*truth);
    if (truth == nullptr) return std::nullopt;
    return *truth ? yes : no;
  }

  Value comparison() {
    Value left = sum();
    if (eat(" == ")) {
      Value right = sum();
      return left && right ? Value(*left == *right) : std::nullopt;
    }
    if (eat(" > ")) {
      Value right = sum();
      const auto* a = left ? std::get_if<int64_t>(&*left) : nullptr;
      const auto* b = right ? std::get_if<int64_t>(&*right) : nullptr;
      return a != nullptr && b != nullptr ? Value(*a > *b) : std::nullopt;
    }
    return left;
  }

  Value sum() {
    Value left = primary();
    for (const char sign : {'%', '/', '+'}) {
      if (!eat(std::string(" ") + sign + " ")) continue;
      Value right = primary();
      const auto* a = left ? std::get_if<int64_t>(&*left) : nullptr;
      const auto* b = right ? std::get_if<int64_t>(&*right) : nullptr;
      if (a == nullptr || b == nullptr || (sign != '+' && *b == 0)) return std::nullopt;
      return Value(sign == '%' ? *a % *b : sign == '/' ? *a / *b : *a + *b);
    }
    return left;
  }

  Value primary() {
    if (eat("[")) return list();
    if (eat("dyn(1.5)")) return std::nullopt;
    if (eat("device.driver")) return Value(driver_);
    if (eat("device.attributes[")) return attribute();
    if (eat("device.capacity[")) return capacity();
    if (text_.starts_with("\"")) {
      std::string out = quoted();
      if (!eat(" in device.attributes[")) return Value(out);
      const std::string domain = quoted();
      eat("]");
      return Value(look_up(domain, out) != nullptr);
    }
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), number);
    if (error != std::errc()) return std::nullopt;
    text_.remove_prefix(static_cast<size_t>(end - text_.data()));
    return Value(number);
  }

  const api::DeviceAttribute* look_up(const std::string& domain, const std::string& id) const {
    auto found = device_.attributes.find(domain + "/" + id);
    if (found == device_.attributes.end() && domain == driver_) found = device_.attributes.find(id);
    return found == device_.attributes.end() ? nullptr : &found->second;
  }

  Value attribute() {
    const std::string domain = quoted();
    const bool optional = eat("].?");
    if (!optional && !eat("].")) return std::nullopt;
    const api::DeviceAttribute* found = look_up(domain, word());
    if (optional && !eat(".orValue(-1)")) return std::nullopt;
    if (found == nullptr) return optional ? Value(int64_t{-1}) : std::nullopt;
    return *found;
  }

  Value capacity() {
    const std::string domain = quoted();
    if (!eat("].")) return std::nullopt;
    const std::string id = word();
    if (!eat(".compareTo(quantity(")) return std::nullopt;
    const std::string bound = quoted();
    if (!eat(")) >= 0")) return std::nullopt;
    auto found = device_.capacity.find(domain + "/" + id);
    if (found == device_.capacity.end() && domain == driver_) found = device_.capacity.find(id);
    if (found == device_.capacity.end()) return std::nullopt;
    return Value(parse_amount(found->second.value).value_or(0) >= parse_amount(bound).value_or(0));
  }

  // All of one scalar kind.
  Value list() {
    std::vector<Value> items;
    while (!eat("]")) {
      items.push_back(choice(true));
      if (!eat(", ") && !text_.starts_with("]")) return std::nullopt;
    }
    return made_of<int64_t>(
        items, made_of<bool>(items, made_of<std::string>(items, made_of<api::VersionText>(items, std::nullopt))));
  }

  template <class T>
  static Value made_of(const std::vector<Value>& items, Value otherwise) {
    std::vector<T> out;
    for (const Value& item : items) {
      if (!item || !std::holds_alternative<T>(*item)) return otherwise;
      out.push_back(std::get<T>(*item));
    }
    return Value(out);
  }

  std::string_view text_;
  const std::string& driver_;
  const api::Device& device_;
};

}  // namespace

std::optional<api::DeviceAttribute> derive(const std::string& expression, const std::string& driver,
                                           const api::Device& device) {
  return Reader(expression, driver, device).run();
}

}  // namespace dra::oracle
