#include "pkg/manager/report/fragmentation_gauges.h"

#include <algorithm>
#include <utility>

namespace dra::manager {

FragmentationGauges::FragmentationGauges(metrics::Registry& r, const inventory::Inventory& inventory,
                                         allocator::Allocator& allocator, const Clock& clock)
    : inventory_(inventory),
      allocator_(allocator),
      clock_(clock),
      gauges_(
          r.gauges("dra_class_fragmentation",
                   "[ALPHA] Devices of a DeviceClass: largest, that one node can give now; if_packed, that one node "
                   "could give if all that is held were packed; free, that the free silicon of all nodes could "
                   "serve. As kubectl dra top fragmentation, at most half a minute old.",
                   {"class", "state"})) {}

bool FragmentationGauges::refresh_some() {
  if (!counting_ && !begin()) return true;
  if (class_ == names_.size()) return end(true);
  return count_some();
}

// False: nothing is to be counted now.
bool FragmentationGauges::begin() {
  if (current_ && version_ == inventory_.version()) return false;
  const MonoTime now = clock_.mono_now();
  if (next_ && now < *next_) return false;
  version_ = inventory_.version();
  names_ = inventory_.classes();
  if (names_.size() > kMaxClasses) names_.resize(kMaxClasses);
  drop_others();
  if (names_.empty()) return false;  // not read yet, perhaps: the first one is counted at the next scrape
  next_ = now + kInterval;
  class_ = 0;
  budget_ = kJudgedPerCount;
  next_pool_ = 0;
  counts_.reset();
  counting_ = true;
  return true;
}

void FragmentationGauges::drop_others() {
  const std::set<std::string> known(names_.begin(), names_.end());
  const std::set<std::string> served = served_;
  for (const std::string& name : served)
    if (!known.contains(name)) drop(name);
}

bool FragmentationGauges::count_some() {
  const size_t at = (first_class_ + class_) % names_.size();
  const std::string& name = names_[at];
  if (!counts_) counts_.emplace(inventory_.device_index(), packings_);
  const uint64_t steps = packings_.steps(), before = counts_->work();
  bool all = true;
  const bool judged = allocator_.each_pool_of_class(
      name, next_pool_, budget_, [&](const inventory::Pool& pool, const uint64_t* usable) {
        counts_->add(pool, usable);
        all = counts_->work() - before + packings_.steps() - steps < kWorkOfPiece;
        return all;
      });
  if (judged && !all) return false;
  if (judged) {
    serve(name, counts_->found());
  } else if (budget_ == 0) {  // what is left keeps its figures until the next count
    first_class_ = at;
    return end(false);
  } else {
    drop(name);  // it is gone, or a selector cannot be evaluated
  }
  counts_.reset();
  next_pool_ = 0;
  return ++class_ == names_.size() && end(true);
}

bool FragmentationGauges::end(bool whole) {
  counting_ = false;
  current_ = whole;
  return true;
}

void FragmentationGauges::serve(const std::string& device_class, const usage::ClassFragmentation& found) {
  gauges_.with({device_class, "largest"}).set(found.largest);
  gauges_.with({device_class, "if_packed"}).set(found.if_packed());
  gauges_.with({device_class, "free"}).set(found.free);
  served_.insert(device_class);
}

void FragmentationGauges::drop(const std::string& device_class) {
  if (served_.erase(device_class) == 0) return;
  for (const char* state : {"largest", "if_packed", "free"}) gauges_.remove({device_class, state});
}

}  // namespace dra::manager
