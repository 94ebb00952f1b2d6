#include "pkg/inspect/verbs/fragmentation.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "pkg/cel/cel.h"
#include "pkg/inspect/state/shapes.h"
#include "pkg/inspect/state/silicon.h"
#include "pkg/inspect/verbs/top.h"
#include "pkg/inspect/verbs/top_cells.h"

namespace dra::inspect {
namespace {

constexpr double kRounding = 1e-9;

// The selectors of a class, as the allocator evaluates them.
class ClassSelector {
 public:
  ClassSelector(const api::DeviceClass& device_class, bool of_137) {
    cel::EnvironmentOptions options;
    options.list_attributes = true;
    if (of_137) options.release = cel::Release::k137;
    for (const std::string& one : device_class.selectors)
      compiled_.push_back(cel::compile(one, cel::Environment(options)));
  }
  bool known() const {
    return std::all_of(compiled_.begin(), compiled_.end(), [](const auto& one) { return one.program != nullptr; });
  }
  bool selects(const std::string& driver, const api::Device& device) const {
    const cel::DeviceInput input = cel::make_device_input(driver, device);
    return std::all_of(compiled_.begin(), compiled_.end(), [&](const cel::CompileResult& one) {
      const cel::EvalResult result = one.program->evaluate(input);
      return result.ok() && result.value;
    });
  }

