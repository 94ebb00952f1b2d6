#include "test/integration/arbitration_model.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/base/timestamp.h"
#include "pkg/protocol/group_claims.h"
#include "pkg/protocol/groups.h"
#include "pkg/protocol/leaving.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/proof.h"
#include "pkg/protocol/users.h"
#include "pkg/protocol/writes.h"
#include "test/integration/arbitration_writer.h"
#include "test/support/objects.h"

namespace dra::integration {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

constexpr const char* kRailAttribute = "rail.test/rail";
constexpr const char* kModelDriver = "gpu.example.com";
constexpr size_t kLogLimit = 400;  // a watch that lags by more must list again

std::shared_ptr<const api::Node> make_node(const std::string& name) {
  auto node = std::make_shared<api::Node>();
  node->metadata.name = name;
  node->metadata.uid = name;
  node->allocatable = {{"cpu", "64"}, {"memory", "256Gi"}, {"pods", "110"}};
  return node;
}

std::shared_ptr<api::ResourceClaim> make_claim(const std::string& name, uint64_t instance, int64_t count) {
  auto claim = std::make_shared<api::ResourceClaim>();
  claim->metadata.ns = "d";
  claim->metadata.name = name;
  claim->metadata.uid = name + "-uid" + std::to_string(instance);
  claim->spec.requests = {test::exactly("gpu", "gpu", count)};
  claim->metadata.managed_fields = {{"kubectl", "Update", ""}};
  return claim;
}

Error conflict() {
  return {Code::kConflict, 409, "Conflict", "the object has been modified"};
}
Error not_found() {
  return {Code::kNotFound, 404, "NotFound", "not found"};
}

// The list of users as it is, with those leaving that `wanted`, made from an older list, shows as having left.
std::string left_now(const api::ResourceClaim& claim, const Json& wanted) {
  api::ResourceClaim other = claim;
  other.metadata.annotations[std::string(protocol::kProvenForAnnotation)] =
      wanted.is_string() ? wanted.get<std::string>() : "";
  std::vector<protocol::User> users = protocol::users_of(claim);
  for (protocol::User& user : users) user.left = user.left || protocol::has_left(other, user.uid);
  return protocol::users_value(users).value_or("");
}

std::vector<std::string> devices_in(const api::ResourceClaim& claim) {
  std::vector<std::string> list;
  if (claim.status.allocation)
    for (const auto& result : claim.status.allocation->results) list.push_back(result.pool + "/" + result.device);
  return list;
}

}  // namespace

ArbitrationModel::ArbitrationModel(ArbitrationOptions options)
    : options_(options), random_(options.seed), reactor_(clock_) {
  class_.metadata.name = "gpu";
  for (size_t i = 0; i < options_.nodes; ++i) {
    nodes_.push_back(make_node("n" + std::to_string(i)));
    slices_.push_back(test::local_slice(kModelDriver, "n" + std::to_string(i), "gpu-", options_.devices));
    for (size_t d = 0; options_.rails && d < options_.devices; ++d)
      slices_.back().devices[d].attributes[kRailAttribute] = static_cast<int64_t>(d);
  }
  for (size_t i = 0; i < options_.writers; ++i) writers_.push_back(std::make_unique<ModelWriter>(*this));
  run_idle();
}

ArbitrationModel::~ArbitrationModel() {
  writers_.clear();
}

void ArbitrationModel::run_idle() {
  reactor_.run_until_idle();
}

// ---- the server

template <typename T>
void ArbitrationModel::put(Table<T>& table, const std::string& key, std::shared_ptr<const T> object) {
  auto& place = table.objects[key];
  table.log.push_back({++revision_, place, object});
  if (object) {
    auto stamped = std::make_shared<T>(*object);
    stamped->metadata.resource_version = std::to_string(revision_);
    table.log.back().after = stamped;
    place = stamped;
  } else {
    table.objects.erase(key);
  }
  while (table.log.size() > kLogLimit) {
    table.floor = table.log.front().revision;
    table.log.pop_front();
  }
}

ArbitrationModel::Applied ArbitrationModel::apply(const reconcile::Write& write, uint64_t seen) {
  const Applied applied =
      write.object.kind == reconcile::Kind::kPod ? apply_to_pod(write) : apply_to_claim(write, seen);
  if (!applied.answer) ++stats_.conflicts;
  return applied;
}

