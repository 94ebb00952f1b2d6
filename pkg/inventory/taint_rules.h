// TaintRules: the DeviceTaintRules of a cluster, found by the names of a device. A rule's selector names driver, pool
// and device, or omits some of them; a rule without a selector is kept and matches nothing.
//
// A look-up costs the number of matching rules, not of all rules. Pointers stay valid until their rule changes.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "pkg/api/resource.h"

namespace dra::inventory {

class TaintRules {
 public:
  // Replaces the rule of this name; sets `before` to the previous one (a rule without a selector if there was none).
  // False if neither selector nor taint changed.
  bool apply(const api::DeviceTaintRule& rule, api::DeviceTaintRule* before);
  // False if there is no rule of this name.
  bool remove(std::string_view name, api::DeviceTaintRule* before);

  bool empty() const { return rules_.empty(); }
  // True if some rule selects a device of the pool, known or not.
  bool any(std::string_view driver, std::string_view pool) const;
  // The rules that select this device, by name.
  std::vector<const api::DeviceTaintRule*> of_device(std::string_view driver, std::string_view pool,
                                                     std::string_view device) const;
  // The rules that select some device of the pool, by name.
  std::vector<const api::DeviceTaintRule*> of_pool(std::string_view driver, std::string_view pool) const;

 private:
  using Names = std::map<std::string, const api::DeviceTaintRule*, std::less<>>;
  // The names in a selector, "" for omitted ones (the API allows no empty names).
  using Place = std::pair<std::string, std::string>;  // driver, pool
  struct Bucket {
    Names every_device;
    std::map<std::string, Names, std::less<>> by_device;
  };
  static Place place_of(const api::DeviceTaintRule& rule);
  void index(const api::DeviceTaintRule& rule);
  void unindex(const api::DeviceTaintRule& rule);
  template <typename F>
  void each_bucket(std::string_view driver, std::string_view pool, F&& f) const;

  std::map<std::string, api::DeviceTaintRule, std::less<>> rules_;
  std::map<Place, Bucket> buckets_;
};

// True if the rule's selector matches this device.
bool selects(const api::DeviceTaintRule& rule, std::string_view driver, std::string_view pool, std::string_view device);
// True if it matches some device of this pool.
bool selects_pool(const api::DeviceTaintRule& rule, std::string_view driver, std::string_view pool);

}  // namespace dra::inventory
