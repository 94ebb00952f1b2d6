#include "pkg/inspect/verbs/whatif.h"

#include <algorithm>
#include <map>
#include <set>

#include "pkg/api/selectors.h"
#include "pkg/base/timestamp.h"
#include "pkg/inspect/state/silicon.h"
#include "pkg/inspect/state/unseen.h"
#include "pkg/inspect/state/volumes.h"
#include "pkg/inspect/verbs/pod_owners.h"
#include "pkg/inspect/verbs/promised.h"
#include "pkg/inspect/verbs/waiting.h"
#include "pkg/placement/storage_facts.h"
#include "pkg/protocol/keep.h"
#include "pkg/protocol/pod_claims.h"

namespace dra::inspect {
namespace {

constexpr size_t kMostExplained = 100;  // refusals put into words: each examines all nodes

using PodPtr = std::shared_ptr<const api::Pod>;

// Edits a copy of the objects and remembers which pods leave.
class Simulation {
 public:
  Simulation(const Objects& objects, std::string ns) : after(objects), ns_(std::move(ns)) {}

  Objects after;
  struct Leaving {
    PodPtr pod;
    std::string successor;  // key of the pod created in its place; empty: none
  };
  std::vector<Leaving> leaving;
  // By kind, namespace and name: of the pods that are created anew.
  std::map<std::tuple<std::string, std::string, std::string>, OwnerToRead> owners;

  Result<void> apply(const Change& change) {
    switch (change.kind) {
      case Change::Kind::kDelete:
        return remove(change.target);
      case Change::Kind::kDrain:
        return drain(change.target);
      case Change::Kind::kCordon:
        return cordon(change.target);
      case Change::Kind::kTaint:
        return change.all ? taint_all(change.taint) : taint(change);
      case Change::Kind::kAddNode:
        return add_nodes(change.target, change.count);
      case Change::Kind::kScale:
        return scale(change.target, change.count);
    }
    return {};
  }

 private:
  static std::pair<std::string, std::string> kind_and_name(const std::string& target) {
    const size_t slash = target.find('/');
    if (slash == std::string::npos) return {"pod", target};
    return {owner_kind(target.substr(0, slash)), target.substr(slash + 1)};
  }

  Result<void> remove(const std::string& target) {
    const auto [kind, name] = kind_and_name(target);
    const std::string key = ns_ + "/" + name;
    if (kind == "pod") {
      const auto pod = after.pods.find(key);
      if (pod == after.pods.end()) return fail(not_known(after, "pods", ns_, "pod " + quote(name)));
      evict(pod->second, true);
      return {};
    }
    if (kind == "claim") {
      const auto claim = after.claims.find(key);
      if (claim == after.claims.end()) return fail(not_known(after, "resourceclaims", ns_, "claim " + quote(name)));
      // It stays, and so do its devices, as long as pods use it.
      if (!protocol::has_users(*claim->second)) drop_claim(key);
      return {};
    }
    const std::vector<PodPtr> pods = pods_of_workload(kind, name);
    if (pods.empty()) return fail(why_no_owner(after, ns_, kind, name));
    for (const PodPtr& pod : pods) evict(pod, false);
    return {};
  }

  Result<void> change_node(const std::string& name, const std::function<void(api::Node&)>& edit) {
    const auto node = after.nodes.find(name);
    if (node == after.nodes.end()) {
      std::vector<std::string> names;
      for (const auto& [one, ignored] : after.nodes) names.push_back(one);
      const std::string near = nearest(name, names);
      return fail(not_known(after, "nodes", "", "node " + quote(name),
                            near.empty() ? "" : "; did you mean " + quote(near) + "?"));
    }
    auto copy = std::make_shared<api::Node>(*node->second);
    edit(*copy);
    node->second = std::move(copy);
    return {};
  }

  Result<void> cordon(const std::string& name) {
    return change_node(name, [](api::Node& node) { node.unschedulable = true; });
  }