ArbitrationModel::Applied ArbitrationModel::apply_to_claim(const reconcile::Write& write, uint64_t seen) {
  const std::string key = write.object.store_key();
  const auto found = claims_.objects.find(key);
  if (found == claims_.objects.end() || found->second->metadata.uid != write.object.uid)
    return {fail(not_found()), nullptr, nullptr};
  const bool any_version = options_.without == Without::kExactVersion && write.purpose == "unlist-unbound";
  if (!any_version && !write.resource_version.empty() &&
      found->second->metadata.resource_version != write.resource_version)
    return {fail(conflict()), nullptr, nullptr};
  auto claim = std::make_shared<api::ResourceClaim>(*found->second);
  reconcile::Write built = write;
  protocol::build_body(built);
  const Json body = Json::parse(built.body);
  const Json status = body.value("status", Json::object());
  if (status.contains("allocation")) {
    auto& managed = claim->metadata.managed_fields;
    managed = {{"kubectl", "Update", ""}};
    if (write.assume) {
      ++stats_.allocations;
      claim->status.allocation = write.assume;
      managed.push_back({std::string(protocol::kAllocationManager), "Update", "status"});
    } else {
      if (write.purpose == "withdraw") ++stats_.withdrawals;
      const auto users = protocol::users_of(*claim);  // the lifecycle controller frees such claims too
      if (std::any_of(users.begin(), users.end(), [](const auto& user) { return user.left; })) ++stats_.left_unbound;
      freed(*claim, write.purpose, seen);
      claim->status.allocation.reset();
    }
  }
  if (status.contains("reservedFor")) {
    claim->status.reserved_for.clear();
    if (status["reservedFor"].is_array())
      for (const Json& consumer : status["reservedFor"])
        claim->status.reserved_for.push_back({consumer.value("apiGroup", ""), consumer.value("resource", ""),
                                              consumer.value("name", ""), consumer.value("uid", "")});
  }
  const Json metadata = body.value("metadata", Json::object());
  if (metadata.contains("finalizers")) {
    claim->metadata.finalizers.clear();
    if (metadata["finalizers"].is_array())
      claim->metadata.finalizers = metadata["finalizers"].get<std::vector<std::string>>();
  }
  const Json annotations = metadata.value("annotations", Json::object());
  for (const auto& [name, value] : annotations.items()) {
    if (any_version)
      claim->metadata.annotations[name] = left_now(*claim, value);
    else if (value.is_null())
      claim->metadata.annotations.erase(name);
    else
      claim->metadata.annotations[name] = value.get<std::string>();
  }
  if (write.purpose == "prove") ++stats_.proofs;
  if (write.purpose == "leave" || write.purpose == "leave-unbound") ++stats_.left;
  if (write.purpose == "enlist") ++stats_.enlisted;
  if (write.purpose.starts_with("unlist")) ++stats_.unlisted;
  if (write.purpose == "prove") note_marks(*claim);
  const bool gone = claim->metadata.deleting() && claim->metadata.finalizers.empty();
  put<api::ResourceClaim>(claims_, key, gone ? nullptr : claim);
  if (options_.rails && write.purpose == "prove" && !gone) check_rails(*claim);
  for (const auto& consumer : claim->status.reserved_for) {
    const auto pod = pods_.objects.find("d/" + consumer.name);
    if (pod != pods_.objects.end() && has_started(*pod->second)) use(*pod->second, *claim);
  }
  for (const auto& [name, pod] : pods_.objects)
    if (!pod->pod_group_name.empty() && claim->status.allocation && has_started(*pod) && may_use(*pod, *claim))
      use(*pod, *claim);
  return {revision_, gone ? nullptr : claims_.objects.at(key), nullptr};
}

ArbitrationModel::Applied ArbitrationModel::apply_to_pod(const reconcile::Write& write) {
  const std::string key = write.object.store_key();
  const auto found = pods_.objects.find(key);
  if (found == pods_.objects.end() || found->second->metadata.uid != write.object.uid)
    return {fail(not_found()), nullptr, nullptr};
  const bool any_version = write.subresource == "binding" && options_.without == Without::kVersion;
  if (!any_version && !write.resource_version.empty() &&
      found->second->metadata.resource_version != write.resource_version)
    return {fail(conflict()), nullptr, nullptr};
  if (write.subresource == "binding") return bind(write);
  auto pod = std::make_shared<api::Pod>(*found->second);
  const Json body = Json::parse(write.body);
  const Json annotations = body["metadata"].value("annotations", Json::object());
  for (const auto& [name, value] : annotations.items()) {
    if (value.is_null())
      pod->metadata.annotations.erase(name);
    else
      pod->metadata.annotations[name] = value.get<std::string>();
  }
  if (body.contains("spec") && body["spec"].value("schedulingGates", Json()).is_null() &&
      !pod->scheduling_gates.empty()) {
    pod->scheduling_gates.clear();
    ++stats_.released;
    check_group(*pod);
    lift_gate(*pod);
  }
  put<api::Pod>(pods_, key, pod);
  return {revision_, nullptr, pods_.objects.at(key)};
}

