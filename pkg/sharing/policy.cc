#include "pkg/sharing/policy.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "pkg/base/strings.h"

namespace dra::sharing {
namespace {

constexpr size_t kMaxName = 63;

std::optional<uint32_t> number(std::string_view text, uint32_t most) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > most) return std::nullopt;
  return value;
}

bool is_namespace(std::string_view text) {
  return !text.empty() && text.size() <= kMaxName && text.front() != '-' && text.back() != '-' &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

std::optional<std::string> read_order(std::string_view value, Policy& policy) {
  if (value != "pack" && value != "spread") return "write order=pack or order=spread";
  policy.order = value == "pack" ? Order::kPack : Order::kSpread;
  return std::nullopt;
}

std::optional<std::string> read_sharers(std::string_view value, Policy& policy) {
  const auto most = number(value, kMaxSharers);
  if (!most) return "write sharers=NUMBER, from 1 to " + std::to_string(kMaxSharers);
  policy.sharers = *most;
  return std::nullopt;
}

std::optional<std::string> read_per_namespace(std::string_view value, Policy& policy) {
  const bool percent = value.ends_with('%');
  const auto most = number(percent ? value.substr(0, value.size() - 1) : value, percent ? 100 : kMaxSharers);
  if (!most)
    return "write per-namespace=NUMBER, the most shares of a device, or per-namespace=PERCENT%, of each capacity, from "
           "1% to 100%";
  (percent ? policy.percent : policy.shares) = *most;
  return std::nullopt;
}

std::optional<std::string> read_with(std::string_view value, Policy& policy) {
  constexpr std::string_view kList = "namespaces:";
  if (value == "any" || value == "same-namespace") {
    policy.with = value == "any" ? With::kAny : With::kSameNamespace;
    return std::nullopt;
  }
  const std::string how = "write with=any, with=same-namespace or with=namespaces:NAME,NAME";
  if (!value.starts_with(kList)) return how;
  policy.with = With::kNamespaces;
  std::set<std::string> names;
  for (const std::string& name : split(value.substr(kList.size()), ',')) {
    if (!is_namespace(name)) return how + ": " + quote(std::string(name.substr(0, kMaxName))) + " is no namespace";
    names.insert(name);
  }
  if (names.empty() || names.size() > kMaxNamespaces)
    return how + ", of at most " + std::to_string(kMaxNamespaces) + " namespaces";
  policy.namespaces.assign(names.begin(), names.end());
  return std::nullopt;
}

struct Word {
  std::string_view name;
  std::optional<std::string> (*read)(std::string_view value, Policy& policy);
};
constexpr Word kWords[] = {
    {"order", read_order}, {"sharers", read_sharers}, {"per-namespace", read_per_namespace}, {"with", read_with}};

}  // namespace

std::optional<std::string> parse_policy(std::string_view text, Policy& policy) {
  policy = {};
  if (text.size() > kMaxPolicyBytes)
    return "it is longer than " + std::to_string(kMaxPolicyBytes) + " bytes; shorten it";
  std::set<std::string_view> seen;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view one = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (one.empty()) continue;
    const size_t at = std::min(one.find('='), one.size());
    const auto word = std::find_if(std::begin(kWords), std::end(kWords),
                                   [&](const Word& known) { return known.name == one.substr(0, at); });
    const std::string shown = quote(std::string(one.substr(0, kMaxName)));
    if (word == std::end(kWords) || at == one.size())
      return shown + " is none of order=, sharers=, per-namespace= and with=";
    if (!seen.insert(word->name).second) return std::string(word->name) + "= is there twice; write it once";
    if (const auto wrong = word->read(one.substr(at + 1), policy)) return shown + ": " + *wrong;
  }
  if (seen.empty()) return "it is empty; write at least one of order=, sharers=, per-namespace= and with=";
  return std::nullopt;
}

}  // namespace dra::sharing
