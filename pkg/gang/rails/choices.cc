#include "pkg/gang/rails/choices.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace dra::gang {

namespace {

constexpr uint64_t kLinesPerStep = 16;
constexpr uint64_t kJudgedPerStep = 4;

// Whether every entry can be given to a device of its own.
bool cover(const std::vector<std::string>& entries, const alignment::MemberRails& devices) {
  std::vector<size_t> owner(devices.size(), SIZE_MAX);
  std::vector<bool> visited;
  const auto place = [&](const auto& self, size_t entry) -> bool {
    for (size_t device = 0; device < devices.size(); ++device) {
      if (visited[device] || !std::binary_search(devices[device].begin(), devices[device].end(), entries[entry]))
        continue;
      visited[device] = true;
      if (owner[device] != SIZE_MAX && !self(self, owner[device])) continue;
      owner[device] = entry;
      return true;
    }
    return false;
  };
  for (size_t entry = 0; entry < entries.size(); ++entry) {
    visited.assign(devices.size(), false);
    if (!place(place, entry)) return false;
  }
  return true;
}

}  // namespace

RailChoices::RailChoices(const GangRequest& request, const Table& table, uint32_t rule, RailSupply& supply)
    : rule_(rule), supply_(supply), min_count_(request.min_count) {
  for (const auto& [name, devices] : request.rails[rule].running) running_.push_back(devices);
  all_placed_ = request.min_count == request.members.size();
  find_needs(request, table);
  find_branches(table);
}

void RailChoices::find_needs(const GangRequest& request, const Table& table) {
  std::map<uint32_t, uint32_t> needed;
  for (const alignment::MemberRails& member : running_) {
    std::map<uint32_t, uint32_t> own;
    for (const alignment::DeviceRails& device : member) {
      for (const std::string& value : device) supply_.number_of(value);
      if (device.size() == 1) ++own[supply_.number_of(device.front())];
    }
    for (const auto& [value, devices] : own) needed[value] = std::max(needed[value], devices);
  }
  for (const auto& [value, devices] : needed) needed_.insert(needed_.end(), devices, value);
  const uint64_t all = request.members.size();
  uint64_t bound = 0;
  for (const RailSupply::KindOffer& kind : supply_.kinds()) {
    const uint64_t size = table.kinds[kind.kind].members.size();
    bound += size;
    sizes_.push_back(size);
    need_.push_back(min_count_ - std::min<uint64_t>(min_count_, all - size));
  }
  unbound_ = all - bound;
  std::vector<uint64_t> devices(supply_.values().size(), 0);
  for (const RailSupply::KindOffer& kind : supply_.kinds())
    for (const auto& [line, nodes] : kind.lines)
      for (size_t value = 0; value < line.devices.size(); ++value)
        devices[value] += uint64_t{line.devices[value]} * nodes;
  order_.resize(devices.size());
  std::iota(order_.begin(), order_.end(), 0);
  std::stable_sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) { return devices[a] > devices[b]; });
}

void RailChoices::find_branches(const Table& table) {
  size_t running = 0;
  for (const alignment::MemberRails& member : running_) running = std::max(running, member.size());
  std::set<uint32_t, std::greater<>> lengths;
  if (running > 0) lengths.insert(static_cast<uint32_t>(running));
  for (const RailSupply::KindOffer& kind : supply_.kinds())
    for (uint32_t length = std::max<uint32_t>({kind.devices.least, static_cast<uint32_t>(running), 1});
         length <= kind.devices.most; ++length)
      lengths.insert(length);
  for (const uint32_t length : lengths) {
    bool possible = true;
    for (size_t k = 0; k < supply_.kinds().size(); ++k)
      possible = possible && (supply_.kinds()[k].devices.least <= length || need_[k] == 0);
    if (!possible || length < needed_.size()) continue;
    if (length == running)
      branches_.push_back({length, std::nullopt, std::nullopt});
    else
      add_branches(length, table);
  }
  // Without a member that the rule binds: nothing fits an empty list.
  if (running == 0 && unbound_ > 0) branches_.push_back({0, std::nullopt, std::nullopt});
}

// No running member has so many devices: somebody who is placed must.
void RailChoices::add_branches(uint32_t length, const Table& table) {
  const std::vector<RailSupply::KindOffer>& kinds = supply_.kinds();
  bool anyway = false;
  bool nobody_less = unbound_ == 0 && min_count_ > 0;
  for (size_t k = 0; k < kinds.size(); ++k) {
    anyway = anyway || (kinds[k].devices.least == length && need_[k] > 0);
    nobody_less = nobody_less && kinds[k].devices.least >= length;
  }
  if (anyway || nobody_less) return branches_.push_back({length, std::nullopt, std::nullopt});
  for (size_t k = 0; k < kinds.size(); ++k)
    if (kinds[k].devices.least <= length && length <= kinds[k].devices.most)
      branches_.push_back({length, table.kinds[kinds[k].kind].members[0], k});
}

