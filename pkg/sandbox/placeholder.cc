#include "pkg/sandbox/placeholder.h"

#include <charconv>
#include <optional>

#include "pkg/base/random.h"
#include "pkg/base/strings.h"

namespace dra::sandbox {
namespace {

// FNV-1a: stable across machines and releases, which std::hash is not.
uint64_t stable_hash(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

std::string device_uuid(const Scope& scope) {
  const std::string identity = scope.node + "/" + scope.pool + "/" + std::to_string(scope.device);
  return SeededRandom(stable_hash(identity)).uuid();
}

std::string partition_uuid(const Scope& scope) {
  if (scope.profile.empty()) return device_uuid(scope);
  const std::string identity = device_uuid(scope) + "/" + scope.profile + "/" + std::to_string(scope.start);
  return SeededRandom(stable_hash(identity)).uuid();
}

// "1g.10gb+me" -> "1g10gb-me", as NVIDIA's driver writes a profile in a device's name.
std::string profile_label(std::string_view profile) {
  std::string label;
  for (const char c : profile) {
    if (c == '.') continue;
    label += c == '+' ? '-' : c;
  }
  return label;
}

std::optional<std::string> text_value(std::string_view name, const Scope& scope) {
  if (name == "node") return scope.node;
  if (name == "pool") return scope.pool;
  if (name == "profile") return scope.profile;
  if (name == "profileLabel") return profile_label(scope.profile);
  if (name == "uuid") return partition_uuid(scope);
  if (name == "parentUUID") return device_uuid(scope);
  return std::nullopt;
}

std::optional<int64_t> number_value(std::string_view name, const Scope& scope) {
  if (name == "index") return scope.index;
  if (name == "device") return scope.device;
  if (name == "id") return scope.profile_id;
  if (name == "start") return scope.start;
  if (name == "size") return scope.size;
  return std::nullopt;
}

// "x" and "04x": hexadecimal, padded with zeros to that many digits. The width, or nullopt for anything else.
std::optional<size_t> hex_width(std::string_view format) {
  if (format == "x") return 0;
  if (format.size() == 3 && format[0] == '0' && format[1] >= '1' && format[1] <= '9' && format[2] == 'x')
    return static_cast<size_t>(format[1] - '0');
  return std::nullopt;
}

std::string hex(int64_t number, size_t width) {
  char digits[16];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), static_cast<uint64_t>(number), 16).ptr;
  const std::string text(digits, end);
  return std::string(width > text.size() ? width - text.size() : 0, '0') + text;
}

// `inner` is the text between the braces; `sum` is it without a format: "device%16".
Result<int64_t> calculate(std::string_view inner, std::string_view sum, const Scope& scope) {
  const size_t op = sum.find_first_of("%/+");
  const auto number = number_value(sum.substr(0, op), scope);
  if (!number)
    return fail(Code::kInvalidArgument,
                "unknown placeholder {" + std::string(inner) +
                    "}; known: node, pool, index, device, uuid, and in partitions profile, profileLabel, id, start, "
                    "size, parentUUID");
  if (op == std::string_view::npos) return *number;
  const std::string_view digits = sum.substr(op + 1);
  int64_t operand = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), operand);
  if (error != std::errc() || end != digits.data() + digits.size() || operand < 1 || operand > 1'000'000)
    return fail(Code::kInvalidArgument,
                "placeholder {" + std::string(inner) + "}: a number from 1 to 1000000 must follow " + sum[op]);
  if (sum[op] == '%') return *number % operand;
  return sum[op] == '/' ? *number / operand : *number + operand;
}

Result<std::string> placeholder_value(std::string_view inner, const Scope& scope) {
  if (auto text = text_value(inner, scope)) return *text;
  const size_t colon = inner.find(':');
  const auto number = calculate(inner, inner.substr(0, colon), scope);
  if (!number) return fail(number.error());
  if (colon == std::string_view::npos) return std::to_string(*number);
  const auto width = hex_width(inner.substr(colon + 1));
  if (!width)
    return fail(Code::kInvalidArgument, "placeholder {" + std::string(inner) +
                                            "}: after : write x for hexadecimal, or 02x for two digits at least");
  return hex(*number, *width);
}

}  // namespace

Result<std::string> fill(std::string_view text, const Scope& scope) {
  std::string out;
  while (!text.empty()) {
    const size_t open = text.find('{');
    out += text.substr(0, open);
    if (open == std::string_view::npos) return out;
    const size_t close = text.find('}', open);
    if (close == std::string_view::npos)
      return fail(Code::kInvalidArgument, "the { of a placeholder in " + quote(text) + " is not closed");
    auto value = placeholder_value(text.substr(open + 1, close - open - 1), scope);
    if (!value) return value;
    out += *value;
    text.remove_prefix(close + 1);
  }
  return out;
}

}  // namespace dra::sandbox