// A Binding of ours: it rests on every claim of the pod.
ArbitrationModel::Applied ArbitrationModel::bind(const reconcile::Write& write) {
  auto pod = std::make_shared<api::Pod>(*pods_.objects.at(write.object.store_key()));
  if (!pod->node_name.empty() || !pod->scheduling_gates.empty()) return {fail(conflict()), nullptr, nullptr};
  pod->node_name = Json::parse(write.body)["target"]["name"].get<std::string>();
  ++stats_.bindings;
  check_group(*pod);
  lift_gate(*pod);
  put<api::Pod>(pods_, pod->metadata.key(), pod);
  return {0, nullptr, nullptr};  // the answer is not a pod
}

// A person, or a manager that names no version. kubelet may read the claims right after it.
void ArbitrationModel::bind_by_others(bool only_leaving) {
  std::vector<std::shared_ptr<const api::Pod>> able;
  for (const auto& [key, pod] : pods_.objects) {
    if (!is_to_bind(*pod) || has_started(*pod)) continue;
    if (only_leaving && !pod->metadata.annotations.contains(protocol::kLeavingAnnotation)) continue;
    const std::vector<std::string> own = protocol::claim_keys_of(*pod);
    const auto lists_it = [&, uid = pod->metadata.uid](const std::string& name) {
      const auto claim = claims_.objects.find(name);
      if (claim == claims_.objects.end() || !claim->second->status.allocation) return false;
      return protocol::is_proven(*claim->second) &&
             (protocol::is_user(*claim->second, uid) || protocol::has_left(*claim->second, uid));
    };
    if (std::all_of(own.begin(), own.end(), lists_it)) able.push_back(pod);
  }
  if (able.empty()) return;
  auto pod = std::make_shared<api::Pod>(*able[random_.below(able.size())]);
  const std::vector<std::string> own = protocol::claim_keys_of(*pod);
  pod->node_name = claims_.objects.at(own.front())->status.allocation->results.front().pool;
  ++stats_.foreign_bindings;
  if (const api::OwnerReference* owner = pod->metadata.controller()) launched_.insert(owner->uid);
  for (const std::string& name : own)
    if (const auto& claim = claims_.objects.at(name); protocol::is_reserved_for(*claim, pod->metadata.uid))
      use(*pod, *claim);
  put<api::Pod>(pods_, pod->metadata.key(), pod);
}

// The pod was ungated: from now on, until its object is gone, it may use what its claims say.
void ArbitrationModel::lift_gate(const api::Pod& pod) {
  for (const std::string& key : protocol::claim_keys_of(pod)) {
    const auto claim = claims_.objects.find(key);
    // kube-scheduler's Unreserve of another pod took the group's reservation away meanwhile. It is made again, and the
    // list of users keeps the allocation until then.
    if (claim != claims_.objects.end() && claim->second->status.allocation && unreserved_.contains(key) &&
        protocol::is_user(*claim->second, pod.metadata.uid)) {
      ungated_with_[claim->second->metadata.uid].insert(pod.metadata.key());
      continue;
    }
    if (claim == claims_.objects.end() || !claim->second->status.allocation || !may_use(pod, *claim->second)) {
      violations_.push_back("pod " + pod.metadata.key() + " was launched without its claim " + key);
      continue;
    }
    use(pod, *claim->second);
  }
}

void ArbitrationModel::use(const api::Pod& pod, const api::ResourceClaim& claim) {
  const std::string key = claim.metadata.key();
  ungated_with_[claim.metadata.uid].insert(pod.metadata.key());
  for (const std::string& device : devices_in(claim)) {
    auto& users = used_[device];
    for (const auto& [other_claim, user] : users)
      if (other_claim != key)
        violations_.push_back("device " + device + " is used by " + user + " and " + pod.metadata.key());
    users.emplace(key, pod.metadata.key());
  }
}

void ArbitrationModel::stop_using(const api::ResourceClaim& claim, const std::string& pod) {
  for (const std::string& device : devices_in(claim)) used_[device].erase({claim.metadata.key(), pod});
}

