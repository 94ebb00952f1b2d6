#include "pkg/allocator/plan/plan_pairs.h"

#include <algorithm>
#include <map>

#include "pkg/allocator/plan/plan.h"

namespace dra::allocator {

void add_pairs(Plan& plan, const std::function<uint32_t(const std::string& attribute)>& column_of) {
  for (const PairRule& rule : plan.pair_rules) {
    PlanPairs added;
    added.column = column_of(rule.attribute);
    added.text = rule.text;
    for (const PairRule::Term& term : rule.terms) {
      PlanPairTerm& one = added.terms.emplace_back();
      one.number = term.number;
      if (term.claim == kAllocatedClaim) {
        one.allocated = &term.devices;
        continue;
      }
      // Requests are planned claim by claim, each claim's in its order.
      uint32_t first = 0;
      while (first < plan.requests.size() && plan.requests[first].claim != term.claim) ++first;
      one.requests.push_back(first + term.request);
    }
    plan.pairs.push_back(std::move(added));
  }
}

namespace {

// What the requests of a constraint take, by filter; empty if it cannot be a group of an implied entry.
std::map<uint32_t, uint32_t> devices_by_slot(const Plan& plan, const PlanConstraint& constraint,
                                             const std::vector<uint32_t>& constraints_of_request) {
  std::map<uint32_t, uint32_t> out;
  for (const uint32_t r : constraint.requests) {
    const PlanRequest& request = plan.requests[r];
    if (request.alternatives.size() != 1 || constraints_of_request[r] != 1) return {};
    const PlanAlternative& only = request.alternatives.front();
    if (only.all || only.admin || only.count > alignment::kMaxNumber) return {};
    out[only.slot] += only.count;
  }
  if (out.size() > alignment::kMaxTerms) return {};
  return out;
}

}  // namespace

void add_implied_pairs(Plan& plan) {
  // Constraints of one column and one form.
  std::map<std::pair<uint32_t, std::map<uint32_t, uint32_t>>, std::vector<uint32_t>> groups;
  std::map<uint32_t, std::vector<uint32_t>> of_column;
  for (uint32_t c = 0; c < plan.constraints.size(); ++c)
    // A derived attribute has other values than the devices' own, which these bounds read.
    if (!plan.constraints[c].distinct && plan.constraints[c].claim != kAllClaims && plan.constraints[c].derived.empty())
      of_column[plan.constraints[c].column].push_back(c);
  for (const auto& [column, constraints] : of_column) {
    if (constraints.size() < 2) continue;
    std::vector<uint32_t> constraints_of_request(plan.requests.size(), 0);
    for (const uint32_t c : constraints)
      for (const uint32_t r : plan.constraints[c].requests) ++constraints_of_request[r];
    for (const uint32_t c : constraints)
      if (auto devices = devices_by_slot(plan, plan.constraints[c], constraints_of_request); !devices.empty())
        groups[{column, std::move(devices)}].push_back(c);
  }
  for (const auto& [form, constraints] : groups) {
    if (constraints.size() < 2) continue;
    PlanPairs added;
    added.implied = true;
    added.column = form.first;
    added.text = std::to_string(constraints.size()) + " constraints with matchAttribute " +
                 plan.constraints[constraints.front()].attribute;
    for (const auto& [slot, number] : form.second) {
      PlanPairTerm& term = added.terms.emplace_back();
      term.number = number;
      for (const uint32_t c : constraints)
        for (const uint32_t r : plan.constraints[c].requests)
          if (plan.requests[r].alternatives.front().slot == slot) term.requests.push_back(r);
      std::sort(term.requests.begin(), term.requests.end());
    }
    plan.pairs.push_back(std::move(added));
  }
}

namespace {

// A rule across requests reads the devices' own attributes.
std::string derives(const Plan& plan, uint32_t request, const std::string& attribute) {
  for (const PlanAlternative& alternative : plan.requests[request].alternatives)
    for (const PlanDerived& one : alternative.derived)
      if (*one.name == attribute)
        return "request " + plan.requests[request].spec->name + " derives " + attribute +
               " (derivedAttributes), by which this version forms no groups: name an attribute of the devices";
  return "";
}

}  // namespace

std::string why_never(const Plan& plan) {
  for (const PlanConstraint& constraint : plan.constraints)
    if (constraint.list != nullptr)
      for (const uint32_t r : constraint.requests)
        if (std::string found = derives(plan, r, constraint.attribute); !found.empty()) return found;
  for (size_t e = 0; e < plan.pair_rules.size(); ++e)
    for (const PlanPairTerm& term : plan.pairs[e].terms)
      for (const uint32_t r : term.requests)
        if (std::string found = derives(plan, r, plan.pair_rules[e].attribute); !found.empty()) return found;
  for (size_t e = 0; e < plan.pair_rules.size(); ++e)
    for (size_t t = 0; t < plan.pair_rules[e].terms.size(); ++t) {
      const PairRule::Term& term = plan.pair_rules[e].terms[t];
      uint64_t most = term.devices.size();
      if (term.claim != kAllocatedClaim)
        for (const PlanAlternative& one : plan.requests[plan.pairs[e].terms[t].requests.front()].alternatives)
          most = std::max<uint64_t>(most, one.all ? term.number : one.count);
      if (most >= term.number) continue;
      return never_sentence(term.name, most, term.number);
    }
  return "";
}

void write_pair_shape(const Plan& plan, std::string& shape) {
  const auto add = [&](uint64_t v) { shape.append(reinterpret_cast<const char*>(&v), sizeof v); };
  for (const PairRule& rule : plan.pair_rules) {
    add(rule.terms.size() << 32 | rule.attribute.size());
    shape += rule.attribute;
    for (const PairRule::Term& term : rule.terms) {
      add(uint64_t{term.claim} << 32 | term.request);
      add(uint64_t{term.number} << 32 | term.devices.size());
      for (const Anchor& device : term.devices)
        for (const std::string* part : {&device.driver, &device.pool, &device.device}) {
          add(part->size());
          shape += *part;
        }
    }
  }
}

}  // namespace dra::allocator
