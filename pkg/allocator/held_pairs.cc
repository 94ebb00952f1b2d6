#include "pkg/allocator/held_pairs.h"

#include <algorithm>
#include <map>
#include <vector>

#include "pkg/allocator/groups/group_counter.h"
#include "pkg/inventory/device_values.h"

namespace dra::allocator {

namespace {

constexpr uint64_t kHeldWork = 5'000'000;  // of GroupCounter, for one rule: some 5 ms

// Numbers the values of one rule's devices, which GroupTerm points to.
class HeldTerms {
 public:
  HeldTerms(const PairRule& rule, const inventory::DeviceIndex& device_index, inventory::NodeId node) {
    for (const PairRule::Term& term : rule.terms)
      for (const Anchor& device : term.devices) {
        std::vector<uint32_t>& numbers = values_.emplace_back();
        const auto values =
            inventory::device_values(device_index, device.driver, device.pool, device.device, rule.attribute, node);
        for (const std::string& code : values.value_or(std::vector<std::string>()))
          numbers.push_back(numbers_.try_emplace(code, static_cast<uint32_t>(numbers_.size())).first->second);
        std::sort(numbers.begin(), numbers.end());
      }
    size_t next = 0;
    for (const PairRule::Term& term : rule.terms) {
      GroupTerm& made = terms_.emplace_back();
      made.number = term.number;
      for (size_t i = 0; i < term.devices.size(); ++i) {
        const std::vector<uint32_t>& numbers = values_[next++];
        if (numbers.empty())
          ++made.taken_without_value;
        else
          made.taken.push_back({numbers.data(), numbers.data() + numbers.size(), kNoRival});
      }
    }
  }

  std::span<const GroupTerm> taken() const { return terms_; }
  std::vector<GroupTerm> as_free() const {
    std::vector<GroupTerm> out = terms_;
    for (GroupTerm& term : out) {
      term.free = std::move(term.taken);
      term.taken.clear();
      term.taken_without_value = 0;
    }
    return out;
  }

 private:
  std::map<std::string, uint32_t> numbers_;
  std::vector<std::vector<uint32_t>> values_;  // by device
  std::vector<GroupTerm> terms_;
};

}  // namespace

HeldPairs held_pairs(std::span<const PairRule> rules, const inventory::DeviceIndex& device_index,
                     inventory::NodeId node) {
  GroupCounter counter;
  for (const PairRule& rule : rules) {
    uint64_t asked = UINT32_MAX;
    bool open = false;
    for (const PairRule::Term& term : rule.terms) {
      open = open || term.claim != kAllocatedClaim;
      asked = std::min<uint64_t>(asked, term.devices.size() / term.number);
    }
    if (open) continue;
    if (asked == 0) return {&rule, 0, 0, false};
    const HeldTerms terms(rule, device_index, node);
    const GroupCounter::Answer answer = counter.can_form(terms.taken(), asked, kHeldWork);
    if (answer == GroupCounter::Answer::kYes) continue;
    HeldPairs held{&rule, 0, static_cast<uint32_t>(asked), answer == GroupCounter::Answer::kUnknown};
    held.has = counter.most(terms.as_free(), held.asked, kHeldWork).value_or(0);
    return held;
  }
  return {};
}

std::string held_sentence(const HeldPairs& held) {
  if (held.unmet == nullptr) return "";
  const std::string rule = "(" + held.unmet->text + ")";
  if (held.unknown) return "whether the devices of its claims form the pairs " + rule + " takes too long to find out";
  if (held.asked > 0)
    return "the devices of its claims form " + std::to_string(held.has) + " such " +
           (held.has == 1 ? "pair " : "pairs ") + rule + ", " + std::to_string(held.asked) +
           (held.asked == 1 ? " is asked" : " are asked");
  for (const PairRule::Term& term : held.unmet->terms)
    if (term.devices.size() < term.number) return never_sentence(term.name, term.devices.size(), term.number);
  return "";
}

}  // namespace dra::allocator