// A writer removes the allocation.
void ArbitrationModel::freed(const api::ResourceClaim& claim, const std::string& by, uint64_t seen) {
  for (const std::string& pod : ungated_with_[claim.metadata.uid]) {
    if (is_bound_unseen(pod, seen)) {
      ++stats_.unseen;
      stop_using(claim, pod);
      continue;
    }
    violations_.push_back("claim " + claim.metadata.key() + " was taken from " + pod +
                          ", which was launched with it, by " + by);
  }
  ungated_with_.erase(claim.metadata.uid);
}

bool ArbitrationModel::has_user(const api::ResourceClaim& claim) const {
  const auto known = ungated_with_.find(claim.metadata.uid);
  return known != ungated_with_.end() && !known->second.empty();
}

// Somebody else bound such a pod. Until it ends kubelet may have started it, whatever the claim says.
bool ArbitrationModel::is_named_by_bound(const std::string& claim) const {
  return std::any_of(pods_.objects.begin(), pods_.objects.end(), [&](const auto& known) {
    const std::vector<std::string> own = protocol::claim_keys_of(*known.second);
    return is_to_bind(*known.second) && has_started(*known.second) &&
           std::find(own.begin(), own.end(), claim) != own.end();
  });
}

// kube-scheduler's Unreserve: binding failed, and the pod is taken out of reservedFor without a precondition. An
// unbound pod does not run; a binding that timed out may have happened.
void ArbitrationModel::unreserve() {
  std::vector<std::shared_ptr<const api::Pod>> released;
  for (const auto& [key, pod] : pods_.objects)
    if (!is_to_bind(*pod) && !is_stock(*pod) && has_started(*pod)) released.push_back(pod);
  if (released.empty()) return;
  const auto pod = released[random_.below(released.size())];
  for (const std::string& key : protocol::claim_keys_of(*pod)) {
    const auto claim = claims_.objects.find(key);
    if (claim != claims_.objects.end())
      if (auto stripped = std::make_shared<api::ResourceClaim>(*claim->second); unreserve_group(*stripped, *pod)) {
        put<api::ResourceClaim>(claims_, key, stripped);
        ++stats_.unreserved;
        continue;
      }
    if (claim == claims_.objects.end() || !protocol::is_reserved_for(*claim->second, pod->metadata.uid)) continue;
    auto stripped = std::make_shared<api::ResourceClaim>(*claim->second);
    std::erase_if(stripped->status.reserved_for, [&](const auto& c) { return c.uid == pod->metadata.uid; });
    put<api::ResourceClaim>(claims_, key, stripped);
    if (pod->node_name.empty()) stop_using(*stripped, pod->metadata.key());
    ++stats_.unreserved;
  }
}

// One change of the metadata of one of the tenant's claims, without a precondition.
void ArbitrationModel::forge() {
  std::vector<std::shared_ptr<const api::ResourceClaim>> own, unproven;
  for (const auto& [key, claim] : claims_.objects) {
    if (!claim->metadata.name.starts_with("t") || claim->metadata.deleting()) continue;
    own.push_back(claim);
    if (claim->status.allocation && !protocol::is_proven(*claim)) unproven.push_back(claim);
  }
  if (own.empty()) return;
  // Few are allocated and not proven at a time: it looks for them.
  if (options_.forger == Forger::kMarks && !unproven.empty() && random_.below(2) == 0) own = std::move(unproven);
  auto claim = std::make_shared<api::ResourceClaim>(*own[random_.below(own.size())]);
  const bool proven = protocol::is_proven(*claim);
  const std::string pod_uid = claim->metadata.name.substr(0, claim->metadata.name.find('-')) + "-uid";
  auto& annotations = claim->metadata.annotations;
  const std::string mark(protocol::kProofAnnotation), users(protocol::kProvenForAnnotation);
  uint64_t what = options_.forger == Forger::kUsers ? 0 : 1 + random_.below(6);
  if (options_.forger == Forger::kMarks && proven && what <= 2) what = 3;  // a valid mark is left alone
  if (options_.forger == Forger::kTakesMarks && proven) what = 2;          // here it is taken as soon as it is seen
  switch (what) {
    case 0:
      annotations[users] = "nobody/nobody-uid";
      break;
    case 1:
      annotations[mark] = pod_uid + "/0000000000000000";
      break;
    case 2:
      annotations.erase(mark);
      break;
    default:  // what the manager would write, before the manager does
      if (!claim->status.allocation) return;
      annotations[mark] =
          protocol::proof_value(random_.below(4) == 0 ? "other-uid" : pod_uid, *claim->status.allocation);
      annotations[users] = claim->metadata.name.substr(0, claim->metadata.name.find('-')) + "/" + pod_uid;
      if (!claim->metadata.has_finalizer(api::kDeleteProtectionFinalizer))
        claim->metadata.finalizers.emplace_back(api::kDeleteProtectionFinalizer);
      stats_.forged_early += proven ? 0 : 1;
  }
  ++stats_.forged;
  put<api::ResourceClaim>(claims_, claim->metadata.key(), claim);
}