  Result<void> drain(const std::string& name) {
    if (auto cordoned = cordon(name); !cordoned) return cordoned;
    std::vector<PodPtr> pods;
    for (const auto& [key, pod] : after.pods)
      if (pod->node_name == name && !pod->terminal()) pods.push_back(pod);
    for (const PodPtr& pod : pods) {
      const api::OwnerReference* owner = pod->metadata.controller();
      // kubectl drain leaves DaemonSets' pods and the node's own (mirror) pods.
      if (owner != nullptr && (owner->kind == "DaemonSet" || owner->kind == "Node")) continue;
      evict(pod, true);
    }
    return {};
  }

  Result<void> taint(const Change& change) {
    const size_t slash = change.target.find('/');
    const std::string node = change.target.substr(0, slash);
    const std::string device = slash == std::string::npos ? "" : change.target.substr(slash + 1);
    size_t rules = 0;
    for (const auto& [name, slice] : after.slices) {
      if (slice->node_name != node) continue;
      const bool has = device.empty() ? !slice->devices.empty()
                                      : std::any_of(slice->devices.begin(), slice->devices.end(),
                                                    [&](const api::Device& one) { return one.name == device; });
      if (!has) continue;
      std::vector<std::string> names{device};
      if (!device.empty() && !change.alone)
        for (std::string& other : on_same_silicon(after, slice->driver, slice->pool.name, device))
          names.push_back(std::move(other));
      for (const std::string& one : names) add_rule(rules++, *slice, one, change.taint);
    }
    if (rules == 0 && after.hides("resourceslices"))
      return fail(not_known(after, "resourceslices", "", "device " + quote(change.target)));
    if (rules == 0) return fail(Code::kNotFound, "no device " + quote(change.target) + " is published");
    if (change.taint.effect == "NoExecute") evict_from_tainted(change.taint);
    return {};
  }

  void add_rule(size_t number, const api::ResourceSlice& slice, const std::string& device,
                const api::DeviceTaint& taint) {
    auto rule = std::make_shared<api::DeviceTaintRule>();
    rule->metadata.name = "whatif-" + std::to_string(number);
    rule->has_selector = true;
    rule->driver = slice.driver;
    rule->pool = slice.pool.name;
    if (!device.empty()) rule->device = device;
    rule->taint = taint;
    tainted_.emplace(slice.driver, slice.pool.name, device);
    after.taint_rules[rule->metadata.name] = std::move(rule);
  }

  // A rule with an empty selector, as --all writes it: also covers devices without a node.
  Result<void> taint_all(const api::DeviceTaint& taint) {
    auto rule = std::make_shared<api::DeviceTaintRule>();
    rule->metadata.name = "whatif-all";
    rule->has_selector = true;
    rule->taint = taint;
    after.taint_rules[rule->metadata.name] = std::move(rule);
    for (const auto& [name, slice] : after.slices) tainted_.emplace(slice->driver, slice->pool.name, "");
    if (taint.effect == "NoExecute") evict_from_tainted(taint);
    return {};
  }

  void evict_from_tainted(const api::DeviceTaint& taint) {
    std::set<std::string> keys;
    for (const auto& [key, claim] : after.claims) {
      if (!claim->status.allocation) continue;
      for (const auto& result : claim->status.allocation->results) {
        const bool hit = tainted_.contains({result.driver, result.pool, ""}) ||
                         tainted_.contains({result.driver, result.pool, result.device});
        if (!hit || api::tolerates(result.tolerations, taint)) continue;
        for (const auto& consumer : claim->status.reserved_for) keys.insert(claim->metadata.ns + "/" + consumer.name);
      }
    }
    for (const std::string& key : keys)
      if (const auto pod = after.pods.find(key); pod != after.pods.end() && !pod->second->terminal())
        evict(PodPtr(pod->second), true);
  }