void RailChoices::begin_branch() {
  begun_ = true;
  sequence_.clear();
  entries_of_.assign(supply_.values().size(), 0);
  for (const uint32_t value : needed_) ++entries_of_[value];
}

bool RailChoices::advance() {
  const size_t more = branches_[branch_].length - needed_.size();
  if (!begun_) {
    begin_branch();
    return true;
  }
  if (!pruned_ && sequence_.size() < more && !order_.empty()) {
    sequence_.push_back(sequence_.empty() ? 0 : sequence_.back());
    ++entries_of_[order_[sequence_.back()]];
    return true;
  }
  while (!sequence_.empty()) {
    --entries_of_[order_[sequence_.back()]];
    if (++sequence_.back() < order_.size()) {
      ++entries_of_[order_[sequence_.back()]];
      return true;
    }
    sequence_.pop_back();
  }
  return false;
}

std::vector<std::string> RailChoices::entries() const {
  std::vector<std::string> out;
  for (const auto& [value, entries] : wanted_) out.insert(out.end(), entries, supply_.values()[value]);
  std::sort(out.begin(), out.end());
  return out;
}

bool RailChoices::fits_running(bool complete) const {
  if (running_.empty()) return true;
  const std::vector<std::string> entries = this->entries();
  return std::all_of(running_.begin(), running_.end(), [&](const alignment::MemberRails& member) {
    if (member.size() == branches_[branch_].length && !cover(entries, member)) return false;
    return !complete || alignment::stands(member, entries);
  });
}

// An upper bound of the kind's members that the entries allow.
uint64_t RailChoices::count_of(size_t k, bool complete) const {
  const RailSupply::KindOffer& kind = supply_.kinds()[k];
  const uint32_t length = branches_[branch_].length;
  if (kind.devices.least > length) return 0;
  if (kind.devices.least == length) return std::min(sizes_[k], supply_.with_all(kind, wanted_));
  return complete ? std::min(sizes_[k], supply_.with_some(kind, wanted_)) : sizes_[k];
}

bool RailChoices::judge() {
  ++judged_;
  const Branch& branch = branches_[branch_];
  const bool complete = needed_.size() + sequence_.size() == branch.length;
  wanted_.clear();
  for (uint32_t value = 0; value < entries_of_.size(); ++value)
    if (entries_of_[value] > 0) wanted_.emplace_back(value, entries_of_[value]);
  if (!fits_running(complete)) return false;
  uint64_t sum = unbound_;
  bool enough = true;
  for (size_t k = 0; k < sizes_.size(); ++k) {
    const uint64_t count = count_of(k, complete);
    enough = enough && count >= need_[k];
    sum += count;
  }
  enough = enough && sum >= min_count_;
  if (branch.longest_kind && supply_.with_all(supply_.kinds()[*branch.longest_kind], wanted_) == 0) enough = false;
  if (!complete) return enough;
  if (!enough && (sum > best_count_ || best_entries_.empty())) {
    best_count_ = sum;
    best_entries_ = entries();
  }
  if (!enough) return false;
  Found& found = batch_.emplace_back();
  found.count = sum;
  found.list = {rule_, false, entries(), branch.longest};
  return true;
}

void RailChoices::charge(allocator::Meter& meter) {
  const uint64_t work = supply_.work() / kLinesPerStep + judged_ / kJudgedPerStep;
  meter.charge(work - charged_);
  charged_ = work;
}

RailChoices::Step RailChoices::next(RailList& out, allocator::Meter& meter) {
  constexpr uint64_t kLookEvery = 16;
  bool stopped = false;
  const auto is_full = [this] {
    return batch_.size() == kBatch || branch_ == branches_.size() || (!batch_.empty() && judged_ >= batch_ends_);
  };
  while (!is_full() && !stopped) {
    if (!advance()) {
      ++branch_;
      begun_ = pruned_ = false;
      continue;
    }
    pruned_ = !judge();
    if (judged_ % kLookEvery != 0) continue;
    charge(meter);
    stopped = meter.stopped();
  }
  charge(meter);
  // A batch is filled over several slices: which list is tried first must not depend on how long a slice was.
  if (!is_full()) return Step::kStopped;
  if (batch_.empty()) return Step::kNone;
  batch_ends_ = judged_ + kJudgedABatch;
  std::stable_sort(batch_.begin(), batch_.end(), [](const Found& a, const Found& b) { return a.count < b.count; });
  out = std::move(batch_.back().list);
  batch_.pop_back();
  return Step::kList;
}

}  // namespace dra::gang
