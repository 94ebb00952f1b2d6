#include "pkg/allocator/locality.h"

#include <algorithm>
#include <charconv>

#include "pkg/base/strings.h"

namespace dra::allocator {

namespace {

constexpr std::string_view kSame = "same:";
constexpr size_t kMaxAttribute = 63 + 1 + 32;  // a domain and a C identifier

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t' || text.front() == '\n')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\n')) text.remove_suffix(1);
  return text;
}

bool is_attribute(std::string_view text) {
  if (text.empty() || text.size() > kMaxAttribute || text.front() == '/' || text.back() == '/') return false;
  if (std::count(text.begin(), text.end(), '/') > 1) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
           c == '_' || c == '/';
  });
}

// Empty: the text is valid.
std::string read_one(std::string_view text, PreferText::One& out) {
  constexpr size_t kShown = 64;
  const std::string shown = quote(std::string(text.substr(0, kShown)));
  if (!text.starts_with(kSame))
    return shown + " is not a preference; write same:<attribute>, or same:<attribute>=<weight>";
  std::string_view attribute = text.substr(kSame.size());
  if (const size_t equals = attribute.find('='); equals != std::string_view::npos) {
    const std::string_view weight = trimmed(attribute.substr(equals + 1));
    attribute = attribute.substr(0, equals);
    const auto [end, error] = std::from_chars(weight.data(), weight.data() + weight.size(), out.weight);
    if (error != std::errc{} || end != weight.data() + weight.size() || out.weight < 1 || out.weight > kMaxPreferWeight)
      return shown + ": the weight is not a number from 1 to " + std::to_string(kMaxPreferWeight);
  }
  attribute = trimmed(attribute);
  if (!is_attribute(attribute)) return shown + ": this is not the name of an attribute";
  out.attribute = attribute;
  return "";
}

// True if more than one device may serve it.
bool may_take_several(const api::DeviceRequest& request) {
  const auto several = [](const api::DeviceSubRequest& one) { return one.allocation_mode == "All" || one.count > 1; };
  return request.exactly ? several(*request.exactly)
                         : std::any_of(request.first_available.begin(), request.first_available.end(), several);
}

bool can_be_violated(const Preference& preference, std::span<const api::ResourceClaim* const> open) {
  size_t requests = 0;
  for (const uint32_t claim : preference.claims)
    for (const api::DeviceRequest& request : open[claim]->spec.requests)
      if (++requests > 1 || may_take_several(request)) return true;
  return requests == 1 && !preference.anchors.empty();
}

std::string list_of(const std::vector<Preference>& preferences, uint32_t set) {
  std::string text;
  for (size_t i = 0; i < preferences.size(); ++i)
    if (set >> i & 1) text += (text.empty() ? "the same " : " and the same ") + preferences[i].attribute;
  return text;
}

}  // namespace

PreferText parse_prefer(std::string_view text) {
  PreferText out;
  if (text.size() > kMaxPreferText) {
    out.ignored.push_back("it has more than " + std::to_string(kMaxPreferText) + " characters");
    return out;
  }
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view part = trimmed(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    if (part.empty()) continue;
    PreferText::One one;
    if (std::string why = read_one(part, one); !why.empty()) {
      out.ignored.push_back(std::move(why));
      continue;
    }
    const auto known = std::find_if(out.preferences.begin(), out.preferences.end(),
                                    [&](const PreferText::One& other) { return other.attribute == one.attribute; });
    if (known != out.preferences.end())
      known->weight = std::max(known->weight, one.weight);
    else
      out.preferences.push_back(std::move(one));
  }
  return out;
}

Preferences preferences_of(std::span<const std::shared_ptr<const api::ResourceClaim>> claims) {
  Preferences out;
  std::vector<const api::ResourceClaim*> open;
  for (const auto& claim : claims) {
    const auto number = static_cast<uint32_t>(open.size());
    if (!claim->status.allocation) open.push_back(claim.get());
    const auto text = claim->metadata.annotations.find(std::string(kPreferAnnotation));
    if (text == claim->metadata.annotations.end()) continue;
    PreferText read = parse_prefer(text->second);
    for (std::string& why : read.ignored) out.ignored.emplace_back(claim.get(), std::move(why));
    for (PreferText::One& one : read.preferences) {
      auto known = std::find_if(out.of.begin(), out.of.end(),
                                [&](const Preference& other) { return other.attribute == one.attribute; });
      if (known == out.of.end()) {
        if (out.of.size() == kMaxPreferences) {
          out.ignored.emplace_back(claim.get(), "same:" + one.attribute + ": the claims of a pod have at most " +
                                                    std::to_string(kMaxPreferences) + " preferences together");
          continue;
        }
        known = out.of.insert(out.of.end(), {one.attribute, one.weight, {}, {}});
      }
      known->weight = std::max(known->weight, one.weight);
      if (!claim->status.allocation) {
        known->claims.push_back(number);
        continue;
      }
      for (const api::DeviceRequestAllocationResult& result : claim->status.allocation->results)
        known->anchors.push_back({result.driver, result.pool, result.device});
    }
  }
  std::erase_if(out.of, [&](const Preference& one) { return !can_be_violated(one, open); });
  return out;
}

std::vector<uint32_t> by_weight(const std::vector<Preference>& preferences) {
  const auto weight = [&](uint32_t set) {
    int sum = 0;
    for (size_t i = 0; i < preferences.size(); ++i) sum += (set >> i & 1) != 0 ? preferences[i].weight : 0;
    return sum;
  };
  std::vector<uint32_t> sets(size_t{1} << preferences.size());
  for (uint32_t set = 0; set < sets.size(); ++set) sets[set] = set;
  std::sort(sets.begin(), sets.end(),
            [&](uint32_t a, uint32_t b) { return std::pair(-weight(a), a) < std::pair(-weight(b), b); });
  return sets;
}

std::string locality_clause(const std::vector<Preference>& preferences, uint32_t met, bool undecided) {
  const uint32_t all = (1u << preferences.size()) - 1;
  std::string text = "has devices ";
  if (met != 0) text += "with " + list_of(preferences, met);
  if (met == all) return text;
  text += met == 0 ? "without " : ", but without ";
  text += list_of(preferences, all & ~met);
  return text + (undecided ? " (not found within the budget of steps)" : ", which no node has free for this pod");
}

}  // namespace dra::allocator