  Result<void> add_nodes(const std::string& like, uint32_t count) {
    const auto node = after.nodes.find(like);
    if (node == after.nodes.end()) return change_node(like, [](api::Node&) {});
    const std::shared_ptr<const api::Node> model = node->second;
    for (uint32_t i = 1; i <= count; ++i) {
      const std::string name = like + "-new-" + std::to_string(i);
      auto copy = std::make_shared<api::Node>(*model);
      copy->metadata.name = name;
      copy->unschedulable = false;
      for (auto& [label, value] : copy->metadata.labels)
        if (value == like) value = name;
      after.nodes[name] = std::move(copy);
      add_slices_like(like, name);
    }
    return {};
  }

  void add_slices_like(const std::string& like, const std::string& name) {
    std::vector<std::shared_ptr<api::ResourceSlice>> added;
    for (const auto& [key, slice] : after.slices) {
      if (slice->node_name != like) continue;
      auto copy = std::make_shared<api::ResourceSlice>(*slice);
      copy->metadata.name = slice->metadata.name + "-" + name;
      copy->node_name = name;
      copy->pool.name = slice->pool.name == like ? name : slice->pool.name + "-" + name;
      added.push_back(std::move(copy));
    }
    for (auto& slice : added) after.slices[slice->metadata.name] = std::move(slice);
  }

  Result<void> scale(const std::string& target, uint32_t count) {
    const auto [kind, name] = kind_and_name(target);
    if (kind == "pod" || kind == "claim")
      return fail(Code::kInvalidArgument,
                  "a " + kind + " cannot be scaled; name what owns the pods: scale deployment/X 5");
    std::vector<PodPtr> pods = pods_of_workload(kind, name);
    if (pods.empty()) {
      const Error none = why_no_owner(after, ns_, kind, name);
      return fail(none.code(), none.message() + " (whatif scale makes pods like one that is there)");
    }
    // During a rolling update the new ReplicaSet, which has the youngest pod, stays: the older ones are on their way
    // out.
    const PodPtr youngest = *std::max_element(pods.begin(), pods.end(), [](const PodPtr& a, const PodPtr& b) {
      return a->metadata.creation_timestamp < b->metadata.creation_timestamp;
    });
    const std::string newest = youngest->metadata.controller()->uid;
    // Like the ReplicaSet controller: those without a node first, then the youngest.
    std::stable_sort(pods.begin(), pods.end(), [&](const PodPtr& a, const PodPtr& b) {
      const bool a_old = a->metadata.controller()->uid != newest, b_old = b->metadata.controller()->uid != newest;
      if (a_old != b_old) return b_old;
      if (a->node_name.empty() != b->node_name.empty()) return b->node_name.empty();
      return a->metadata.creation_timestamp < b->metadata.creation_timestamp;
    });
    for (size_t i = count; i < pods.size(); ++i) evict(pods[i], false);
    for (size_t i = pods.size(); i < count; ++i)
      add_successor(*pods.front(), name + "-new-" + std::to_string(i - pods.size() + 1));
    return {};
  }

  // Those that have not ended.
  std::vector<PodPtr> pods_of_workload(const std::string& kind, const std::string& name) const {
    std::vector<PodPtr> pods;
    for (const api::Pod* pod : pods_of_owner(after, ns_, kind, name))
      if (pod->metadata.controller() != nullptr && !pod->terminal()) pods.push_back(after.pods.at(pod->metadata.key()));
    return pods;
  }

  // Removes the pod and what it holds; if it comes back, it is a new pod.
  void evict(PodPtr pod, bool comes_back) {
    Leaving gone{pod, ""};
    after.pods.erase(pod->metadata.key());
    const api::OwnerReference* owner = pod->metadata.controller();
    if (comes_back && owner != nullptr && owner->kind != "Node")
      gone.successor = add_successor(*pod, pod->metadata.name + "-new");
    release_claims(*pod);
    leaving.push_back(std::move(gone));
  }

