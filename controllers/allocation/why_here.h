// WhyHere: the clause in which a strategy says why it chose a node, from the decision until the pod's event. Text only:
// nothing is decided by it, and after a restart the event lacks the clause.
//
// Bounded: beyond kMost pods the oldest clause is dropped. Not thread-safe.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <unordered_map>
#include <utility>

namespace dra::allocation {

class WhyHere {
 public:
  static constexpr size_t kMost = 4096;

  // First-fit gives an empty clause, which is not stored.
  void note(const std::string& pod_uid, std::string clause) {
    if (clause.empty() && !clauses_.contains(pod_uid)) return;
    if (!clauses_.insert_or_assign(pod_uid, std::move(clause)).second) return;
    order_.push_back(pod_uid);
    if (order_.size() <= kMost) return;
    clauses_.erase(order_.front());
    order_.pop_front();
  }
  // ", which keeps 3 whole devices on n1", or nothing.
  std::string clause(const std::string& pod_uid) const {
    const auto found = clauses_.find(pod_uid);
    return found == clauses_.end() || found->second.empty() ? "" : ", which " + found->second;
  }

 private:
  std::unordered_map<std::string, std::string> clauses_;
  std::deque<std::string> order_;  // the same uids, oldest first
};

}  // namespace dra::allocation
