#include "pkg/placement/resources.h"

#include <algorithm>
#include <limits>

#include "pkg/api/quantity.h"
#include "pkg/base/strings.h"

namespace dra::placement {
namespace {

// Exact until everything is summed: rounding each container up would request more than kube-scheduler does.
using Exact = std::map<std::string, api::Quantity, std::less<>>;

Result<Exact> exact_of(const api::ResourceList& list) {
  Exact out;
  for (const auto& [name, text] : list) {
    Result<api::Quantity> quantity = api::Quantity::parse(text);
    if (!quantity)
      return fail(Code::kInvalidArgument, "resource " + quote(name) + ": " + quote(text) + ": " +
                                              quantity.error().message() + "; write a quantity such as 500m or 2Gi");
    out.emplace(name, *quantity);
  }
  return out;
}

// A sum with more digits than a quantity can have exceeds every node, and so does the larger operand.
void add_to(Exact& sum, const Exact& more) {
  for (const auto& [name, quantity] : more) {
    api::Quantity& total = sum[name];
    if (Result<api::Quantity> both = total.add(quantity))
      total = *both;
    else
      total = std::max(total, quantity);
  }
}

void raise_to(Exact& largest, const Exact& other) {
  for (const auto& [name, quantity] : other) {
    auto [entry, added] = largest.emplace(name, quantity);
    if (!added && entry->second < quantity) entry->second = quantity;
  }
}

bool sidecar_container(const api::Container& container) {
  return container.restart_policy == "Always";
}

// Pod-level requests exist for these only (KEP-2837).
bool pod_level_resource(std::string_view name) {
  return name == "cpu" || name == "memory" || name.substr(0, 10) == "hugepages-";
}

bool resize_infeasible(const api::Pod& pod) {
  for (const api::Condition& condition : pod.conditions)
    if (condition.type == "PodResizePending") return condition.reason == "Infeasible";
  return false;
}

// The largest of spec, what is in force and what is allocated.
Result<Exact> resized(const api::Pod& pod, const api::ResourceList& spec, const api::ResizedResources& status) {
  Result<Exact> out = exact_of(status.in_force);
  if (!out) return out;
  Result<Exact> allocated = exact_of(status.allocated);
  if (!allocated) return allocated;
  raise_to(*out, *allocated);
  if (resize_infeasible(pod)) return out;
  Result<Exact> asked = exact_of(spec);
  if (!asked) return asked;
  raise_to(*out, *asked);
  return out;
}

const api::ResizedResources* status_of(const api::Pod& pod, const api::Container& container) {
  for (const api::ResizedContainer& status : pod.resized_containers)
    if (status.name == container.name) return &status.resources;
  return nullptr;
}

enum class Counted { kSpec, kSpecAndStatus };

struct Counting {
  Counted counted = Counted::kSpec;
  bool pod_level = true;
  Exact defaults;  // for containers that do not name the resource
};

// What scores count for containers without requests.
Exact score_defaults() {
  return {{"cpu", api::Quantity::from_scaled(100, -3)}, {"memory", api::Quantity::from_int64(200 << 20)}};
}

Result<Exact> container_requests(const api::Pod& pod, const api::Container& container, const Counting& how) {
  const bool status_counts = how.counted == Counted::kSpecAndStatus;
  const api::ResizedResources* status = status_counts ? status_of(pod, container) : nullptr;
  Result<Exact> out = status ? resized(pod, container.requests, *status) : exact_of(container.requests);
  if (!out) return fail(out.error().wrap("container " + quote(container.name)));
  for (const auto& [name, quantity] : how.defaults) out->emplace(name, quantity);
  return out;
}

Result<Exact> container_totals(const api::Pod& pod, const Counting& how) {
  Exact running, starting, sidecars;
  for (const api::Container& container : pod.containers) {
    Result<Exact> requests = container_requests(pod, container, how);
    if (!requests) return requests;
    add_to(running, *requests);
  }
  Counting spec_only = how;
  spec_only.counted = Counted::kSpec;
  for (const api::Container& container : pod.init_containers) {
    const bool sidecar = sidecar_container(container);
    Result<Exact> requests = container_requests(pod, container, sidecar ? how : spec_only);
    if (!requests) return requests;
    if (sidecar) {
      add_to(running, *requests);
      add_to(sidecars, *requests);
      raise_to(starting, sidecars);
    } else {
      add_to(*requests, sidecars);
      raise_to(starting, *requests);
    }
  }
  raise_to(running, starting);
  if (!pod.claims_take) return running;
  for (const api::ClaimTakes& takes : *pod.claims_take) {
    Result<Exact> taken = exact_of(takes.resources);
    if (!taken) return fail(taken.error().wrap("what claim " + quote(takes.claim) + " takes of the node"));
    add_to(running, *taken);
  }
  return running;
}

Result<Exact> totals(const api::Pod& pod, const Counting& how) {
  const std::string who = "pod " + quote(pod.metadata.key());
  Result<Exact> out = container_totals(pod, how);
  if (!out) return fail(out.error().wrap(who));
  if (pod.pod_requests && how.pod_level) {
    Result<Exact> whole_pod = how.counted == Counted::kSpecAndStatus && pod.resized
                                  ? resized(pod, *pod.pod_requests, *pod.resized)
                                  : exact_of(*pod.pod_requests);
    if (!whole_pod) return fail(whole_pod.error().wrap(who + ": spec.resources.requests"));
    for (const auto& [name, text] : *pod.pod_requests)
      if (pod_level_resource(name)) (*out)[name] = (*whole_pod)[name];
  }
  Result<Exact> overhead = exact_of(pod.overhead);
  if (!overhead) return fail(overhead.error().wrap(who + ": spec.overhead"));
  add_to(*out, *overhead);
  return out;
}

int64_t rounded_amount(const std::string& name, const api::Quantity& quantity) {
  return name == "cpu" ? quantity.milli_value() : quantity.value();
}

Amounts rounded_up(const Exact& exact) {
  Amounts out;
  for (const auto& [name, quantity] : exact) out[name] = rounded_amount(name, quantity);
  return out;
}

void add_ports(const api::Container& container, std::vector<api::HostPort>& out) {
  for (api::HostPort port : container.host_ports) {
    if (port.protocol.empty()) port.protocol = "TCP";
    if (port.ip.empty()) port.ip = "0.0.0.0";
    out.push_back(std::move(port));
  }
}

Charge charge_of(const Exact& requests, const Exact& for_scores, const api::Pod& pod) {
  Charge out;
  for (const auto& [name, quantity] : requests) {
    const int64_t amount = rounded_amount(name, quantity);
    if (name == "cpu")
      out.cpu = amount;
    else if (name == "memory")
      out.memory = amount;
    else if (name == "ephemeral-storage")
      out.ephemeral_storage = amount;
    else if (amount > 0)
      out.others.emplace_back(name, amount);
  }
  if (const auto cpu = for_scores.find("cpu"); cpu != for_scores.end()) out.score_cpu = cpu->second.milli_value();
  if (const auto memory = for_scores.find("memory"); memory != for_scores.end())
    out.score_memory = memory->second.value();
  for (const api::Container& container : pod.containers) add_ports(container, out.ports);
  for (const api::Container& container : pod.init_containers)
    if (sidecar_container(container)) add_ports(container, out.ports);
  return out;
}

// The pod names cpu, memory or huge pages for all its containers together.
bool has_pod_level_requests(const api::Pod& pod) {
  return pod.pod_requests && std::any_of(pod.pod_requests->begin(), pod.pod_requests->end(),
                                         [](const auto& entry) { return pod_level_resource(entry.first); });
}

// With pod-level requests a default applies only to a resource that no container names.
Exact bound_score_defaults(const api::Pod& pod, const Exact& requests) {
  Exact out = score_defaults();
  if (has_pod_level_requests(pod))
    std::erase_if(out, [&](const auto& entry) { return requests.contains(entry.first); });
  return out;
}

}  // namespace

int64_t saturating_add(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a > 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}

int64_t amount_of(const Amounts& amounts, std::string_view name) {
  auto found = amounts.find(name);
  return found == amounts.end() ? 0 : found->second;
}

Result<Amounts> amounts_of(const api::ResourceList& list) {
  return exact_of(list).map(rounded_up);
}

Result<Charge> pending_charge(const api::Pod& pod, const std::function<bool(const std::string&)>& ignored) {
  Result<Exact> requests = totals(pod, {});
  if (!requests) return fail(requests.error());
  // kube-scheduler's score of free resources does not read pod-level requests of the pod it places.
  const Result<Exact> for_scores = totals(pod, {Counted::kSpec, false, score_defaults()});
  if (!for_scores) return fail(for_scores.error());
  if (ignored) std::erase_if(*requests, [&](const auto& entry) { return ignored(entry.first); });
  return charge_of(*requests, *for_scores, pod);
}

Charge bound_charge(const api::Pod& pod) {
  const Exact requests = totals(pod, {Counted::kSpecAndStatus, true, {}}).value_or(Exact{});
  const Counting scored{Counted::kSpecAndStatus, true, bound_score_defaults(pod, requests)};
  return charge_of(requests, totals(pod, scored).value_or(Exact{}), pod);
}

Result<RoomForDevices> RoomForDevices::of(const api::Pod& pod) {
  Result<Exact> requested = totals(pod, {});
  if (!requested) return fail(requested.error());
  RoomForDevices room;
  room.requested_ = std::move(*requested);
  if (!pod.pod_requests) return room;
  const Exact whole = exact_of(*pod.pod_requests).value_or(Exact{});
  const Exact containers = container_totals(pod, {}).value_or(Exact{});
  for (const auto& [name, quantity] : whole) {
    if (!pod_level_resource(name)) continue;
    const auto used = containers.find(name);
    room.within_pod_[name] = used == containers.end() ? quantity : quantity.sub(used->second).value_or(api::Quantity());
  }
  return room;
}

api::Quantity RoomForDevices::beside(const std::string& resource, int64_t left) const {
  if (const auto within = within_pod_.find(resource); within != within_pod_.end()) return within->second;
  const api::Quantity whole = api::Quantity::from_scaled(left, resource == "cpu" ? -3 : 0);
  const auto requested = requested_.find(resource);
  return requested == requested_.end() ? whole : whole.sub(requested->second).value_or(api::Quantity());
}

bool ports_conflict(const api::HostPort& a, const api::HostPort& b) {
  return a.port == b.port && a.protocol == b.protocol && (a.ip == b.ip || a.ip == "0.0.0.0" || b.ip == "0.0.0.0");
}

}  // namespace dra::placement