  void release_claims(const api::Pod& pod) {
    std::vector<std::string> owned;
    for (auto& [key, claim] : after.claims) {
      if (claim->metadata.ns != pod.metadata.ns) continue;
      if (protocol::is_for_pod(pod, *claim)) {
        owned.push_back(key);
        continue;
      }
      if (!protocol::is_reserved_for(*claim, pod.metadata.uid)) continue;
      auto copy = std::make_shared<api::ResourceClaim>(*claim);
      auto& reserved = copy->status.reserved_for;
      reserved.erase(std::remove_if(reserved.begin(), reserved.end(),
                                    [&](const auto& consumer) { return consumer.uid == pod.metadata.uid; }),
                     reserved.end());
      // No pod uses it any more: its devices are freed.
      if (reserved.empty()) copy->status = {};
      claim = std::move(copy);
    }
    for (const std::string& key : owned) drop_claim(key);
  }

  void drop_claim(const std::string& key) {
    const auto claim = after.claims.find(key);
    after.claim_by_uid.erase(claim->second->metadata.uid);
    after.claims.erase(claim);
  }

  // A new pod like this one, with new claims for its template entries; returns its key.
  std::string add_successor(const api::Pod& model, const std::string& name) {
    if (const api::OwnerReference* owner = model.metadata.controller())
      owners.try_emplace({owner->kind, model.metadata.ns, owner->name}, OwnerToRead{*owner, model.metadata.ns});
    auto pod =
        std::make_shared<api::Pod>(successor_of(model, claims_used_by(after, model), template_for(after, model)));
    pod->metadata.name = name;
    pod->metadata.uid = "whatif-" + std::to_string(++made_);
    pod->metadata.creation_timestamp = format_rfc3339(after.taken);
    for (const api::PodResourceClaim& entry : pod->resource_claims) {
      if (!entry.resource_claim_template_name) continue;
      Claim claim = claim_for(model, *pod, entry);
      if (!claim) continue;
      pod->resource_claim_statuses.push_back({entry.name, claim->metadata.name});
      after.claims[claim->metadata.key()] = std::move(claim);
    }
    add_volume_claims(model, *pod);
    const std::string key = pod->metadata.key();
    after.pods[key] = std::move(pod);
    return key;
  }

  // Ephemeral volumes are recreated with the pod: unbound claims like the model's.
  void add_volume_claims(const api::Pod& model, const api::Pod& pod) {
    for (const api::PodVolume& volume : pod.volumes) {
      if (!volume.ephemeral) continue;
      const auto had = after.volume_claims.find(placement::claim_key(pod.metadata.ns, model.metadata.name, volume));
      if (had == after.volume_claims.end()) continue;
      auto claim = std::make_shared<api::PersistentVolumeClaim>(*had->second);
      claim->metadata.name = pod.metadata.name + "-" + volume.name;
      claim->metadata.uid = pod.metadata.uid + "-" + volume.name;
      claim->metadata.annotations.clear();
      claim->metadata.owner_references = {{"v1", "Pod", pod.metadata.name, pod.metadata.uid, true}};
      claim->volume_name.clear();
      claim->phase = "Pending";
      after.volume_claims[claim->metadata.key()] = std::move(claim);
    }
  }

  // From the template or, if that is gone or hidden, like the model's claim.
  Claim claim_for(const api::Pod& model, const api::Pod& pod, const api::PodResourceClaim& entry) const {
    api::ResourceClaimTemplate like;
    const auto known = after.templates.find(pod.metadata.ns + "/" + *entry.resource_claim_template_name);
    if (known != after.templates.end()) {
      like = *known->second;
    } else {
      const auto had = after.claims.find(pod.metadata.ns + "/" + protocol::resolve_created_claim(model, entry).name);
      if (had == after.claims.end()) return nullptr;
      like.spec = had->second->spec;
    }
    auto claim = std::make_shared<api::ResourceClaim>(*claim_from_template(
        like, pod.metadata.ns, pod.metadata.name + "-" + entry.name, pod.metadata.uid + "-" + entry.name));
    claim->metadata.owner_references.push_back({"v1", "Pod", pod.metadata.name, pod.metadata.uid, true});
    return claim;
  }

