#include "pkg/inventory/taint_rules.h"

#include <algorithm>

namespace dra::inventory {

namespace {

bool same_rule(const api::DeviceTaintRule& a, const api::DeviceTaintRule& b) {
  return a.has_selector == b.has_selector && a.driver == b.driver && a.pool == b.pool && a.device == b.device &&
         a.taint == b.taint && a.metadata.uid == b.metadata.uid;
}

void sort_by_name(std::vector<const api::DeviceTaintRule*>& rules) {
  std::sort(rules.begin(), rules.end(),
            [](const auto* a, const auto* b) { return a->metadata.name < b->metadata.name; });
}

}  // namespace

bool selects_pool(const api::DeviceTaintRule& rule, std::string_view driver, std::string_view pool) {
  return rule.has_selector && (!rule.driver || *rule.driver == driver) && (!rule.pool || *rule.pool == pool);
}

bool selects(const api::DeviceTaintRule& rule, std::string_view driver, std::string_view pool,
             std::string_view device) {
  return selects_pool(rule, driver, pool) && (!rule.device || *rule.device == device);
}

TaintRules::Place TaintRules::place_of(const api::DeviceTaintRule& rule) {
  return {rule.driver.value_or(""), rule.pool.value_or("")};
}

void TaintRules::index(const api::DeviceTaintRule& rule) {
  if (!rule.has_selector) return;
  Bucket& bucket = buckets_[place_of(rule)];
  Names& names = rule.device ? bucket.by_device[*rule.device] : bucket.every_device;
  names.emplace(rule.metadata.name, &rule);
}

void TaintRules::unindex(const api::DeviceTaintRule& rule) {
  const auto found = buckets_.find(place_of(rule));
  if (!rule.has_selector || found == buckets_.end()) return;
  Bucket& bucket = found->second;
  bucket.every_device.erase(rule.metadata.name);
  if (rule.device) {
    const auto names = bucket.by_device.find(*rule.device);
    names->second.erase(rule.metadata.name);
    if (names->second.empty()) bucket.by_device.erase(names);
  }
  if (bucket.every_device.empty() && bucket.by_device.empty()) buckets_.erase(found);
}

bool TaintRules::apply(const api::DeviceTaintRule& rule, api::DeviceTaintRule* before) {
  const auto known = rules_.find(rule.metadata.name);
  if (known != rules_.end() && same_rule(known->second, rule)) return false;
  if (!remove(rule.metadata.name, before)) *before = {};
  index(rules_.emplace(rule.metadata.name, rule).first->second);
  return true;
}

bool TaintRules::remove(std::string_view name, api::DeviceTaintRule* before) {
  const auto known = rules_.find(name);
  if (known == rules_.end()) return false;
  unindex(known->second);
  *before = std::move(known->second);
  rules_.erase(known);
  return true;
}

template <typename F>
void TaintRules::each_bucket(std::string_view driver, std::string_view pool, F&& f) const {
  if (buckets_.empty()) return;
  for (const std::string_view d : {driver, std::string_view()})
    for (const std::string_view p : {pool, std::string_view()})
      if (const auto found = buckets_.find({std::string(d), std::string(p)}); found != buckets_.end()) f(found->second);
}

bool TaintRules::any(std::string_view driver, std::string_view pool) const {
  bool found = false;
  each_bucket(driver, pool, [&](const Bucket&) { found = true; });
  return found;
}

std::vector<const api::DeviceTaintRule*> TaintRules::of_device(std::string_view driver, std::string_view pool,
                                                               std::string_view device) const {
  std::vector<const api::DeviceTaintRule*> rules;
  each_bucket(driver, pool, [&](const Bucket& bucket) {
    for (const auto& [name, rule] : bucket.every_device) rules.push_back(rule);
    if (const auto named = bucket.by_device.find(device); named != bucket.by_device.end())
      for (const auto& [name, rule] : named->second) rules.push_back(rule);
  });
  sort_by_name(rules);
  return rules;
}

std::vector<const api::DeviceTaintRule*> TaintRules::of_pool(std::string_view driver, std::string_view pool) const {
  std::vector<const api::DeviceTaintRule*> rules;
  each_bucket(driver, pool, [&](const Bucket& bucket) {
    for (const auto& [name, rule] : bucket.every_device) rules.push_back(rule);
    for (const auto& [device, named] : bucket.by_device)
      for (const auto& [name, rule] : named) rules.push_back(rule);
  });
  sort_by_name(rules);
  return rules;
}

}  // namespace dra::inventory
