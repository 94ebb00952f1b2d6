// Session: counts together what members of several kinds want of the same devices, and of the CPU, memory and number of
// pods of their nodes (joint.h).
#include <algorithm>
#include <array>
#include <map>

#include "pkg/gang/search/joint.h"
#include "pkg/gang/search/session.h"
#include "pkg/inventory/device_index.h"

namespace dra::gang {

namespace {

constexpr size_t kMaxThings = 8;
constexpr uint64_t kStepsOfBound = 2'000;  // about a millisecond
constexpr size_t kMaxKindsCounted = 64;
constexpr size_t kMaxDifferentNodes = 4096;

std::array<uint64_t, 3> amounts_of(const Resources& resources) {
  const auto at_least = [](int64_t amount) { return static_cast<uint64_t>(std::max<int64_t>(amount, 0)); };
  return {at_least(resources.cpu_milli), at_least(resources.memory), at_least(resources.pods)};
}

// Devices of one sort: the request without its number. Nothing if the number does not add up: All takes everything, and
// administrative access takes nothing.
std::optional<api::DeviceSubRequest> thing_of(const api::DeviceRequest& request) {
  if (!request.exactly || request.exactly->admin_access) return std::nullopt;
  if (!request.exactly->allocation_mode.empty() && request.exactly->allocation_mode != "ExactCount")
    return std::nullopt;
  api::DeviceSubRequest thing = *request.exactly;
  thing.name.clear();
  thing.count = 1;
  thing.allocation_mode = "ExactCount";
  return thing;
}

std::shared_ptr<const api::ResourceClaim> claim_for(const api::DeviceSubRequest& thing, const std::string& ns) {
  auto claim = std::make_shared<api::ResourceClaim>();
  claim->metadata.ns = ns;
  claim->metadata.name = claim->metadata.uid = "counted";
  claim->spec.requests.push_back({"one", thing, {}});
  return claim;
}

}  // namespace

// How often each kind wants each thing, from its own claims.
void Session::find_things() {
  things_.clear();
  wants_.assign(kinds_.size(), {});
  if (kinds_.size() < 2 || kinds_.size() > kMaxKindsCounted || !node_local_) return;
  for (uint32_t kind = 0; kind < kinds_.size(); ++kind)
    for (const uint32_t claim : table_.claims_of[table_.kinds[kind].members[0]]) {
      if (table_.claims[claim].shared()) continue;
      for (const api::DeviceRequest& request : table_.claims[claim].object->spec.requests) {
        const std::optional<api::DeviceSubRequest> thing = thing_of(request);
        if (!thing) continue;
        auto known = std::find_if(things_.begin(), things_.end(), [&](const Thing& one) { return one.what == *thing; });
        if (known == things_.end()) {
          if (things_.size() == kMaxThings) continue;
          const std::string& ns = table_.claims[claim].object->metadata.ns;
          known = things_.insert(things_.end(), {*thing, claim_for(*thing, ns), {}, false});
        }
        std::vector<uint64_t>& wants = wants_[kind];
        wants.resize(kMaxThings, 0);
        wants[static_cast<size_t>(known - things_.begin())] +=
            static_cast<uint64_t>(std::clamp<int64_t>(request.exactly->count, 1, 1'000));
      }
    }
  for (std::vector<uint64_t>& wants : wants_) wants.resize(things_.size(), 0);
}

// What members take of nodes apart from devices, if Nodes knows; nothing is placed.
void Session::find_resources(Nodes& nodes) {
  takes_.clear();
  left_.clear();
  if (kinds_.size() < 2 || kinds_.size() > kMaxKindsCounted || !node_local_) return;
  std::vector<std::array<uint64_t, 3>> takes;
  for (const Kind& kind : table_.kinds) {
    const std::optional<Resources> one = nodes.takes(kind.members[0]);
    if (!one) return;
    takes.push_back(amounts_of(*one));
  }
  const std::vector<NodeId> all = inventory_.nodes();
  const std::vector<Resources> left = nodes.left(all);
  if (left.size() != all.size()) return;
  takes_ = std::move(takes);
  left_.assign(inventory_.device_index().node_slots(), {});
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i] < left_.size()) left_[all[i]] = amounts_of(left[i]);
}

// False: the slice ended first.
bool Session::count_things() {
  if (things_.empty()) return true;
  const std::vector<NodeId> all = inventory_.nodes();
  for (Thing& thing : things_) {
    if (thing.counted) continue;
    allocator::Request one;
    one.claims.push_back(thing.claim);
    const allocator::FitCounts fits = allocator_.fit_counts(one, all);
    if (!fits.finished) return false;
    thing.has.assign(inventory_.device_index().node_slots(), 0);
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i] < thing.has.size()) thing.has[all[i]] = fits.now[i];
    thing.counted = true;
  }
  return true;
}

void Session::find_most() {
  most_.clear();
  if (things_.empty() && takes_.empty()) return;
  most_.resize(inventory_.device_index().node_slots());
  for (uint32_t kind = 0; kind < kinds_.size(); ++kind)
    for (size_t i = 0; i < kinds_[kind].ids.size(); ++i) {
      std::vector<uint32_t>& here = most_[kinds_[kind].ids[i]];
      if (here.empty()) here.assign(kinds_.size(), 0);
      here[kind] = std::min(kinds_[kind].fits.now[i], static_cast<uint32_t>(table_.kinds[kind].members.size()));
    }
}

// Upper bound on the members that fit into the domain, if their devices are counted together.
uint64_t Session::together(const Domain& domain, uint32_t need) {
  if (most_.empty()) return UINT64_MAX;
  JointCount count;
  for (uint32_t kind = 0; kind < kinds_.size(); ++kind)
    count.kinds.push_back({static_cast<uint32_t>(table_.kinds[kind].members.size()), wants_[kind]});
  for (size_t kind = 0; kind < takes_.size(); ++kind)
    count.kinds[kind].wants.insert(count.kinds[kind].wants.end(), takes_[kind].begin(), takes_[kind].end());
  std::map<std::pair<std::vector<uint32_t>, std::vector<uint64_t>>, uint32_t> alike;
  for (const NodeId node : domain.nodes) {
    const std::vector<uint32_t>& here = most_[node];
    if (std::all_of(here.begin(), here.end(), [](uint32_t members) { return members == 0; })) continue;
    std::vector<uint64_t> has;
    for (const Thing& thing : things_) has.push_back(thing.has[node]);
    if (!takes_.empty()) has.insert(has.end(), left_[node].begin(), left_[node].end());
    // More than all members could take there makes no difference.
    for (size_t thing = 0; thing < has.size(); ++thing) {
      uint64_t most_of_it = 0;
      for (size_t kind = 0; kind < here.size(); ++kind) most_of_it += here[kind] * count.kinds[kind].wants[thing];
      has[thing] = std::min(has[thing], most_of_it);
    }
    ++alike[{here, std::move(has)}];
    if (alike.size() > kMaxDifferentNodes) return UINT64_MAX;
  }
  for (const auto& [what, nodes] : alike) count.nodes.push_back({nodes, what.first, what.second});
  progress_.steps += kStepsOfBound;
  meter_.charge(kStepsOfBound);
  return most_together(count, need);
}

}  // namespace dra::gang