 private:
  std::vector<cel::CompileResult> compiled_;
};

// The mean share of the card's counters that these amounts are.
double share_of(const CounterAmounts& amounts, const CounterAmounts& most, const CounterAmounts& totals) {
  double sum = 0;
  size_t counters = 0;
  for (const auto& [name, ignored] : most) {
    const auto total = totals.find(name);
    if (total == totals.end() || total->second <= 0) continue;
    ++counters;
    const auto taken = amounts.find(name);
    if (taken != amounts.end()) sum += static_cast<double>(taken->second) / static_cast<double>(total->second);
  }
  return counters == 0 ? 0 : sum / static_cast<double>(counters);
}

// A card of one node whose devices can be allocated.
struct FreeCard {
  struct Part {
    const api::Device* device = nullptr;
    double share = 1;  // of the card
  };
  std::string driver;
  std::vector<Part> parts;  // that no taint and no refusal keeps back
  double free = 0;          // 0 to 1
};

void add_cards_of(const inventory::PoolInfo& pool, const std::vector<const api::ResourceSlice*>& slices,
                  const std::vector<inventory::DeviceInfo>& devices, const std::vector<std::string>& ignored_taints,
                  std::vector<FreeCard>& all) {
  std::map<std::string_view, const inventory::DeviceInfo*> info;
  for (const inventory::DeviceInfo& device : devices) info[device.name.device] = &device;
  const CounterAmounts totals = counter_totals(slices);
  for (const Card& card : cards_of(slices, devices)) {
    FreeCard& out = all.emplace_back();
    out.driver = pool.driver;
    const bool counts = !card.most.empty();
    CounterAmounts held;
    bool any_held = false;
    for (const api::Device* device : card.devices) {
      const inventory::DeviceInfo& known = *info.at(device->name);
      const CounterAmounts use = counter_use(*device);
      const bool kept_back = !known.refused.empty() ||
                             std::any_of(known.taints.begin(), known.taints.end(),
                                         [&](const auto& taint) { return keeps_claims_away(taint, ignored_taints); });
      if (!kept_back) out.parts.push_back({device, counts ? share_of(use, card.most, totals) : 1});
      if (known.holders.empty()) continue;
      any_held = true;
      for (const auto& [name, amount] : use) held[name] += amount;
    }
    out.free = counts ? std::max(0.0, 1 - share_of(held, card.most, totals)) : any_held ? 0 : 1;
  }
}

std::vector<FreeCard> free_cards(const State& state) {
  std::vector<FreeCard> all;
  const auto slices = slices_by_pool(state.objects);
  for (const inventory::PoolInfo& pool : state.inventory.pools()) {
    const auto published = slices.find({pool.driver, pool.name});
    if (pool.node.empty() || pool.state != inventory::PoolState::kComplete || !pool.refused.empty() ||
        published == slices.end())
      continue;
    add_cards_of(pool, published->second, state.inventory.devices(pool.id), state.options.ignored_taints, all);
  }
  return all;
}

uint32_t servable(const std::vector<FreeCard>& cards, const ClassSelector& selector) {
  double sum = 0;
  for (const FreeCard& card : cards) {
    double least = 0;
    for (const FreeCard::Part& part : card.parts)
      if (part.share > 0 && (least == 0 || part.share < least) && selector.selects(card.driver, *part.device))
        least = part.share;
    if (least > 0) sum += card.free / least;
  }
  return static_cast<uint32_t>(std::min(std::floor(sum + kRounding), 4e9));
}

}  // namespace

uint32_t ClassFragmentation::if_packed() const {
  return std::max(largest, std::min(on_empty, free));
}

std::vector<ClassFragmentation> fragmentation_of(State& state) {
  const std::vector<FreeCard> cards = free_cards(state);
  StateOptions options = state.options;
  options.empty = true;
  State empty(state.objects, options);
  std::vector<ClassFragmentation> all;
  for (const auto& [name, device_class] : state.objects.classes) {
    ClassFragmentation& one = all.emplace_back();
    one.device_class = name;
    const ClassSelector selector(*device_class, state.inventory.features().selectors_of_137);
    one.known = selector.known();
    if (!one.known) continue;
    const LargestRequest now = largest_request(state, name);
    const LargestRequest at_best = largest_request(empty, name);
    one.largest = now.count;
    one.node = now.node;
    one.exact = now.exact && at_best.exact;
    one.on_empty = std::max(now.count, at_best.count);
    one.free = std::max(now.count, servable(cards, selector));
  }
  return all;
}

Answer top_fragmentation(State& state) {
  Answer answer{"DRATopFragmentation"};
  Table table{"",
              "fragmentation",
              {{"CLASS", "class"},
               {"LARGEST", "largest"},
               {"ON NODE", "node"},
               {"IF PACKED", "ifPacked"},
               {"LOST", "lost"},
               {"FREE", "free"}},
              {}};
  for (const ClassFragmentation& one : fragmentation_of(state)) {
    const std::string row = "deviceclass/" + one.device_class;
    if (!one.known) {
      table.rows.push_back(
          {row, {one.device_class, "-", Cell("a selector of it cannot be evaluated", Tone::kBad), "-", "-", "-"}});
      answer.status = Status::kNo;
      continue;
    }
    table.rows.push_back({row,
                          {one.device_class, Cell((one.exact ? "" : ">=") + std::to_string(one.largest)),
                           some_or_dash(one.node), Cell(std::to_string(one.if_packed())),
                           Cell(std::to_string(one.lost()), one.lost() > 0 ? Tone::kWarn : Tone::kPlain),
                           Cell(std::to_string(one.free))}});
    if (one.lost() == 0) continue;
    answer.say_after({"Fragmentation",
                      one.device_class + ": one node can give " + counted(one.largest, "device") + " now, and " +
                          std::to_string(one.if_packed()) +
                          " if what is held were packed; kubectl dra whatif make-room "
                          "says who would have to move",
                      {"DeviceClass", "", one.device_class},
                      "",
                      {{"largest", one.largest}, {"ifPacked", one.if_packed()}, {"free", one.free}}});
  }
  const bool hidden = state.objects.hides("deviceclasses");
  if (table.rows.empty())
    answer.say(
        hidden ? "NotVisible" : "NoClasses",
        hidden ? "device classes are not visible: you may not list deviceclasses" : "there are no device classes");
  answer.tables.push_back(std::move(table));
  if (hidden || devices_are_uncertain(state.objects)) answer.status = Status::kUnknown;
  note_hidden(answer, state.objects);
  return answer;
}

}  // namespace dra::inspect