  std::string ns_;
  std::set<std::tuple<std::string, std::string, std::string>> tainted_;
  uint64_t made_ = 0;
};

bool any_with_volumes(const std::vector<PodFate>& fates, const Objects& objects) {
  return std::any_of(fates.begin(), fates.end(), [&](const PodFate& fate) {
    const auto pod = objects.pods.find(fate.pod);
    return pod != objects.pods.end() && has_volume_claims(*pod->second);
  });
}

// Why a new pod is not decided at all: its template has gates of other programs.
std::string foreign_gates(const api::Pod& pod) {
  std::vector<std::string> gates;
  for (const std::string& gate : pod.scheduling_gates) gates.push_back(quote(gate));
  return "it waits at " + std::string(gates.size() == 1 ? "its gate " : "its gates ") + join(gates, ", ") +
         ", which another program lifts";
}

std::vector<std::string> device_names(const Placed& placed) {
  std::vector<std::string> names;
  for (const auto& allocation : placed.results)
    for (const auto& result : allocation.results) names.push_back(result.device);
  return names;
}

}  // namespace

Result<Change::Kind> change_kind_of(std::string_view word) {
  static const std::vector<std::pair<std::string, Change::Kind>> kKinds{
      {"delete", Change::Kind::kDelete}, {"drain", Change::Kind::kDrain},      {"cordon", Change::Kind::kCordon},
      {"taint", Change::Kind::kTaint},   {"add-node", Change::Kind::kAddNode}, {"scale", Change::Kind::kScale}};
  std::vector<std::string> names;
  for (const auto& [name, kind] : kKinds) {
    if (name == word) return kind;
    names.push_back(name);
  }
  names.insert(names.end(), {"preempt", "make-room"});  // preempt.h, make_room.h
  const std::string near = nearest(word, names);
  return fail(Code::kInvalidArgument,
              "whatif " + quote(word) + " is not known; " +
                  (near.empty() ? "use one of " + join(names, ", ") : "did you mean " + quote(near) + "?"));
}

std::string_view fate_name(Fate fate) {
  switch (fate) {
    case Fate::kMoves:
      return "moves";
    case Fate::kWaits:
      return "waits";
    case Fate::kGone:
      return "gone";
    case Fate::kStarts:
      return "starts";
    case Fate::kStartsAnyway:
      return "starts anyway";
    case Fate::kStaysWaiting:
      return "stays waiting";
    case Fate::kNoLonger:
      return "starts no longer";
  }
  return "unknown";
}

bool is_of_leaving(Fate fate) {
  return fate == Fate::kMoves || fate == Fate::kWaits || fate == Fate::kGone;
}

std::vector<OwnerToRead> owners_of_change(const Objects& objects, const Change& change, const std::string& ns) {
  Simulation simulation(objects, ns);
  std::vector<OwnerToRead> owners;
  if (!simulation.apply(change)) return owners;
  for (const auto& [key, owner] : simulation.owners)
    if (owners.size() < kMaxOwnersRead && owner_kind_of(owner.owner) != nullptr) owners.push_back(owner);
  return owners;
}

Result<std::vector<PodFate>> whatif(const Objects& objects, const Change& change, const StateOptions& options,
                                    const std::string& ns) {
  Simulation simulation(objects, ns);
  if (auto applied = simulation.apply(change); !applied) return fail(applied.error());
  const std::map<std::string, Placed> before = decide_waiting(objects, options, 0);
  const std::map<std::string, Placed> after = decide_waiting(simulation.after, options, kMostExplained);
  std::vector<PodFate> fates;
  std::set<std::string> listed;
  const auto fits_in = [](const std::map<std::string, Placed>& outcomes, const std::string& key) {
    const auto found = outcomes.find(key);
    return found != outcomes.end() && found->second.outcome == allocator::Outcome::kFeasible ? &found->second : nullptr;
  };
  for (const Simulation::Leaving& gone : simulation.leaving) {
    PodFate fate{gone.pod->metadata.key(), Fate::kGone, gone.pod->node_name, "", {}, ""};
    listed.insert(fate.pod);
    if (!gone.successor.empty()) {
      listed.insert(gone.successor);
      const Placed* placed = fits_in(after, gone.successor);
      fate.fate = placed ? Fate::kMoves : Fate::kWaits;
      if (placed) {
        fate.after = placed->node;
        fate.devices = device_names(*placed);
      } else {
        const auto why = after.find(gone.successor);
        fate.why = why != after.end() ? why->second.why : foreign_gates(*simulation.after.pods.at(gone.successor));
        if (why != after.end()) fate.cause = why->second.cause;
      }
    }
    fates.push_back(std::move(fate));
  }
  for (const auto& [key, placed] : after) {
    if (listed.contains(key)) continue;
    const bool now = placed.outcome == allocator::Outcome::kFeasible, then = fits_in(before, key) != nullptr;
    const bool is_new = !objects.pods.contains(key);
    const Fate kind = now      ? (then ? Fate::kStartsAnyway : Fate::kStarts)
                      : then   ? Fate::kNoLonger
                      : is_new ? Fate::kWaits
                               : Fate::kStaysWaiting;
    fates.push_back({key, kind, "", placed.node, now ? device_names(placed) : std::vector<std::string>{},
                     now ? "" : placed.why, now ? "" : placed.cause});
  }
  for (const auto& [key, pod] : simulation.after.pods)
    if (!objects.pods.contains(key) && !listed.contains(key) && !after.contains(key))
      fates.push_back({key, Fate::kWaits, "", "", {}, foreign_gates(*pod)});
  return fates;
}

std::string taint_reaches(const Objects& objects, const Change& change) {
  const size_t slash = change.target.find('/');
  if (change.kind != Change::Kind::kTaint || change.all || slash == std::string::npos) return "";
  const std::string node = change.target.substr(0, slash), device = change.target.substr(slash + 1);
  for (const auto& [name, slice] : objects.slices) {
    if (slice->node_name != node) continue;
    const bool has = std::any_of(slice->devices.begin(), slice->devices.end(),
                                 [&](const api::Device& one) { return one.name == device; });
    if (!has) continue;
    const std::vector<std::string> others = on_same_silicon(objects, slice->driver, slice->pool.name, device);
    if (others.empty()) return "";
    const std::string those = counted(others.size(), "device") + " on the same silicon (" + others.front() +
                              (others.size() > 1 ? " to " + others.back() : "") + ")";
    return change.alone ? those + " would stay usable: a taint of " + device +
                              " alone, like a DeviceTaintRule for it, does not "
                              "reach them"
                        : "with " + device + ", " + those + " would get the taint; a DeviceTaintRule for " + device +
                              " alone would leave them usable";
  }
  return "";
}

namespace {

// Rows of one kind in the table; -o wide and JSON have all.
constexpr size_t kMostRowsAlike = 5;

// The reasons of pods that wait or are gone: one sentence for all that have the same, up to figures and names.
class WhyTheyWait {
 public:
  // False: there are enough rows like this one.
  bool add(const PodFate& fate, const std::string& why) {
    std::string key = std::string(fate_name(fate.fate)) + fate.cause;
    if (fate.cause.empty()) key += why;
    Group& group = groups_[key];
    if (group.pods.empty()) {
      group.why = why;
      group.cause = fate.cause.empty() ? "Waits" : fate.cause;
      order_.push_back(key);
    }
    group.pods.push_back(fate.pod);
    return group.pods.size() <= kMostRowsAlike;
  }
  void say(Answer& answer) const {
    for (const std::string& key : order_) {
      const Group& group = groups_.at(key);
      const size_t others = group.pods.size() - 1;
      answer.say_after(
          {group.cause,
           group.pods.front() + (others > 0 ? " and " + std::to_string(others) + " more" : "") + ": " + group.why,
           {},
           "",
           {{"pods", group.pods.size()}},
           {{"pods", group.pods}}});
    }
  }

