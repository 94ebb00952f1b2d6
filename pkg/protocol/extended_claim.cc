#include "pkg/protocol/extended_claim.h"

#include <algorithm>
#include <map>
#include <optional>

#include "pkg/api/quantity.h"

namespace dra::protocol {

using namespace reconcile;

namespace {

struct Asking {
  const api::Container* container = nullptr;
  size_t index = 0;  // over init containers, then containers
  bool init = false;
  bool sidecar = false;
  bool runs_beside(const Asking& init_container) const { return !init && (!sidecar || index > init_container.index); }
};

// In the order in which their requests are used: sidecars, then containers, then the other init containers.
std::vector<Asking> askers(const api::Pod& pod) {
  std::vector<Asking> sidecars, inits, containers;
  size_t index = 0;
  for (const api::Container& container : pod.init_containers) {
    const bool sidecar = container.restart_policy == "Always";
    (sidecar ? sidecars : inits).push_back({&container, index++, !sidecar, sidecar});
  }
  for (const api::Container& container : pod.containers) containers.push_back({&container, index++, false, false});
  sidecars.insert(sidecars.end(), containers.begin(), containers.end());
  sidecars.insert(sidecars.end(), inits.begin(), inits.end());
  return sidecars;
}

// A larger number is more than any claim can be allocated.
constexpr int64_t kMostDevices = 1'000'000;

// The API server's default for requests.
const std::string* asked_of(const api::Container& container, const std::string& resource) {
  if (const auto found = container.requests.find(resource); found != container.requests.end()) return &found->second;
  if (const auto found = container.limits.find(resource); found != container.limits.end()) return &found->second;
  return nullptr;
}

int64_t amount(const api::Container& container, const std::string& resource) {
  const std::string* text = asked_of(container, resource);
  const auto parsed = text ? api::Quantity::parse(*text) : Result<api::Quantity>(api::Quantity());
  return parsed ? std::clamp<int64_t>(parsed->value(), 0, kMostDevices) : 0;
}

std::vector<std::string> sorted_names(const api::Container& container) {
  std::vector<std::string> names;
  for (const auto& [name, quantity] : container.requests) names.push_back(name);
  for (const auto& [name, quantity] : container.limits)
    if (!container.requests.contains(name)) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

std::string request_name(const Asking& asking, const std::string& resource) {
  const std::vector<std::string> names = sorted_names(*asking.container);
  const auto place = std::find(names.begin(), names.end(), resource) - names.begin();
  return "container-" + std::to_string(asking.index) + "-request-" + std::to_string(place);
}

struct Planned {
  Asking by;
  std::string name;
  int64_t count = 0;
};

// The requests for one resource, and which container uses which.
class ResourcePlan {
 public:
  ResourcePlan(const std::vector<Asking>& all, const std::string& resource) {
    for (const Asking& asking : all)
      if (const int64_t count = amount(*asking.container, resource); !asking.init && count > 0)
        own_.push_back({asking, request_name(asking, resource), count});
    for (const Asking& asking : all) {
      if (!asking.init) continue;
      const int64_t lacks = amount(*asking.container, resource) - shared_with(asking);
      if (lacks > 0 && (!for_init_ || lacks > for_init_->count))
        for_init_ = Planned{asking, request_name(asking, resource), lacks};
    }
  }

  std::vector<Planned> requests() const {
    std::vector<Planned> all = own_;
    if (for_init_) all.push_back(*for_init_);
    return all;
  }
  std::vector<std::string> used_by(const Asking& asking, int64_t needs) const {
    std::vector<std::string> names;
    for (const Planned& planned : own_) {
      if (needs <= 0) break;
      const bool usable = asking.init ? planned.by.runs_beside(asking) : planned.by.index == asking.index;
      if (!usable) continue;
      names.push_back(planned.name);
      needs -= planned.count;
    }
    if (needs > 0 && for_init_) names.push_back(for_init_->name);
    return names;
  }

 private:
  int64_t shared_with(const Asking& init_container) const {
    int64_t sum = 0;
    for (const Planned& planned : own_)
      if (planned.by.runs_beside(init_container)) sum += planned.count;
    return sum;
  }

  std::vector<Planned> own_;
  std::optional<Planned> for_init_;
};

}  // namespace

ExtendedPlan plan_extended(const api::Pod& pod, const std::vector<ExtendedResource>& claimed) {
  const std::vector<Asking> all = askers(pod);
  std::map<std::string, ResourcePlan> plans;
  std::map<std::pair<size_t, std::string>, api::DeviceRequest> requests;  // by container and name
  for (const ExtendedResource& resource : claimed) {
    const ResourcePlan& plan = plans.emplace(resource.name, ResourcePlan(all, resource.name)).first->second;
    for (const Planned& planned : plan.requests()) {
      api::DeviceRequest request;
      request.name = planned.name;
      request.exactly.emplace();
      request.exactly->device_class_name = resource.device_class;
      request.exactly->allocation_mode = "ExactCount";
      request.exactly->count = planned.count;
      requests.emplace(std::pair{planned.by.index, planned.name}, std::move(request));
    }
  }
  ExtendedPlan out;
  for (auto& [place, request] : requests) out.requests.push_back(std::move(request));
  for (const Asking& asking : all)
    for (const auto& [resource, plan] : plans)
      for (std::string& name : plan.used_by(asking, amount(*asking.container, resource)))
        out.mappings.push_back({asking.container->name, resource, std::move(name)});
  return out;
}

std::vector<ExtendedResource> claimed_by(const api::Pod& pod, const std::vector<ExtendedResource>& resources,
                                         const api::ResourceClaim& claim) {
  std::vector<ExtendedResource> found;
  for (const ExtendedResource& resource : resources) {
    const std::vector<api::DeviceRequest> planned = plan_extended(pod, {resource}).requests;
    const bool any = std::any_of(planned.begin(), planned.end(), [&](const api::DeviceRequest& wanted) {
      return std::any_of(claim.spec.requests.begin(), claim.spec.requests.end(),
                         [&](const api::DeviceRequest& request) { return request.name == wanted.name; });
    });
    if (any) found.push_back(resource);
  }
  return found;
}

bool is_as_planned(const api::Pod& pod, const std::vector<ExtendedResource>& resources,
                   const api::ResourceClaim& claim) {
  const std::vector<ExtendedResource> claimed = claimed_by(pod, resources, claim);
  return !claimed.empty() && claim.spec.requests == plan_extended(pod, claimed).requests &&
         claim.spec.constraints.empty() && claim.spec.config.empty();
}

std::vector<ExtendedResource> to_claim_on(const api::Node& node, const std::vector<ExtendedResource>& resources) {
  std::vector<ExtendedResource> found;
  for (const ExtendedResource& resource : resources)
    if (!advertises(node, {resource})) found.push_back(resource);
  return found;
}

api::Pod without_resources(const api::Pod& pod, const std::vector<ExtendedResource>& claimed) {
  api::Pod rest = pod;
  for (auto* containers : {&rest.containers, &rest.init_containers})
    for (api::Container& container : *containers)
      for (const ExtendedResource& resource : claimed) {
        container.requests.erase(resource.name);
        container.limits.erase(resource.name);
      }
  return rest;
}

bool same_status(const api::PodExtendedResourceClaimStatus& a, const api::PodExtendedResourceClaimStatus& b) {
  const auto same = [](const api::ContainerExtendedResourceRequest& x, const api::ContainerExtendedResourceRequest& y) {
    return x.container_name == y.container_name && x.resource_name == y.resource_name &&
           x.request_name == y.request_name;
  };
  // An API server keeps the order; another writer may have had another one.
  return a.resource_claim_name == b.resource_claim_name && a.request_mappings.size() == b.request_mappings.size() &&
         std::is_permutation(a.request_mappings.begin(), a.request_mappings.end(), b.request_mappings.begin(), same);
}

}  // namespace dra::protocol
