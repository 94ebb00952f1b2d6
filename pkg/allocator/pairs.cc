#include "pkg/allocator/pairs.h"

#include <algorithm>

namespace dra::allocator {

std::vector<PairRule> pair_rules(const std::vector<alignment::PairEntry>& entries,
                                 std::span<const std::shared_ptr<const api::ResourceClaim>> claims) {
  std::vector<PairRule> out;
  if (entries.empty()) return out;
  std::vector<uint32_t> open(claims.size(), kAllocatedClaim);
  uint32_t count = 0;
  for (size_t c = 0; c < claims.size(); ++c)
    if (!claims[c]->status.allocation) open[c] = count++;
  for (const alignment::PairEntry& entry : entries) {
    PairRule rule;
    rule.attribute = entry.attribute;
    rule.text = entry.text;
    for (const alignment::PairTerm& one : entry.terms) {
      const api::ResourceClaim& claim = *claims[one.claim];
      PairRule::Term term;
      term.claim = open[one.claim];
      term.request = one.request;
      term.number = one.number;
      term.name = claim.spec.requests[one.request].name;
      if (claim.status.allocation) {
        for (const api::DeviceRequestAllocationResult& result : claim.status.allocation->results)
          if (result.request.substr(0, result.request.find('/')) == term.name)
            term.devices.push_back({result.driver, result.pool, result.device});
      }
      rule.terms.push_back(std::move(term));
    }
    out.push_back(std::move(rule));
  }
  return out;
}

const PairShort* nearest_to_enough(std::span<const PairShort> all) {
  const auto found = std::min_element(
      all.begin(), all.end(), [](const PairShort& a, const PairShort& b) { return a.asked - a.has < b.asked - b.has; });
  return found == all.end() ? nullptr : &*found;
}

std::string short_sentence(const std::string& node, const std::string& text, uint32_t has, uint32_t asked) {
  return "node " + node + " has " + std::to_string(has) + " such " + (has == 1 ? "pair" : "pairs") + " (" + text +
         "), " + std::to_string(asked) + (asked == 1 ? " is asked" : " are asked");
}

std::string never_sentence(const std::string& request, uint64_t takes, uint32_t number) {
  return request + " takes " + std::to_string(takes) + (takes == 1 ? " device" : " devices") + ", a group of " +
         request + "*" + std::to_string(number) + " needs " + std::to_string(number) + ": this never fits";
}

}  // namespace dra::allocator
