// WhyHere: the clause in which a strategy says why it chose a node, from the decision until the pod's event. Text only:
// nothing is decided by it, and after a restart the event lacks the clause.
//
// Bounded: beyond kMost pods the oldest clause is dropped. Not thread-safe.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory_resource>
#include <string>

namespace dra::allocation {

class WhyHere {
 public:
  static constexpr size_t kMost = 4096;

  // First-fit gives an empty clause, which is not stored.
  void note(const std::string& pod_uid, const std::string& clause) {
    const auto known = clauses_.find(std::pmr::string(pod_uid));
    if (known != clauses_.end()) {
      known->second = clause;
      return;
    }
    if (clause.empty()) return;
    order_.push_back(clauses_.emplace(pod_uid, clause).first);
    if (order_.size() <= kMost) return;
    clauses_.erase(order_.front());
    order_.pop_front();
  }
  // ", which keeps 3 of 4 cards of gpu.nvidia.com whole on n1", or nothing.
  std::string clause(const std::string& pod_uid) const {
    const auto found = clauses_.find(std::pmr::string(pod_uid));
    return found == clauses_.end() || found->second.empty() ? "" : ", which " + std::string(found->second);
  }

 private:
  using Clauses = std::pmr::map<std::pmr::string, std::pmr::string>;
  // Small, long-lived pieces between those of short-lived objects would keep whole pages.
  std::pmr::unsynchronized_pool_resource pool_;
  Clauses clauses_{&pool_};              // by uid
  std::deque<Clauses::iterator> order_;  // oldest first
};

}  // namespace dra::allocation
