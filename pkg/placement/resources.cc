#include "pkg/placement/resources.h"

#include <algorithm>
#include <limits>

#include "pkg/api/quantity.h"
#include "pkg/base/strings.h"

namespace dra::placement {
namespace {

void add_to(Amounts& sum, const Amounts& more) {
  for (const auto& [name, amount] : more) sum[name] = saturating_add(sum[name], amount);
}

void raise_to(Amounts& largest, const Amounts& other) {
  for (const auto& [name, amount] : other) {
    int64_t& current = largest[name];
    current = std::max(current, amount);
  }
}

Result<Amounts> container_requests(const api::Container& container) {
  Result<Amounts> out = amounts_of(container.requests);
  if (!out) return fail(out.error().wrap("container " + quote(container.name)));
  return out;
}

bool is_sidecar(const api::Container& container) {
  return container.restart_policy == "Always";
}

// Pod-level requests exist for these only (KEP-2837).
bool pod_level_resource(std::string_view name) {
  return name == "cpu" || name == "memory" || name.substr(0, 10) == "hugepages-";
}

Result<Amounts> container_totals(const api::Pod& pod) {
  Amounts running, starting;
  for (const api::Container& container : pod.containers) {
    Result<Amounts> requests = container_requests(container);
    if (!requests) return requests;
    add_to(running, *requests);
  }
  Amounts sidecars;
  for (const api::Container& container : pod.init_containers) {
    Result<Amounts> requests = container_requests(container);
    if (!requests) return requests;
    if (is_sidecar(container)) {
      add_to(running, *requests);
      add_to(sidecars, *requests);
      raise_to(starting, sidecars);
    } else {
      add_to(*requests, sidecars);
      raise_to(starting, *requests);
    }
  }
  raise_to(running, starting);
  return running;
}

}  // namespace

Basics::Basics(const Amounts& amounts)
    : cpu(amount_of(amounts, "cpu")), memory(amount_of(amounts, "memory")), pods(amount_of(amounts, "pods")) {}

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
  Amounts out;
  for (const auto& [name, text] : list) {
    Result<api::Quantity> quantity = api::Quantity::parse(text);
    if (!quantity)
      return fail(Code::kInvalidArgument, "resource " + quote(name) + ": " + quote(text) + ": " +
                                              quantity.error().message() + "; write a quantity such as 500m or 2Gi");
    out[name] = name == "cpu" ? quantity->milli_value() : quantity->value();
  }
  return out;
}

Result<Amounts> pod_requests(const api::Pod& pod, const std::function<bool(const std::string&)>& ignored) {
  const std::string who = "pod " + quote(pod.metadata.key());
  Result<Amounts> out = container_totals(pod);
  if (!out) return fail(out.error().wrap(who));
  if (pod.pod_requests) {
    Result<Amounts> whole_pod = amounts_of(*pod.pod_requests);
    if (!whole_pod) return fail(whole_pod.error().wrap(who + ": spec.resources.requests"));
    for (const auto& [name, amount] : *whole_pod)
      if (pod_level_resource(name)) (*out)[name] = amount;
  }
  Result<Amounts> overhead = amounts_of(pod.overhead);
  if (!overhead) return fail(overhead.error().wrap(who + ": spec.overhead"));
  add_to(*out, *overhead);
  if (ignored) std::erase_if(*out, [&](const auto& entry) { return ignored(entry.first); });
  return out;
}

void NodeLoad::add(const Amounts& requests, const std::vector<uint16_t>& host_ports) {
  add_to(requested_, requests);
  basics_ = Basics(requested_);
  ++pods_;
  for (uint16_t port : host_ports) ++ports_[port];
}

void NodeLoad::remove(const Amounts& requests, const std::vector<uint16_t>& host_ports) {
  for (const auto& [name, amount] : requests) {
    auto found = requested_.find(name);
    if (found == requested_.end()) continue;
    found->second = saturating_add(found->second, -amount);
    if (found->second == 0) requested_.erase(found);
  }
  basics_ = Basics(requested_);
  if (pods_ > 0) --pods_;
  for (uint16_t port : host_ports) {
    auto found = ports_.find(port);
    if (found != ports_.end() && --found->second <= 0) ports_.erase(found);
  }
}

std::vector<uint16_t> host_ports_of(const api::Pod& pod) {
  std::vector<uint16_t> out;
  for (const api::Container& container : pod.containers)
    out.insert(out.end(), container.host_ports.begin(), container.host_ports.end());
  for (const api::Container& container : pod.init_containers)
    if (is_sidecar(container)) out.insert(out.end(), container.host_ports.begin(), container.host_ports.end());
  return out;
}

}  // namespace dra::placement
