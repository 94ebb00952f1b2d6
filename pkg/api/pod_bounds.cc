#include "pkg/api/pod_bounds.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/quantity.h"
#include "pkg/api/release.h"
#include "pkg/base/strings.h"

namespace dra::api {

namespace {

size_t parts_of_text(const std::string& text) {
  return text.size() / kBytesOfAPart;
}
size_t parts(const std::vector<std::string>& values) {
  size_t sum = values.size();
  for (const std::string& value : values) sum += parts_of_text(value);
  return sum;
}
size_t parts(const StringMap& map) {
  size_t sum = map.size() * kPartsOfAnEntry;
  for (const auto& [key, value] : map) sum += parts_of_text(key) + parts_of_text(value);
  return sum;
}
// For node selectors and for label selectors.
template <typename Requirement>
size_t requirement_parts(const std::vector<Requirement>& requirements) {
  size_t sum = 0;
  for (const Requirement& requirement : requirements)
    sum += kPartsOfAnEntry + parts_of_text(requirement.key) + parts(requirement.values);
  return sum;
}
size_t parts(const NodeSelectorTerm& term) {
  return kPartsOfAnEntry + requirement_parts(term.match_expressions) + requirement_parts(term.match_fields);
}
size_t parts(const NodeAffinity& affinity) {
  size_t sum = 0;
  if (affinity.required)
    for (const NodeSelectorTerm& term : affinity.required->terms) sum += parts(term);
  for (const PreferredSchedulingTerm& term : affinity.preferred) sum += parts(term.preference);
  return sum;
}
size_t parts(const std::optional<LabelSelector>& selector) {
  return selector ? parts(selector->match_labels) + requirement_parts(selector->match_expressions) : 0;
}
// One requirement or label is included in what the term itself counts as.
size_t pod_term_parts(const std::string& topology_key, const std::optional<LabelSelector>& selector) {
  const size_t of_selector = std::max(parts(selector), kPartsOfAnEntry) - kPartsOfAnEntry;
  return kPartsOfAPodTerm + parts_of_text(topology_key) + of_selector;
}
size_t parts(const PodAffinityTerm& term) {
  return pod_term_parts(term.topology_key, term.label_selector) + parts(term.namespaces) +
         parts(term.namespace_selector);
}
size_t parts(const PodAffinity& affinity) {
  size_t sum = 0;
  for (const PodAffinityTerm& term : affinity.required) sum += parts(term);
  for (const WeightedPodAffinityTerm& term : affinity.preferred) sum += parts(term.term);
  return sum;
}

size_t label_bytes(const StringMap& labels) {
  size_t sum = 0;
  for (const auto& [key, value] : labels) sum += key.size() + value.size();
  return sum;
}

// Upper estimates of what an element takes beside its text, with the allocator's share.
constexpr size_t kBytesOfAnElement = 64;
constexpr size_t kBytesOfAMapEntry = 160;

size_t bytes(const std::string& text) {
  return kBytesOfAnElement + text.size();
}
size_t bytes(const std::vector<std::string>& list) {
  size_t sum = 0;
  for (const std::string& text : list) sum += bytes(text);
  return sum;
}
size_t bytes(const ResourceList& list) {
  size_t sum = 0;
  for (const auto& [name, amount] : list) sum += kBytesOfAMapEntry + name.size() + amount.size();
  return sum;
}
size_t bytes(const Container& container) {
  size_t sum = sizeof container + container.name.size() + container.image.size() + bytes(container.requests) +
               bytes(container.limits) + container.host_ports.size() * (sizeof(HostPort) + kBytesOfAnElement);
  for (const ContainerClaim& claim : container.claims) sum += bytes(claim.name) + bytes(claim.request);
  return sum;
}
size_t bytes(const ClaimTakes& takes) {
  return sizeof takes + takes.claim.size() + bytes(takes.resources);
}
size_t bytes(const PodVolume& volume) {
  size_t sum = sizeof volume + volume.name.size() + volume.claim_name.size() + volume.image.size();
  if (volume.disk) sum += bytes(volume.disk->id) + bytes(volume.disk->monitors);
  return sum;
}
size_t bytes(const PodResourceClaim& claim) {
  return sizeof claim + claim.name.size() + claim.resource_claim_name.value_or("").size() +
         claim.resource_claim_template_name.value_or("").size();
}
template <class T>
size_t bytes(const std::vector<T>& list) {
  size_t sum = 0;
  for (const T& element : list) sum += bytes(element);
  return sum;
}

size_t list_bytes(const Pod& pod) {
  return bytes(pod.containers.get()) + bytes(pod.init_containers.get()) + bytes(pod.volumes) +
         bytes(pod.resource_claims.get()) + bytes(pod.scheduling_gates) + bytes(pod.overhead) +
         (pod.pod_requests ? bytes(*pod.pod_requests) : 0) + (pod.claims_take ? bytes(*pod.claims_take) : 0) +
         pod.scheduler_name.size() + pod.priority_class_name.size();
}

using Sums = std::map<std::string, Quantity, std::less<>>;

// A quantity that cannot be read is refused by an API server.
Sums sums_of(const ResourceList& list) {
  Sums out;
  for (const auto& [name, text] : list)
    if (const Result<Quantity> amount = Quantity::parse(text); amount && amount->sign() > 0) out.emplace(name, *amount);
  return out;
}
void add_to(Sums& sums, const Sums& more) {
  for (const auto& [name, amount] : more) {
    Quantity& sum = sums[name];
    const Result<Quantity> both = sum.add(amount);
    sum = both ? *both : std::max(sum, amount);
  }
}
void raise_to(Sums& largest, const Sums& other) {
  for (const auto& [name, amount] : other) largest[name] = std::max(largest[name], amount);
}

// Those without a domain first: cpu, memory and the like. A node offers far fewer kinds than are kept.
ResourceList texts_of(const Sums& sums) {
  ResourceList out;
  for (const bool domain : {false, true})
    for (const auto& [name, amount] : sums)
      if ((name.find('/') != std::string::npos) == domain && out.size() < kMaxResourceNames)
        out.emplace(name, amount.to_string());
  return out;
}

// By name: a pod may have thousands of containers and as many statuses.
using Statuses = std::multimap<std::string_view, const ResizedContainer*>;

Statuses statuses_of(const Pod& pod) {
  Statuses out;
  for (const ResizedContainer& status : pod.resized_containers) out.emplace(status.name, &status);
  return out;
}

// The requests of a container, or what its status says if that is more: then it is being resized.
Sums requests_of(const Statuses& statuses, const Container& container) {
  Sums out = sums_of(container.requests);
  const auto [begin, end] = statuses.equal_range(container.name);
  for (auto status = begin; status != end; ++status) {
    raise_to(out, sums_of(status->second->resources.in_force));
    raise_to(out, sums_of(status->second->resources.allocated));
  }
  return out;
}

bool runs(const Pod& pod) {
  return !pod.node_name.empty() && !pod.terminal();
}

// One entry that takes what all did, or nothing where the pod takes nothing.
void merge_claims(Pod& pod) {
  if (!pod.claims_take) return;
  Sums sums;
  if (runs(pod))
    for (const ClaimTakes& one : *pod.claims_take) add_to(sums, sums_of(one.resources));
  pod.claims_take.reset();
  if (!sums.empty()) pod.claims_take = std::vector<ClaimTakes>{{"", texts_of(sums)}};
}

void keep_ports(const Container& from, Container& to) {
  for (const HostPort& port : from.host_ports)
    if (to.host_ports.size() < kMaxKeptEntries) to.host_ports.push_back(port);
}

// One container with the sum of all; one init container with the most that starting takes at a time; and after it one
// sidecar with the sum of all sidecars. placement::bound_charge() of both pods is the same, scores aside.
void merge_containers(Pod& pod) {
  Sums running, sidecars, starting;
  Container main, sidecar, init;
  const Statuses statuses = statuses_of(pod);
  for (const Container& container : pod.containers) {
    add_to(running, requests_of(statuses, container));
    keep_ports(container, main);
  }
  for (const Container& container : pod.init_containers) {
    Sums requests = requests_of(statuses, container);
    if (container.restart_policy == "Always") {
      add_to(sidecars, requests);
      keep_ports(container, sidecar);
    } else {
      add_to(requests, sidecars);
      raise_to(starting, requests);
    }
  }
  main.requests = texts_of(running);
  init.requests = texts_of(starting);
  sidecar.requests = texts_of(sidecars);
  sidecar.restart_policy = "Always";
  pod.containers = std::vector<Container>{std::move(main)};
  pod.init_containers = std::vector<Container>{std::move(init), std::move(sidecar)};
  release(pod.resized_containers);
}

template <class T>
void keep_first(std::vector<T>& list, size_t most) {
  if (list.size() > most) list.resize(most);
  list.shrink_to_fit();
}

size_t most_claims(const Pod& pod) {
  const bool all_named =
      std::all_of(pod.resource_claims.begin(), pod.resource_claims.end(),
                  [](const PodResourceClaim& claim) { return claim.resource_claim_name.has_value(); });
  return runs(pod) || !all_named ? kMaxKeptEntries : kMaxClaimsOfRefused;
}

void drop_lists(Pod& pod) {
  pod.bytes_dropped = list_bytes(pod);
  if (!runs(pod)) {
    release(pod.containers);
    release(pod.init_containers);
    release(pod.volumes);
    release(pod.resized_containers);
  } else {
    merge_containers(pod);
  }
  keep_first(pod.volumes, kMaxKeptEntries);
  for (PodVolume& volume : pod.volumes) {
    release(volume.image);
    if (volume.disk) keep_first(volume.disk->monitors, 16);
  }
  keep_first(pod.resource_claims.edit(), most_claims(pod));
  // Two gates hold the pod as thousands do; which ones is not known any more.
  if (pod.scheduling_gates.size() > 1) pod.scheduling_gates = std::vector<std::string>(2);
  merge_claims(pod);
  pod.overhead = texts_of(sums_of(pod.overhead));
  if (pod.pod_requests) *pod.pod_requests = texts_of(sums_of(*pod.pod_requests));
  for (std::string* name : {&pod.scheduler_name, &pod.priority_class_name})
    if (name->size() > kMaxImageText) release(*name);  // nobody has such a name
}

void drop_rules(Pod& pod, size_t sum) {
  pod.scheduling_parts_dropped = sum;
  release(pod.node_selector);
  pod.node_affinity.reset();
  release(pod.pod_affinity);
  release(pod.pod_anti_affinity);
  release(pod.topology_spread);
  release(pod.tolerations);
}

Error too_much(const Pod& pod, const std::string& what) {
  return {Code::kResourceExhausted, "pod " + quote(pod.metadata.key()) + ": " + what};
}

}  // namespace

size_t scheduling_parts(const Pod& pod) {
  if (pod.scheduling_parts_dropped > 0) return pod.scheduling_parts_dropped;
  size_t sum = parts(pod.node_selector) + pod.tolerations.size() * kPartsOfAnEntry;
  for (const Toleration& toleration : pod.tolerations)
    sum += parts_of_text(toleration.key) + parts_of_text(toleration.value);
  if (pod.node_affinity) sum += parts(*pod.node_affinity);
  sum += parts(pod.pod_affinity) + parts(pod.pod_anti_affinity);
  for (const TopologySpreadConstraint& constraint : pod.topology_spread)
    sum += pod_term_parts(constraint.topology_key, constraint.label_selector) + parts(constraint.match_label_keys);
  return sum;
}

void drop_beyond_bounds(StringMap& selector) {
  if (selector.size() > kMaxLabels || label_bytes(selector) > kMaxLabelBytes) release(selector);
}

void drop_beyond_bounds(std::optional<LabelSelector>& selector) {
  if (!selector || parts(selector) <= kMaxSchedulingParts) return;
  selector.emplace();
  selector->match_expressions.push_back({"too-large", "In", {}});  // without values it matches nothing
}

void drop_beyond_bounds(Pod& pod) {
  if (pod.scheduling_parts_dropped == 0)
    if (const size_t sum = scheduling_parts(pod); sum > kMaxSchedulingParts) drop_rules(pod, sum);
  StringMap& labels = pod.metadata.labels;
  if (labels.size() > kMaxLabels || label_bytes(labels) > kMaxLabelBytes) {
    pod.labels_dropped = labels.size();
    release(labels);
  }
  if (pod.bytes_dropped == 0 && list_bytes(pod) > kMaxListBytes) drop_lists(pod);
}

bool may_have_more_claims(const Pod& pod) {
  return pod.bytes_dropped > 0 && pod.resource_claims.size() >= most_claims(pod);
}

Result<void> check_bounds(const Pod& pod) {
  if (const size_t sum = scheduling_parts(pod); sum > kMaxSchedulingParts)
    return fail(
        too_much(pod, "spec.affinity, spec.topologySpreadConstraints, spec.nodeSelector and spec.tolerations have " +
                          std::to_string(sum) + " parts (a value is one, a term, requirement, label or toleration " +
                          std::to_string(kPartsOfAnEntry) + ", one of pod affinity or spread " +
                          std::to_string(kPartsOfAPodTerm) + ", each " + std::to_string(kBytesOfAPart) +
                          " bytes of text one more), and at most " + std::to_string(kMaxSchedulingParts) +
                          " are checked: name nodes and pods by a label that they share"));
  if (pod.labels_dropped > 0)
    return fail(too_much(pod, "metadata.labels has " + std::to_string(pod.labels_dropped) + " labels; at most " +
                                  std::to_string(kMaxLabels) + " labels of " + std::to_string(kMaxLabelBytes >> 10) +
                                  " KiB together are checked: use annotations"));
  if (pod.bytes_dropped > 0)
    return fail(too_much(pod, "its containers, volumes, resourceClaims and schedulingGates take " +
                                  std::to_string(pod.bytes_dropped >> 10) + " KiB, and at most " +
                                  std::to_string(kMaxListBytes >> 10) + " KiB are checked: use fewer or shorter ones"));
  return {};
}

}  // namespace dra::api
