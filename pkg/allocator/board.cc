#include "pkg/allocator/board.h"

namespace dra::allocator {

using inventory::Pool;
using inventory::PoolState;
using inventory::Segment;

bool Board::lay_out(const Plan& plan, inventory::NodeId node) {
  node_ = node;
  view_ = &device_index_.view(node);
  segments_.clear();
  word_segment_.clear();
  words_ = 0;
  counters_ = 0;
  any_failed_ = false;
  incomplete_ = invalid_ = nullptr;
  for (const Segment& segment : view_->segments) {
    const Pool* pool = device_index_.pool(segment.pool);
    bool stale_only = !segment.mask.empty() &&
                      inventory::next_bit(segment.mask.data(), segment.mask.size(), 0) >= pool->stale_first();
    if (stale_only) {
      // complete as seen from this node
    } else if (pool->state == PoolState::kIncomplete && incomplete_ == nullptr) {
      incomplete_ = pool;
    } else if (pool->state == PoolState::kInvalid && invalid_ == nullptr) {
      invalid_ = pool;
    }
    auto words = static_cast<uint32_t>(pool->words());
    word_segment_.insert(word_segment_.end(), words, static_cast<uint32_t>(segments_.size()));
    segments_.push_back({pool, static_cast<uint32_t>(words_), words, counters_});
    words_ += words;
    counters_ += static_cast<uint32_t>(pool->counters().size());
  }
  size_t slots = plan.filters.size();
  candidates_.resize(slots * words_);
  usable_.resize(slots * words_);
  if (plan.any_all) selectable_.resize(slots * words_);
  failed_.clear();
  for (size_t slot = 0; slot < slots; ++slot)
    if (!lay_out_slot(plan, slot)) return false;
  return true;
}

bool Board::lay_out_slot(const Plan& plan, size_t slot) {
  size_t at = slot * words_;
  filters_.touch(plan.filters[slot]);
  for (size_t s = 0; s < segments_.size(); ++s) {
    const Pool& pool = *segments_[s].pool;
    const FilterMask* made = filters_.mask(plan.filters[slot], pool);
    if (made == nullptr) return false;
    const FilterMask& mask = *made;
    const inventory::Words& here = view_->segments[s].mask;
    const uint64_t* available = pool.available();
    for (uint32_t w = 0; w < segments_[s].words; ++w, ++at) {
      uint64_t on_node = here.empty() ? ~uint64_t{0} : here[w];
      usable_[at] = mask.usable()[w] & on_node;
      candidates_[at] = usable_[at] & available[w];
      if (plan.any_all) selectable_[at] = mask.selectable()[w] & on_node;
    }
    if (plan.any_all && pool.any_shared())
      drop_exhausted(plan.filters[slot], segments_[s], selectable_.data() + slot * words_);
    if (!mask.any_failed) continue;
    if (!any_failed_) failed_.assign(plan.filters.size() * words_, 0);
    any_failed_ = true;
    for (uint32_t w = 0; w < segments_[s].words; ++w)
      failed_[at - segments_[s].words + w] = mask.failed()[w] & (here.empty() ? ~uint64_t{0} : here[w]);
  }
  return true;
}

// Mode All excludes shared devices whose capacity others have used up.
void Board::drop_exhausted(FilterId id, const BoardSegment& segment, uint64_t* selectable) {
  Filter& filter = filters_.get(id);
  for (uint32_t device = 0; device < segment.pool->size(); ++device) {
    const std::vector<inventory::Amount>* held = segment.pool->shared(device);
    uint32_t local = segment.first_word * 64 + device;
    if (held == nullptr || !inventory::test_bit(selectable, local)) continue;
    const inventory::CapacityShape& shape = segment.pool->shape(device);
    const CapacityFit& fit = filters_.fit(filter, shape);
    for (size_t i = 0; i < held->size(); ++i)
      if ((*held)[i] + fit.amounts[i] > shape.entries[i].amount) inventory::clear_bit(selectable, local);
  }
}

}  // namespace dra::allocator