void ArbitrationModel::turn_node() {
  auto& node = nodes_[random_.below(nodes_.size())];
  auto turned = std::make_shared<api::Node>(*node);
  turned->unschedulable = !turned->unschedulable;
  node = turned;
}

bool ArbitrationModel::is_cordoned(const std::string& name) const {
  return std::any_of(nodes_.begin(), nodes_.end(),
                     [&](const auto& node) { return node->metadata.name == name && node->unschedulable; });
}

// ---- the world

// A group is the pods of one Job: options_.groups.
void ArbitrationModel::add_group() {
  if (options_.rails) return add_rail_group();
  const size_t size = 2 + random_.below(random_.below(4) == 0 ? 3 : 1);
  if (pods_.objects.size() + size > options_.pods) return;
  const std::string job = "j" + std::to_string(next_pod_++);
  ++stats_.groups;
  const bool to_bind = draw_to_bind();
  for (size_t i = 0; i < size; ++i) {
    const auto pod = make_pod(job + "-" + std::to_string(i), false, to_bind);
    pod->metadata.owner_references.push_back({"batch/v1", "Job", job, job + "-uid", true});
    pod->metadata.annotations[std::string(protocol::kGroupAnnotation)] = std::to_string(size);
    ever_[job + "-uid"].insert(pod->metadata.key());
    put<api::Pod>(pods_, pod->metadata.key(), pod);
  }
}

// The claim was just proven: now all claims of the pods that name it may be proven.
void ArbitrationModel::note_marks(const api::ResourceClaim& claim) {
  for (const auto& [key, pod] : pods_.objects) {
    const std::vector<std::string> own = protocol::claim_keys_of(*pod);
    if (std::find(own.begin(), own.end(), claim.metadata.key()) == own.end()) continue;
    if (std::all_of(own.begin(), own.end(), [&](const std::string& name) {
          if (name == claim.metadata.key()) return protocol::is_proven(claim);
          const auto found = claims_.objects.find(name);
          return found != claims_.objects.end() && protocol::is_proven(*found->second);
        }))
      marked_once_.insert(key);
  }
}

// Called when the pod is ungated.
void ArbitrationModel::check_group(const api::Pod& pod) {
  const api::OwnerReference* owner = pod.metadata.controller();
  if (!owner || !launched_.insert(owner->uid).second) return;
  ++stats_.groups_launched;
  const std::set<std::string>& members = ever_.at(owner->uid);
  const auto marked =
      std::count_if(members.begin(), members.end(), [&](const std::string& key) { return marked_once_.contains(key); });
  const auto rails = rail_groups_.find(owner->uid);
  if (static_cast<size_t>(marked) < (rails == rail_groups_.end() ? members.size() : rails->second.min))
    violations_.push_back("group " + owner->name + " was partly launched: " + std::to_string(marked) + " of " +
                          std::to_string(members.size()) + " members were marked when " + pod.metadata.key() + " went");
}

void ArbitrationModel::add_pod() {
  if (options_.rails && random_.below(2) == 0) return add_joiner();
  if (options_.groups && random_.below(2) == 0) return add_group();
  if (options_.group_claims && random_.below(2) == 0) return add_group_member();
  if (pods_.objects.size() >= options_.pods) return;
  const bool tenants = options_.forger != Forger::kNone && next_pod_ % 2 == 1;
  const std::string name = (tenants ? "t" : "p") + std::to_string(next_pod_++);
  const bool shares = options_.shared > 0 && random_.below(2) == 0;
  const auto pod = make_pod(name, shares, draw_to_bind());
  put<api::Pod>(pods_, "d/" + name, pod);
}

