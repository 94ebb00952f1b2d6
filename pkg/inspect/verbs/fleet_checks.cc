#include "pkg/inspect/verbs/fleet_checks.h"

#include <algorithm>
#include <map>
#include <set>

#include "pkg/allocator/locality.h"
#include "pkg/inspect/state/shapes.h"
#include "pkg/inspect/verbs/cel_query.h"
#include "pkg/inspect/verbs/half_taints.h"
#include "pkg/inventory/taint_rules.h"
#include "pkg/protocol/pod_claims.h"

namespace dra::inspect {
namespace {

constexpr size_t kMostRules = 3;  // that are named

size_t shown_rules(const TaintedDevices& tainted) {
  return std::min(tainted.rules.size(), kMostRules);
}

// The effect None only informs.
bool keeps_away(const api::DeviceTaint& taint) {
  return taint.effect == "NoSchedule" || taint.effect == "NoExecute";
}

std::set<std::string> classes_in(const api::ResourceClaimSpec& spec) {
  std::set<std::string> classes;
  for (const api::DeviceRequest& request : spec.requests) {
    if (request.exactly) classes.insert(request.exactly->device_class_name);
    // Another alternative may serve it.
    if (request.first_available.size() == 1) classes.insert(request.first_available[0].device_class_name);
  }
  return classes;
}

// Who waits for devices of a class: pods, and claims that no pod uses.
std::map<std::string, std::set<std::string>> waiting_for_classes(const Objects& objects) {
  std::map<std::string, std::set<std::string>> waiting;
  std::set<std::string> of_pods;
  const auto add = [&](const api::ResourceClaimSpec& spec, const std::string& who) {
    for (const std::string& name : classes_in(spec)) waiting[name].insert(who);
  };
  for (const auto& [key, pod] : objects.pods) {
    for (const std::string& claim : protocol::claim_keys_of(*pod)) {
      of_pods.insert(claim);
      if (!pod->node_name.empty() || pod->terminal()) continue;
      if (const auto known = objects.claims.find(claim);
          known != objects.claims.end() && !known->second->status.allocation)
        add(known->second->spec, "pod " + key);
    }
    if (!pod->node_name.empty() || pod->terminal()) continue;
    for (const std::string& name : protocol::template_keys_of(*pod))
      if (const auto known = objects.templates.find(name); known != objects.templates.end())
        add(known->second->spec, "pod " + key);
  }
  for (const auto& [key, claim] : objects.claims)
    if (!claim->status.allocation && !claim->metadata.deleting() && !of_pods.contains(key))
      add(claim->spec, "ResourceClaim " + key);
  return waiting;
}

// Whether the class selects a device; true if that is not known.
bool selects_some(const State& state, const api::DeviceClass& device_class) {
  if (device_class.selectors.empty())
    return std::any_of(state.objects.slices.begin(), state.objects.slices.end(),
                       [](const auto& one) { return !one.second->devices.empty(); });
  const std::vector<std::string> before(device_class.selectors.begin(), device_class.selectors.end() - 1);
  const SelectorTrial trial =
      try_selector(state.objects, device_class.selectors.back(), state.options.features, before);
  return trial.matched > 0 || !trial.compile_error.empty();
}

bool aligns_by(const SilentAttribute& silent, const api::ResourceClaimSpec& spec, const api::StringMap& annotations) {
  for (const api::DeviceConstraint& constraint : spec.constraints)
    if (constraint.match_attribute && is_about(silent, *constraint.match_attribute)) return true;
  const auto prefer = annotations.find(std::string(allocator::kPreferAnnotation));
  if (prefer == annotations.end()) return false;
  for (const allocator::PreferText::One& one : allocator::parse_prefer(prefer->second).preferences)
    if (is_about(silent, one.attribute)) return true;
  return false;
}

}  // namespace

std::vector<UnservedClass> unserved_classes(const State& state) {
  std::vector<UnservedClass> unserved;
  if (state.objects.hides("resourceslices")) return unserved;
  std::set<std::string> drivers;
  size_t devices = 0;
  for (const auto& [name, slice] : state.objects.slices) {
    drivers.insert(slice->driver);
    devices += slice->devices.size();
  }
  for (const auto& [name, who] : waiting_for_classes(state.objects)) {
    const auto known = state.objects.classes.find(name);
    if (known == state.objects.classes.end() || selects_some(state, *known->second)) continue;
    const std::string published = devices == 0
                                      ? "no driver publishes a device"
                                      : "the drivers that publish are " + join({drivers.begin(), drivers.end()}, ", ");
    unserved.push_back(
        {name,
         "class " + name + " selects none of " + counted(devices, "device") + " (" + published + "), and " +
             *who.begin() + (who.size() > 1 ? " and " + std::to_string(who.size() - 1) + " more wait" : " waits") +
             " for one",
         "see whether the driver of class " + name +
             " runs and what its log says: kubectl get resourceslices; kubectl get deviceclass " + name + " -o yaml"});
  }
  return unserved;
}

std::vector<UselessAlignment> useless_alignments(const Objects& objects) {
  std::vector<UselessAlignment> all;
  for (SilentAttribute& silent : silent_attributes(objects)) {
    UselessAlignment one{std::move(silent), {}, 0};
    const auto add = [&](const std::string& user) {
      one.users.size() < kMostUsers ? one.users.push_back(user) : static_cast<void>(++one.more_users);
    };
    for (const auto& [key, from] : objects.templates)
      if (aligns_by(one.silent, from->spec, from->claim_annotations)) add("ResourceClaimTemplate " + key);
    for (const auto& [key, claim] : objects.claims) {
      const bool generated = claim->metadata.annotations.contains(api::kPodClaimNameAnnotation);
      if (!generated && aligns_by(one.silent, claim->spec, claim->metadata.annotations)) add("ResourceClaim " + key);
    }
    all.push_back(std::move(one));
  }
  return all;
}

std::vector<TaintedDevices> tainted_devices(const Objects& objects) {
  inventory::TaintRules rules;
  api::DeviceTaintRule before;
  for (const auto& [name, rule] : objects.taint_rules) rules.apply(*rule, &before);
  std::map<std::pair<std::string, std::string>, TaintedDevices> found;  // by driver (empty: rules), and by taint
  std::map<std::pair<std::string, std::string>, std::set<std::string>> names;
  for (const auto& [pool, slices] : slices_by_pool(objects))
    for (const api::ResourceSlice* slice : slices)
      for (const api::Device& device : slice->devices) {
        std::set<std::pair<std::string, std::string>> keys;  // of this device, each once
        for (const api::DeviceTaint& taint : device.taints)
          if (keeps_away(taint)) keys.emplace(pool.first, taint_text(taint));
        for (const api::DeviceTaintRule* rule : rules.of_device(pool.first, pool.second, device.name)) {
          if (!keeps_away(rule->taint)) continue;
          const std::pair<std::string, std::string> key{"", taint_text(rule->taint)};
          keys.insert(key);
          names[key].insert(rule->metadata.name);
        }
        for (const auto& key : keys) {
          TaintedDevices& one = found[key];
          if (one.devices++ == 0) one.first = pool.first + "/" + pool.second + "/" + device.name;
        }
      }
  std::vector<TaintedDevices> all;
  for (auto& [key, one] : found) {
    one.driver = key.first;
    one.taint = key.second;
    one.rules.assign(names[key].begin(), names[key].end());
    all.push_back(std::move(one));
  }
  return all;
}

std::string words_of(const TaintedDevices& tainted) {
  std::string by = "driver " + tainted.driver;
  if (!tainted.rules.empty()) {
    by = tainted.rules.size() == 1 ? "DeviceTaintRule " : "DeviceTaintRules ";
    by += join({tainted.rules.begin(), tainted.rules.begin() + static_cast<long>(shown_rules(tainted))}, ", ");
    if (tainted.rules.size() > kMostRules) by += " and " + std::to_string(tainted.rules.size() - kMostRules) + " more";
  }
  return counted(tainted.devices, "device") + (tainted.devices == 1 ? " has" : " have") + " the taint " +
         tainted.taint + " from " + by + " (" + (tainted.devices == 1 ? "" : "first ") + tainted.first + ")";
}

std::string remedy_of(const TaintedDevices& tainted) {
  if (tainted.rules.empty()) return "";
  const bool all = tainted.rules.size() <= kMostRules;
  return std::string("once ") + (tainted.devices == 1 ? "it is" : "they are") +
         " well: kubectl delete devicetaintrule " +
         join({tainted.rules.begin(), tainted.rules.begin() + static_cast<long>(shown_rules(tainted))}, " ") +
         (all ? "" : " ...");
}

}  // namespace dra::inspect
