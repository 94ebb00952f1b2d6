#include "pkg/allocator/search/candidate_matrix.h"

#include <algorithm>

namespace dra::allocator {

using inventory::Pool;
using inventory::PoolState;
using inventory::Segment;

namespace {

// The bits of `from` that are on the node; `here` null: all.
void copy_words(const uint64_t* from, const uint64_t* here, uint32_t words, uint64_t* to) {
  for (uint32_t w = 0; w < words; ++w) to[w] = here == nullptr ? from[w] : from[w] & here[w];
}

}  // namespace

bool CandidateMatrix::lay_out(const Plan& plan, inventory::NodeId node) {
  node_ = node;
  view_ = &device_index_.view(node);
  // The stamp changes with the tables of the view's pools, and with them all that lay_out_segments() reads.
  if (view_->stamp != laid_out_) lay_out_segments();
  any_failed_ = false;
  const size_t slots = plan.filters.size();
  candidates_.resize(slots * words_);
  usable_.resize(slots * words_);
  if (plan.any_all) selectable_.resize(slots * words_);
  failed_.clear();
  for (size_t slot = 0; slot < slots; ++slot)
    if (!lay_out_slot(plan, slot)) return false;
  return true;
}

void CandidateMatrix::lay_out_segments() {
  laid_out_ = view_->stamp;
  segments_.clear();
  word_segment_.clear();
  words_ = 0;
  counters_ = 0;
  incomplete_ = invalid_ = nullptr;
  for (const Segment& segment : view_->segments) {
    const Pool* pool = device_index_.pool(segment.pool);
    if (segment.judgement.state == PoolState::kIncomplete && incomplete_ == nullptr) {
      incomplete_ = pool;
    } else if (segment.judgement.state == PoolState::kInvalid && invalid_ == nullptr) {
      invalid_ = pool;
      invalid_reason_ = segment.judgement.reason;
    }
    const auto words = static_cast<uint32_t>(pool->words());
    word_segment_.insert(word_segment_.end(), words, static_cast<uint32_t>(segments_.size()));
    segments_.push_back({pool, static_cast<uint32_t>(words_), words, counters_});
    words_ += words;
    counters_ += static_cast<uint32_t>(pool->counters().size());
  }
}

uint32_t CandidateMatrix::find_here(const MatrixSegment& segment, inventory::StrId name) const {
  const inventory::Words& here = view_->segments[static_cast<size_t>(&segment - segments_.data())].mask;
  uint32_t found = inventory::kNone;
  segment.pool->for_each_named(name, [&](uint32_t device) {
    if (here.empty() || inventory::test_bit(here.data(), device)) found = std::min(found, device);
  });
  return found;
}

// Runs for each filter of each node that is searched: plain loops over plain words.
bool CandidateMatrix::lay_out_slot(const Plan& plan, size_t slot) {
  const FilterId filter = plan.filters[slot];
  const size_t first = slot * words_;
  filters_.touch(filter);
  for (size_t s = 0; s < segments_.size(); ++s) {
    const MatrixSegment& segment = segments_[s];
    if (!view_->segments[s].complete()) {
      clear_segment(plan, slot, segment);
      continue;
    }
    const FilterMask* mask = filters_.mask(filter, *segment.pool);
    if (mask == nullptr) return false;
    const inventory::Words& on_node = view_->segments[s].mask;
    const uint64_t* here = on_node.empty() ? nullptr : on_node.data();
    const uint64_t* free = filters_.available(filter, *segment.pool);
    const uint64_t* good = mask->usable();
    const size_t at = first + segment.first_word;
    uint64_t* usable = usable_.data() + at;
    uint64_t* candidates = candidates_.data() + at;
    for (uint32_t w = 0; w < segment.words; ++w) {
      usable[w] = here == nullptr ? good[w] : good[w] & here[w];
      candidates[w] = usable[w] & free[w];
    }
    if (const auto& ask = filters_.get(filter).ask;
        ask && (segment.pool->any_shared() || (ask->ruled && segment.pool->any_shareable())))
      drop_unshared(filter, segment, candidates);
    if (plan.any_all) {
      copy_words(mask->selectable(), here, segment.words, selectable_.data() + at);
      if (segment.pool->any_shared()) drop_exhausted(filter, segment, selectable_.data() + first);
    }
    if (!mask->any_failed) continue;
    if (!any_failed_) failed_.assign(plan.filters.size() * words_, 0);
    any_failed_ = true;
    copy_words(mask->failed(), here, segment.words, failed_.data() + at);
  }
  return true;
}

// Other nodes may be able to use these devices, this one is not.
void CandidateMatrix::clear_segment(const Plan& plan, size_t slot, const MatrixSegment& segment) {
  const size_t at = slot * words_ + segment.first_word;
  std::fill_n(usable_.data() + at, segment.words, 0);
  std::fill_n(candidates_.data() + at, segment.words, 0);
  if (plan.any_all) std::fill_n(selectable_.data() + at, segment.words, 0);
}

// Devices that others have shares of, and that this request may not share with them.
void CandidateMatrix::drop_unshared(FilterId filter, const MatrixSegment& segment, uint64_t* candidates) {
  for (size_t device = inventory::next_bit(candidates, segment.words, 0); device != SIZE_MAX;
       device = inventory::next_bit(candidates, segment.words, device + 1))
    if (!filters_.may_share(filter, *segment.pool, static_cast<uint32_t>(device)))
      inventory::clear_bit(candidates, device);
}

// Mode All excludes shared devices whose capacity others have used up.
void CandidateMatrix::drop_exhausted(FilterId id, const MatrixSegment& segment, uint64_t* selectable) {
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
