// CandidateMatrix: which devices of a node are candidates of which request. One column a device, one row of bits a
// filter of the plan, beside the counters that limit the devices.
//
// Every pool of the node's view starts at a multiple of 64, so that its bit sets can be copied word by word. A device's
// column ("local") follows upstream's order; smaller numbers are tried first.
#pragma once

#include <cstdint>
#include <vector>

#include "pkg/allocator/plan/columns.h"
#include "pkg/allocator/plan/plan.h"
#include "pkg/inventory/device_index.h"

namespace dra::allocator {

struct MatrixSegment {
  const inventory::Pool* pool = nullptr;
  uint32_t first_word = 0;
  uint32_t words = 0;
  uint32_t first_counter = 0;  // first of its counters among all counters of the matrix
};

class CandidateMatrix {
 public:
  CandidateMatrix(inventory::DeviceIndex& device_index, Filters& filters)
      : device_index_(device_index), filters_(filters) {}

  // Lays out the node's pools for the plan. Costs a few words per pool and filter if the masks exist. False: the slice
  // ended before they were made.
  bool lay_out(const Plan& plan, inventory::NodeId node);

  size_t words() const { return words_; }
  uint32_t counters() const { return counters_; }
  const std::vector<MatrixSegment>& segments() const { return segments_; }
  const MatrixSegment& segment_of(uint32_t local) const { return segments_[word_segment_[local >> 6]]; }
  // The device of this name that the node can use, by its number in the pool; kNone if there is none.
  uint32_t find_here(const MatrixSegment& segment, inventory::StrId name) const;
  uint32_t device_of(const MatrixSegment& segment, uint32_t local) const { return local - segment.first_word * 64; }
  const inventory::NodeView& view() const { return *view_; }
  inventory::NodeId node() const { return node_; }

  // By filter slot of the plan.
  // Usable and, except for admin access, available now.
  uint64_t* candidates(uint32_t slot) { return candidates_.data() + slot * words_; }
  const uint64_t* candidates(uint32_t slot) const { return candidates_.data() + slot * words_; }
  // As if every device were free (for admin access).
  const uint64_t* usable(uint32_t slot) const { return usable_.data() + slot * words_; }
  // The devices that mode All means (only laid out if the plan needs them).
  const uint64_t* selectable(uint32_t slot) const { return selectable_.data() + slot * words_; }
  // Devices on which a selector failed (only if any did).
  const uint64_t* failed(uint32_t slot) const { return failed_.data() + slot * words_; }
  bool any_failed() const { return any_failed_; }
  bool slot_failed(uint32_t slot) const { return any_failed_ && inventory::count_bits(failed(slot), words_) > 0; }

  // The first incomplete pool; null if there is none.
  const inventory::Pool* incomplete() const { return incomplete_; }
  const inventory::Pool* invalid() const { return invalid_; }
  const std::string& invalid_reason() const { return invalid_reason_; }

 private:
  void lay_out_segments();
  bool lay_out_slot(const Plan& plan, size_t slot);
  void clear_segment(const Plan& plan, size_t slot, const MatrixSegment& segment);
  void drop_unshared(FilterId filter, const MatrixSegment& segment, uint64_t* candidates);
  void drop_exhausted(FilterId id, const MatrixSegment& segment, uint64_t* selectable);

  inventory::DeviceIndex& device_index_;
  Filters& filters_;
  const inventory::NodeView* view_ = nullptr;
  inventory::NodeId node_ = 0;
  uint64_t laid_out_ = 0;  // the stamp of the view whose segments these are; 0: none yet
  std::vector<MatrixSegment> segments_;
  std::vector<uint32_t> word_segment_;
  size_t words_ = 0;
  uint32_t counters_ = 0;
  inventory::Words candidates_, usable_, selectable_, failed_;
  bool any_failed_ = false;
  const inventory::Pool* incomplete_ = nullptr;
  const inventory::Pool* invalid_ = nullptr;
  std::string invalid_reason_;
};

}  // namespace dra::allocator
