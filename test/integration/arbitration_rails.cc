// ArbitrationModel: groups whose members must be on the same rails. A group has members with one device, with two, or
// with either; joiners and replacements come at any moment.
#include <algorithm>

#include "pkg/alignment/alignment.h"
#include "pkg/alignment/rail_values.h"
#include "pkg/base/timestamp.h"
#include "pkg/protocol/groups.h"
#include "pkg/protocol/proof.h"
#include "test/integration/arbitration_model.h"
#include "test/integration/arbitration_writer.h"
#include "test/support/objects.h"

namespace dra::integration {

void ArbitrationModel::add_rail_group() {
  if (pods_.objects.size() + 2 > options_.pods) return;
  RailGroup group;
  group.job = "j" + std::to_string(next_pod_++);
  group.mixed = random_.below(2) == 0;
  group.devices = 1 + static_cast<int64_t>(random_.below(2));
  group.to_bind = draw_to_bind();
  RailGroup& made = rail_groups_[group.job + "-uid"] = group;
  ++stats_.groups;
  for (size_t i = 0; i < made.min; ++i) add_rail_member(made);
}

void ArbitrationModel::add_rail_member(RailGroup& group) {
  const std::string name = group.job + "-" + std::to_string(group.next++);
  auto pod = std::make_shared<api::Pod>();
  pod->metadata.ns = "d";
  pod->metadata.name = name;
  pod->metadata.uid = name + "-uid";
  pod->metadata.creation_timestamp = format_rfc3339(clock_.wall_now());
  if (group.to_bind)
    pod->scheduler_name = kSchedulerName;
  else
    pod->scheduling_gates = {std::string(allocation::kAllocationGate)};
  pod->metadata.owner_references.push_back({"batch/v1", "Job", group.job, group.job + "-uid", true});
  pod->metadata.annotations[std::string(protocol::kGroupAnnotation)] = std::to_string(group.min);
  pod->metadata.annotations[std::string(alignment::kRailsAnnotation)] = "e0/gpu by rail.test/rail";
  const std::string claim = name + "-c0";
  pod->resource_claims.push_back({"e0", claim, std::nullopt});
  auto object = std::make_shared<api::ResourceClaim>();
  object->metadata.ns = "d";
  object->metadata.name = claim;
  object->metadata.uid = claim + "-uid" + std::to_string(++next_claim_);
  // Mostly those that come first have one device and those that join two: these fit the first, and not each other.
  const bool joins = group.next > group.min;
  const int64_t of_mixed = (random_.below(4) == 0) == joins ? 1 : 2;
  const int64_t devices = group.mixed ? of_mixed : group.devices;
  object->spec.requests = {test::exactly("gpu", "gpu", devices)};
  object->metadata.managed_fields = {{"kubectl", "Update", ""}};
  put<api::ResourceClaim>(claims_, "d/" + claim, object);
  ever_[group.job + "-uid"].insert(pod->metadata.key());
  put<api::Pod>(pods_, pod->metadata.key(), pod);
}

// Later members, or replacements of those that are gone.
void ArbitrationModel::add_joiner() {
  if (pods_.objects.size() >= options_.pods) return;
  std::set<std::string> alive;
  for (const auto& [key, pod] : pods_.objects)
    if (const api::OwnerReference* owner = pod->metadata.controller()) alive.insert(owner->uid);
  if (alive.empty()) return add_rail_group();
  auto which = alive.begin();
  std::advance(which, static_cast<long>(random_.below(alive.size())));
  for (size_t count = 1 + random_.below(2); count > 0 && pods_.objects.size() < options_.pods; --count) {
    ++stats_.joiners;
    add_rail_member(rail_groups_.at(*which));
  }
}

// When a member with two devices ends, members with one may be left on different rails, as they may be: each was on one
// of its two. So they are compared only while one with two is marked, or where nobody ever has two.
void ArbitrationModel::check_rails(const api::ResourceClaim& proven) {
  const auto own = pods_.objects.find(proven.metadata.key().substr(0, proven.metadata.key().rfind('-')));
  if (own == pods_.objects.end() || own->second->metadata.controller() == nullptr) return;
  const std::string& uid = own->second->metadata.controller()->uid;
  const auto group = rail_groups_.find(uid);
  if (group == rail_groups_.end()) return;
  std::vector<alignment::MemberRails> members;
  std::string text;
  size_t most = 0;
  for (const auto& [key, pod] : pods_.objects) {
    if (pod->metadata.controller() == nullptr || pod->metadata.controller()->uid != uid) continue;
    const auto claim = claims_.objects.find(key + "-c0");
    if (claim == claims_.objects.end() || !protocol::is_proven(*claim->second)) continue;
    alignment::MemberRails& devices = members.emplace_back();
    text += (text.empty() ? "" : ", ") + key;
    for (const auto& result : claim->second->status.allocation->results) {
      devices.push_back({result.device});  // devices of one name are on one rail
      text += " " + result.device;
    }
    most = std::max(most, devices.size());
  }
  if (group->second.mixed && most < 2) return;
  if (alignment::agree(members) != alignment::Agreement::kAgree)
    violations_.push_back("members are marked on different rails: " + text);
}

}  // namespace dra::integration