// Also creates its claims.
std::shared_ptr<api::Pod> ArbitrationModel::make_pod(const std::string& name, bool shares, bool to_bind,
                                                     std::optional<size_t> own_claims) {
  auto pod = std::make_shared<api::Pod>();
  pod->metadata.ns = "d";
  pod->metadata.name = name;
  pod->metadata.uid = name + "-uid";
  pod->metadata.creation_timestamp = format_rfc3339(clock_.wall_now());
  if (to_bind)
    pod->scheduler_name = kSchedulerName;
  else
    pod->scheduling_gates = {std::string(allocation::kAllocationGate)};
  if (shares) {
    make_shared_claims();
    pod->resource_claims.push_back({"shared", shared_name(random_.below(options_.shared)), std::nullopt});
  }
  const size_t claims = own_claims ? *own_claims : shares ? random_.below(2) : 1 + random_.below(2);
  for (size_t i = 0; i < claims; ++i) {
    const std::string claim = name + "-c" + std::to_string(i);
    pod->resource_claims.push_back({"e" + std::to_string(i), claim, std::nullopt});
    put<api::ResourceClaim>(claims_, "d/" + claim, make_claim(claim, ++next_claim_, random_.below(4) == 0 ? 2 : 1));
  }
  return pod;
}

void ArbitrationModel::make_shared_claims() {
  for (size_t i = 0; i < options_.shared; ++i)
    if (const std::string name = shared_name(i); !claims_.objects.contains("d/" + name))
      put<api::ResourceClaim>(claims_, "d/" + name, make_claim(name, ++next_claim_, 1));
}

void ArbitrationModel::delete_claim(const std::string& key) {
  const auto claim = claims_.objects.find(key);
  if (claim == claims_.objects.end() || claim->second->metadata.deleting()) return;
  if (claim->second->metadata.finalizers.empty()) return put<api::ResourceClaim>(claims_, key, nullptr);
  auto deleting = std::make_shared<api::ResourceClaim>(*claim->second);
  deleting->metadata.deletion_timestamp = format_rfc3339(clock_.wall_now());
  put<api::ResourceClaim>(claims_, key, deleting);
}

// A pod is deleted by force, and its own claims with it.
void ArbitrationModel::remove_pod() {
  if (pods_.objects.empty()) return;
  auto victim = pods_.objects.begin();
  std::advance(victim, static_cast<long>(random_.below(pods_.objects.size())));
  const auto pod = victim->second;
  // Most pods live until they are bound, and then make room for others.
  if (options_.bind && !has_started(*pod) && random_.below(8) != 0) return;
  const std::string key = pod->metadata.key();
  for (auto& [device, users] : used_) std::erase_if(users, [&](const auto& use) { return use.second == key; });
  for (auto& [claim, users] : ungated_with_) users.erase(key);
  put<api::Pod>(pods_, key, nullptr);
  for (const std::string& claim : protocol::claim_keys_of(*pod))
    if (claim.starts_with(key + "-")) delete_claim(claim);
}

// kube-scheduler: binds an ungated pod where its devices are, reserved or not.
void ArbitrationModel::bind_released() {
  std::vector<std::shared_ptr<api::Pod>> bound;
  for (const auto& [key, pod] : pods_.objects) {
    if (is_to_bind(*pod) || is_stock(*pod) || !pod->scheduling_gates.empty() || !pod->node_name.empty()) continue;
    const auto claim = claims_.objects.find(protocol::claim_keys_of(*pod).front());
    if (claim == claims_.objects.end() || !claim->second->status.allocation) continue;
    const std::string& node = claim->second->status.allocation->results.front().pool;
    if (is_cordoned(node)) continue;
    bound.push_back(std::make_shared<api::Pod>(*pod));
    bound.back()->node_name = node;
  }
  for (auto& pod : bound) put<api::Pod>(pods_, pod->metadata.key(), pod);
}

// The time between a proof and a binding is short: nodes change more often than in the other models, and more happens
// at the worst moments.
void ArbitrationModel::hurry(ModelWriter& writer) {
  switch (random_.below(6)) {
    case 0:
      return turn_node();
    case 1:
      if (options_.foreign_binder) bind_by_others(true);
      return;
    case 2:
    case 3:
      writer.deliver_node();
      return;
    case 4:
      // Of the pods it knows all, of the claims little.
      while (writer.deliver_pod()) continue;
      return;
    default:
      edit_claim();
  }
}

// Somebody changes a claim that a pod is leaving, in a way that matters to nobody. The announcement is void.
void ArbitrationModel::edit_claim() {
  std::vector<std::shared_ptr<const api::ResourceClaim>> left;
  for (const auto& [key, pod] : pods_.objects) {
    if (has_started(*pod) || !pod->metadata.annotations.contains(protocol::kLeavingAnnotation)) continue;
    for (const std::string& name : protocol::claim_keys_of(*pod))
      if (const auto claim = claims_.objects.find(name); claim != claims_.objects.end()) left.push_back(claim->second);
  }
  if (left.empty()) return;
  const auto& claim = left[random_.below(left.size())];
  put<api::ResourceClaim>(claims_, claim->metadata.key(), std::make_shared<api::ResourceClaim>(*claim));
}

