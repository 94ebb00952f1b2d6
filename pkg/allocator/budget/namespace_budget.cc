#include "pkg/allocator/budget/namespace_budget.h"

#include <iterator>

namespace dra::allocator {

void NamespaceBudget::fill(Bucket& bucket, const Rate& rate, MonoTime now) {
  bucket.nanos = std::min(rate.burst, bucket.nanos + rate.part * static_cast<double>((now - bucket.at).count()));
  bucket.at = now;
}

Duration NamespaceBudget::owed(const Bucket& bucket, const Rate& rate) {
  return bucket.nanos >= 0 ? Duration::zero() : Duration(static_cast<int64_t>(-bucket.nanos / rate.part));
}

Duration NamespaceBudget::wait_for_all() {
  if (clock_ == nullptr) return Duration::zero();
  fill(all_, kAll, clock_->mono_now());
  return owed(all_, kAll);
}

Duration NamespaceBudget::wait_for(const std::string& ns) {
  auto it = namespaces_.find(ns);
  if (clock_ == nullptr || it == namespaces_.end()) return Duration::zero();
  fill(it->second, kNamespace, clock_->mono_now());
  return owed(it->second, kNamespace);
}

void NamespaceBudget::charge(const std::string& ns, Duration took) {
  if (clock_ == nullptr) return;
  const MonoTime now = clock_->mono_now();
  if (namespaces_.size() >= kMaxNamespaces && !namespaces_.contains(ns)) {
    for (auto it = namespaces_.begin(); it != namespaces_.end();) {
      fill(it->second, kNamespace, now);
      it = it->second.nanos >= kNamespace.burst ? namespaces_.erase(it) : std::next(it);
    }
    if (namespaces_.size() >= kMaxNamespaces) namespaces_.clear();
  }
  auto [it, fresh] = namespaces_.try_emplace(ns, Bucket{kNamespace.burst, now});
  fill(it->second, kNamespace, now);
  fill(all_, kAll, now);
  it->second.nanos -= static_cast<double>(took.count());
  all_.nanos -= static_cast<double>(took.count());
}

}  // namespace dra::allocator
