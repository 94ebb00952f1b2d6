#include "test/oracle/pairs.h"

#include <algorithm>
#include <functional>
#include <map>
#include <variant>

namespace dra::oracle {
namespace {

struct TypedValues {
  std::set<std::string> operator()(std::monostate) const { return {}; }
  std::set<std::string> operator()(int64_t v) const { return {"int " + std::to_string(v)}; }
  std::set<std::string> operator()(bool v) const { return {v ? "bool true" : "bool false"}; }
  std::set<std::string> operator()(const std::string& v) const { return {"string " + v}; }
  std::set<std::string> operator()(const api::VersionText& v) const { return {"version " + v.text}; }
  template <class T>
  std::set<std::string> operator()(const std::vector<T>& list) const {
    std::set<std::string> out;
    for (const T& item : list) out.merge((*this)(item));
    return out;
  }
};

std::set<std::string> values_of_device(const Scene& scene, const SceneDevice& device, const std::string& attribute) {
  const api::DeviceAttribute* found = find_attribute(device, attribute);
  if (found == nullptr || (oracle::is_list(*found) && !scene.world->on("DRAListTypeAttributes"))) return {};
  return std::visit(TypedValues{}, *found);
}

// Matches units to places one by one; a place that loses its unit looks for another one (Kuhn).
class Seating {
 public:
  explicit Seating(const std::vector<GroupUnit>& units) : units_(units), place_of_(units.size(), kNone) {}
  bool seat(size_t side, const std::string& value) {
    places_.emplace_back(side, value);
    std::vector<bool> asked(units_.size(), false);
    return find(places_.size() - 1, asked);
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;
  bool find(size_t place, std::vector<bool>& asked) {
    const auto& [side, value] = places_[place];
    for (size_t u = 0; u < units_.size(); ++u) {
      if (asked[u] || !units_[u].values.contains(value)) continue;
      if (std::find(units_[u].sides.begin(), units_[u].sides.end(), side) == units_[u].sides.end()) continue;
      asked[u] = true;
      if (place_of_[u] != kNone && !find(place_of_[u], asked)) continue;
      place_of_[u] = place;
      return true;
    }
    return false;
  }

  const std::vector<GroupUnit>& units_;
  std::vector<std::pair<size_t, std::string>> places_;
  std::vector<size_t> place_of_;
};

}  // namespace

uint64_t most_groups(const std::vector<uint32_t>& numbers, const std::vector<GroupUnit>& units, uint64_t at_most) {
  // A bound for each value: the units of each side that have it.
  std::map<std::string, uint64_t> caps;
  for (const GroupUnit& unit : units)
    for (const std::string& value : unit.values) caps[value] = UINT64_MAX;
  for (auto& [value, cap] : caps)
    for (size_t side = 0; side < numbers.size(); ++side) {
      uint64_t count = 0;
      for (const GroupUnit& unit : units)
        count +=
            unit.values.contains(value) && std::find(unit.sides.begin(), unit.sides.end(), side) != unit.sides.end();
      cap = std::min(cap, count / numbers[side]);
    }
  std::vector<std::pair<std::string, uint64_t>> values;
  for (const auto& [value, cap] : caps)
    if (cap > 0) values.emplace_back(value, cap);
  std::vector<uint64_t> rest(values.size() + 1, 0);
  for (size_t v = values.size(); v-- > 0;) rest[v] = rest[v + 1] + values[v].second;
  std::vector<uint64_t> chosen(values.size(), 0);
  const auto seats = [&](size_t upto) {
    Seating seating(units);
    for (size_t v = 0; v < upto; ++v)
      for (uint64_t group = 0; group < chosen[v]; ++group)
        for (size_t side = 0; side < numbers.size(); ++side)
          for (uint32_t i = 0; i < numbers[side]; ++i)
            if (!seating.seat(side, values[v].first)) return false;
    return true;
  };
  std::function<bool(size_t, uint64_t)> choose = [&](size_t v, uint64_t left) {
    if (left == 0) return true;
    if (rest[v] < left) return false;
    for (chosen[v] = std::min(values[v].second, left);; --chosen[v]) {
      if (seats(v + 1) && choose(v + 1, left - chosen[v])) return true;
      if (chosen[v] == 0) return false;
    }
  };
  for (uint64_t groups = std::min(at_most, rest[0]); groups > 0; --groups)
    if (choose(0, groups)) return groups;
  return 0;
}

uint64_t most_groups_by_trial(const std::vector<uint32_t>& numbers, const std::vector<GroupUnit>& units) {
  std::map<std::string, std::vector<uint32_t>> standing;  // by value and side
  uint64_t best = 0;
  std::function<void(size_t)> decide = [&](size_t u) {
    if (u == units.size()) {
      uint64_t sum = 0;
      for (const auto& [value, counts] : standing) {
        uint64_t least = UINT64_MAX;
        for (size_t side = 0; side < numbers.size(); ++side)
          least = std::min<uint64_t>(least, counts[side] / numbers[side]);
        sum += least;
      }
      best = std::max(best, sum);
      return;
    }
    if (units[u].values.empty()) return decide(u + 1);
    for (const std::string& value : units[u].values)
      for (const size_t side : units[u].sides) {
        std::vector<uint32_t>& counts = standing[value];
        counts.resize(numbers.size(), 0);
        ++counts[side];
        decide(u + 1);
        --standing[value][side];
      }
  };
  decide(0);
  return best;
}

std::string broken_pairs(const Scene& scene, const std::vector<Pick>& picks,
                         const std::vector<allocator::PairRule>& rules) {
  for (const allocator::PairRule& rule : rules) {
    std::vector<uint32_t> numbers;
    std::vector<GroupUnit> units;
    uint64_t asked = UINT64_MAX;
    for (size_t side = 0; side < rule.terms.size(); ++side) {
      const allocator::PairRule::Term& term = rule.terms[side];
      uint64_t taken = 0;
      const auto add = [&](const SceneDevice& device) {
        units.push_back({{side}, values_of_device(scene, device, rule.attribute)});
      };
      for (const allocator::Anchor& anchor : term.devices) {
        ++taken;
        for (const auto* devices : {&scene.devices, &scene.withheld})
          for (const SceneDevice& device : *devices)
            if (device.name == DeviceName{anchor.driver, anchor.pool, anchor.device}) add(device);
      }
      for (const Pick& pick : picks) {
        if (pick.option->claim != term.claim || pick.option->request != term.request) continue;
        ++taken;
        add(scene.devices[pick.device]);
      }
      numbers.push_back(term.number);
      asked = std::min(asked, taken / term.number);
    }
    if (asked == 0) return "pairs (" + rule.text + "): a request takes fewer devices than a group has of it";
    const uint64_t has = most_groups(numbers, units, asked);
    if (has < asked)
      return "pairs (" + rule.text + "): " + std::to_string(has) + " groups instead of " + std::to_string(asked);
  }
  return "";
}

uint64_t free_groups(const Scene& scene, const allocator::PairRule& rule, uint64_t asked) {
  std::vector<uint32_t> numbers;
  std::map<size_t, std::vector<size_t>> exclusive;  // device -> sides
  std::vector<GroupUnit> units;
  for (size_t side = 0; side < rule.terms.size(); ++side) {
    numbers.push_back(rule.terms[side].number);
    for (const SceneRequest& request : scene.requests) {
      if (request.claim != rule.terms[side].claim || request.request != rule.terms[side].request) continue;
      const SceneOption& option = request.options.at(0);
      for (size_t i = 0; i < option.candidates.size(); ++i) {
        const size_t d = option.candidates[i];
        const SceneDevice& device = scene.devices[d];
        if (!option.tolerated[i] || device.held) continue;
        if (!device.shared) {
          exclusive[d].push_back(side);
          continue;
        }
        const auto amounts = amounts_taken(*option.spec, *device.device);
        bool room = amounts.has_value();
        for (const auto& [name, amount] : amounts.value_or(std::map<std::string, Amount>())) {
          const auto before = device.consumed.find(name);
          room = room && amount + (before == device.consumed.end() ? 0 : before->second) <=
                             parse_amount(device.device->capacity.at(name).value).value_or(0);
        }
        if (room) units.push_back({{side}, values_of_device(scene, scene.devices[d], rule.attribute)});
      }
    }
  }
  for (const auto& [d, sides] : exclusive)
    units.push_back({sides, values_of_device(scene, scene.devices[d], rule.attribute)});
  return most_groups(numbers, units, asked);
}

}  // namespace dra::oracle