void ArbitrationModel::step() {
  ++stats_.steps;
  if (options_.forger != Forger::kNone && random_.below(25) == 0) {
    forge();
    return run_idle();
  }
  const size_t which = random_.below(writers_.size());
  ModelWriter& writer = *writers_[which];
  if (options_.bind && random_.below(20) == 0) {
    hurry(writer);
    return run_idle();
  }
  const uint64_t pick = random_.next();
  const uint64_t dice = random_.below(1000);
  if (options_.group_claims && random_.below(12) == 0) {
    if (options_.stock_members) bind_stock_members();
    end_pod_groups(random_.below(20) == 0);
    if (random_.below(3) == 0) drop_ended_groups();
  }
  if (dice < 5) {
    if (!options_.stock_members) turn_node();
  } else if (dice < 15) {
    writer.deliver_node();
    if (options_.group_claims) writer.deliver_group();
  } else if (dice < 20) {
    unreserve();
  } else if (dice < 22) {
    ++stats_.shared_deletions;
    if (options_.shared > 0) delete_claim("d/" + shared_name(random_.below(options_.shared)));
  } else if (dice < 220) {
    if (!options_.old_view || which > 0 || random_.below(40) == 0) writer.deliver_pod();
  } else if (dice < 480) {
    writer.deliver_claim();
  } else if (dice < 680) {
    const bool lose = options_.bind && random_.below(50) == 0;
    stats_.lost_requests += writer.send_one(pick, lose) && lose ? 1 : 0;
  } else if (dice < 870) {
    const bool lose = random_.below(50) == 0;
    stats_.lost += writer.answer_one(pick, lose) && lose ? 1 : 0;
  } else if (dice < 910) {
    add_pod();
  } else if (dice < 935) {
    remove_pod();
  } else if (dice < 955) {
    bind_released();
    if (options_.foreign_binder && random_.below(12) == 0) bind_by_others(false);
  } else if (dice < 994) {
    reactor_.advance(Duration(random_.below(300'000'000)));
  } else if (dice < 997) {
    ++stats_.relists;
    writer.relist();
  } else {
    ++stats_.crashes;
    writers_[which].reset();
    writers_[which] = std::make_unique<ModelWriter>(*this);
  }
  run_idle();
}

// The truth about whether the pod's claims could all be allocated together on some node. What ungated pods use stays
// where it is.
bool ArbitrationModel::fits(const api::Pod& pod) const {
  inventory::Inventory inventory;
  SeededRandom random(1);
  allocator::Allocator allocator(inventory, {}, random);
  inventory.apply_class(class_);
  std::set<std::string> nodes;
  for (const auto& node : nodes_) {
    inventory.apply_node(node->metadata.name, {});
    nodes.insert(node->metadata.name);
  }
  for (const api::ResourceSlice& slice : slices_) inventory.apply_slice(slice);
  allocator::Request request;
  const std::vector<std::string> own = protocol::claim_keys_of(pod);
  for (const std::string& key : own) {
    const auto claim = claims_.objects.find(key);
    if (claim == claims_.objects.end() || claim->second->metadata.deleting()) return false;
  }
  for (const auto& [key, claim] : claims_.objects) {
    const bool named = std::find(own.begin(), own.end(), key) != own.end();
    if (!named || has_user(*claim)) {
      inventory.apply_claim(*claim);
      if (named)
        std::erase_if(nodes,
                      [&pool = claim->status.allocation->results[0].pool](const auto& node) { return node != pool; });
      continue;
    }
    auto bare = std::make_shared<api::ResourceClaim>(*claim);
    bare->status.allocation.reset();
    request.claims.push_back(bare);
  }
  if (request.claims.empty()) return !nodes.empty();
  std::vector<allocator::NodeId> order;
  for (const std::string& node : nodes) order.push_back(inventory.node_id(node));
  return !order.empty() && allocator.find_nodes(request, order, 1).outcome == allocator::Outcome::kFeasible;
}