 private:
  struct Group {
    std::string why, cause;
    std::vector<std::string> pods;
  };
  std::map<std::string, Group> groups_;
  std::vector<std::string> order_;
};

}  // namespace

Answer whatif_answer(const std::vector<PodFate>& fates, const Objects& objects) {
  Answer answer{"DRAWhatIf"};
  Table table{"",
              "pods",
              {{"POD", "pod"},
               {"WHAT", "what"},
               {"FROM", "from"},
               {"TO", "to"},
               {"DEVICES", "devices"},
               {"CAUSE", "cause", true},
               {"WHY", "why", true}},
              {}};
  WhyTheyWait reasons;
  const std::string unseen = why_undecidable(objects);
  const auto stay = static_cast<size_t>(
      std::count_if(fates.begin(), fates.end(), [](const PodFate& fate) { return fate.fate == Fate::kStaysWaiting; }));
  const bool many_stay = stay > kMostRowsAlike;
  for (const PodFate& fate : fates) {
    const std::string& why = fate.why.empty() || unseen.empty() ? fate.why : unseen;
    const bool bad = fate.fate == Fate::kWaits || fate.fate == Fate::kGone || fate.fate == Fate::kNoLonger;
    const bool good = fate.fate == Fate::kStarts || fate.fate == Fate::kStartsAnyway;
    if (bad) answer.status = Status::kNo;
    const auto or_dash = [](const std::string& text) { return text.empty() ? std::string("-") : text; };
    table.rows.push_back({"pod/" + fate.pod.substr(fate.pod.find('/') + 1),
                          {fate.pod,
                           Cell(std::string(fate_name(fate.fate)), bad    ? Tone::kBad
                                                                   : good ? Tone::kGood
                                                                          : Tone::kPlain),
                           or_dash(fate.before), or_dash(fate.after), Cell::list(fate.devices), fate.cause, why},
                          fate.fate == Fate::kStaysWaiting && many_stay});
    if (bad && !why.empty()) table.rows.back().aside = !reasons.add(fate, why);
  }
  reasons.say(answer);
  if (many_stay)
    answer.say_after({"StayWaiting",
                      counted(stay, "pod") + " that waited before " + (stay == 1 ? "waits" : "wait") +
                          " after, too; -o wide lists them",
                      {},
                      "",
                      {{"pods", stay}}});
  if (fates.empty())
    answer.say("NothingChanges",
               std::string("no pod ") + (objects.hides("pods") ? "that is visible " : "") + "moves, waits or starts");
  answer.tables.push_back(std::move(table));
  if (const std::string why = why_volumes_are_not_judged(objects); !why.empty() && any_with_volumes(fates, objects))
    answer.notes.push_back("volumes are not judged: " + why);
  note_promises(answer, objects);
  for (std::string& note : hidden_notes(objects, "; the answer may be wrong")) answer.notes.push_back(std::move(note));
  if (objects.hides_what_decides()) answer.status = Status::kUnknown;
  return answer;
}

Result<api::DeviceTaint> parse_taint(std::string_view text) {
  const size_t colon = text.rfind(':');
  const size_t equals = text.find('=');
  api::DeviceTaint taint;
  if (colon != std::string_view::npos) {
    taint.effect = std::string(text.substr(colon + 1));
    const std::string_view head = text.substr(0, colon);
    taint.key = std::string(head.substr(0, equals));
    if (equals != std::string_view::npos && equals < colon) taint.value = std::string(head.substr(equals + 1));
  }
  if (taint.key.empty() || (taint.effect != "None" && taint.effect != "NoSchedule" && taint.effect != "NoExecute"))
    return fail(Code::kInvalidArgument,
                "taint " + quote(text) +
                    " cannot be read; write key=value:Effect with an effect of None, NoSchedule or NoExecute");
  return taint;
}

}  // namespace dra::inspect