// The members' device counts, each on one node; the nodes may differ.
bool ArbitrationModel::group_fits(const std::vector<std::shared_ptr<const api::Pod>>& members) const {
  std::set<std::string> own;
  std::vector<size_t> wants;
  for (const auto& pod : members) {
    size_t devices = 0;
    for (const std::string& key : protocol::claim_keys_of(*pod)) {
      const auto claim = claims_.objects.find(key);
      if (claim == claims_.objects.end() || claim->second->metadata.deleting()) return false;
      devices += static_cast<size_t>(claim->second->spec.requests.front().exactly->count);
      own.insert(key);
    }
    wants.push_back(devices);
  }
  std::map<std::string, size_t> taken;
  for (const auto& [key, claim] : claims_.objects)
    if (!own.contains(key) && claim->status.allocation)
      for (const auto& result : claim->status.allocation->results) ++taken[result.pool];
  std::vector<size_t> room;
  for (const auto& node : nodes_) {
    const size_t held = taken[node->metadata.name];
    room.push_back(options_.devices > held ? options_.devices - held : 0);
  }
  const auto place = [&](const auto& self, size_t member) -> bool {
    if (member == wants.size()) return true;
    for (size_t& free : room) {
      if (free < wants[member]) continue;
      free -= wants[member];
      if (self(self, member + 1)) return true;
      free += wants[member];
    }
    return false;
  };
  return place(place, 0);
}

void ArbitrationModel::check_groups(std::vector<std::string>& findings) const {
  for (const auto& [uid, keys] : ever_) {
    std::vector<std::shared_ptr<const api::Pod>> waiting;
    bool launched = false;
    for (const std::string& key : keys) {
      const auto pod = pods_.objects.find(key);
      if (pod == pods_.objects.end()) continue;
      if (has_started(*pod->second))
        launched = true;
      else
        waiting.push_back(pod->second);
    }
    if (waiting.empty()) continue;
    if (launched) {
      for (const auto& pod : waiting)
        if (!options_.rails && fits(*pod))
          findings.push_back("pod " + pod->metadata.key() + " of a launched group fits and still waits");
      continue;
    }
    for (const auto& pod : waiting)
      for (const std::string& key : protocol::claim_keys_of(*pod)) {
        const auto claim = claims_.objects.find(key);
        if (claim != claims_.objects.end() && claim->second->status.allocation)
          findings.push_back("claim " + key + " is held by a group that waits");
      }
    if (!options_.rails && waiting.size() == keys.size() && group_fits(waiting))
      findings.push_back("group " + uid + " fits and still waits");
  }
}

std::vector<std::string> ArbitrationModel::settle() {
  for (auto& node : nodes_) {
    auto usable = std::make_shared<api::Node>(*node);
    usable->unschedulable = false;
    node = usable;
  }
  for (int round = 0; round < 1200; ++round) {
    bool busy = true;
    for (int i = 0; busy && i < 10'000; ++i) {
      busy = false;
      for (auto& writer : writers_) {
        busy = writer->deliver_node() || busy;
        busy = writer->deliver_group() || busy;
        busy = writer->deliver_pod() || busy;
        busy = writer->deliver_claim() || busy;
        busy = writer->send_one(0, false) || busy;
        busy = writer->answer_one(0, false) || busy;
      }
      run_idle();
    }
    bind_released();
    make_shared_claims();
    if (options_.group_claims) {
      end_pod_groups(false);
      drop_ended_groups();
      make_pod_groups();
    }
    reactor_.advance(500ms);
  }
  std::vector<std::string> findings;
  for (const auto& [key, pod] : pods_.objects) {
    if (is_stock(*pod)) continue;
    if (!has_started(*pod)) {
      if (!pod->metadata.owner_references.empty()) continue;  // check_groups()
      if (fits(*pod)) findings.push_back("pod " + key + " fits and still waits");
      continue;
    }
    for (const std::string& name : protocol::claim_keys_of(*pod)) {
      const auto claim = claims_.objects.find(name);
      // A pod that others bound may have left before, and its node may have no device.
      if (is_to_bind(*pod) && claim != claims_.objects.end() && !claim->second->status.allocation) continue;
      if (claim != claims_.objects.end() && !claim->second->metadata.deleting() && !may_use(*pod, *claim->second))
        findings.push_back("pod " + key + " was launched and lacks its reservation of claim " + name);
    }
  }
  for (const auto& [key, claim] : claims_.objects) {
    if (claim->metadata.deleting() && !has_user(*claim) && !is_named_by_bound(key))
      findings.push_back("claim " + key + " hangs in deletion");
    for (const auto& consumer : claim->status.reserved_for)
      if (protocol::is_group_reference(consumer)) {
        if (!pod_groups_.contains("d/" + consumer.name))
          findings.push_back("claim " + key + " is reserved for a PodGroup that is gone");
      } else if (!pods_.objects.contains("d/" + consumer.name))
        findings.push_back("claim " + key + " is reserved for a pod that is gone");
  }
  check_groups(findings);
  return findings;
}

}  // namespace dra::integration
