#include "pkg/nodes/shape.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <tuple>

#include "pkg/alignment/alignment.h"
#include "pkg/allocator/locality.h"
#include "pkg/api/encode.h"

namespace dra::nodes {

namespace {

// A text of fields with their lengths, so that different lists never give the same text.
class Text {
 public:
  Text& add(std::string_view text) {
    text_ += std::to_string(text.size());
    text_ += ':';
    text_ += text;
    return *this;
  }
  Text& add(const api::StringMap& map) {
    add(std::to_string(map.size()));
    for (const auto& [name, value] : map) add(name).add(value);
    return *this;
  }
  Text& add(const std::vector<api::Container>& containers) {
    add(std::to_string(containers.size()));
    for (const api::Container& container : containers) {
      add(container.image).add(container.requests).add(container.limits).add(container.restart_policy);
      for (const api::HostPort& port : container.host_ports)
        add(std::to_string(port.port)).add(port.protocol).add(port.ip);
      for (const api::ContainerClaim& claim : container.claims) add(claim.name).add(claim.request);
    }
    return *this;
  }
  Text& add(const api::NodeAffinity& affinity) {
    if (affinity.required) add(api::encode(*affinity.required));
    for (const api::PreferredSchedulingTerm& term : affinity.preferred)
      add(std::to_string(term.weight)).add(api::encode(api::NodeSelector{{term.preference}}));
    return *this;
  }
  Text& add(const std::vector<api::Toleration>& tolerations) {
    for (const api::Toleration& t : tolerations) add(t.key).add(t.op).add(t.value).add(t.effect);
    return *this;
  }
  const std::string& text() const { return text_; }
  std::string digits() const {
    char digits[20];
    std::snprintf(digits, sizeof digits, "%016zx", std::hash<std::string>{}(text_));
    return digits;
  }

 private:
  std::string text_;
};

// Only this pod can use the claim, and the claim is unallocated.
bool is_the_pods_own(const api::Pod& pod, const protocol::ClaimState& claim) {
  const api::OwnerReference* owner = claim.claim->metadata.controller();
  return !claim.allocated() && owner && owner->uid == pod.metadata.uid;
}

const std::string* preferred_by(const api::ResourceClaim& claim) {
  const auto prefers = claim.metadata.annotations.find(std::string(allocator::kPreferAnnotation));
  return prefers == claim.metadata.annotations.end() ? nullptr : &prefers->second;
}

const std::string* pairs_of(const api::ObjectMeta& metadata) {
  if (metadata.annotations.empty()) return nullptr;
  const auto pairs = metadata.annotations.find(alignment::kPairsAnnotation);
  return pairs == metadata.annotations.end() ? nullptr : &pairs->second;
}

bool equal_texts(const std::string* a, const std::string* b) {
  return a != nullptr ? b != nullptr && *a == *b : b == nullptr;
}

// The pod's pairs name its claims by its own names for them.
std::string names_of_claims(const api::Pod& pod) {
  std::string names;
  for (const api::PodResourceClaim& entry : pod.resource_claims) names += entry.name + "\n";
  return names;
}

// What the allocator reads of an unallocated claim.
std::string text_of(const api::ResourceClaim& claim) {
  std::string text = api::encode(claim.spec);
  if (const std::string* prefers = preferred_by(claim)) text += *prefers;
  if (const std::string* pairs = pairs_of(claim.metadata)) text += "\n" + *pairs;
  if (claim.spec.unknown)
    for (const api::UnknownField& field : claim.spec.unknown->fields) text += field.field + "\n";
  return text;
}

// text_of() of each would be the same, as far as a comparison of the fields shows.
bool same_claims(const std::vector<protocol::ClaimState>& a, const std::vector<protocol::ClaimState>& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(), [](const protocol::ClaimState& x, const protocol::ClaimState& y) {
        if (x.allocated() || y.allocated()) return x.allocated() && y.allocated();
        return x.claim->spec == y.claim->spec && equal_texts(preferred_by(*x.claim), preferred_by(*y.claim)) &&
               equal_texts(pairs_of(x.claim->metadata), pairs_of(y.claim->metadata));
      });
}

}  // namespace

bool reads_beyond_node(const api::Pod& pod) {
  const auto has_terms = [](const api::PodAffinity& affinity) {
    return !affinity.required.empty() || !affinity.preferred.empty();
  };
  return has_terms(pod.pod_affinity) || has_terms(pod.pod_anti_affinity) || !pod.topology_spread.empty() ||
         !pod.volumes.empty();
}

std::string node_shape(const api::Pod& pod) {
  if (reads_beyond_node(pod)) return "";  // not worth a text: such a pod is unlike any other
  Text text;
  text.add(pod.metadata.ns);
  text.add(pod.node_selector).add(pod.tolerations);
  if (pod.node_affinity) text.add(*pod.node_affinity);
  text.add(pod.containers).add(pod.init_containers).add(pod.overhead);
  if (pod.pod_requests) text.add(*pod.pod_requests);
  if (pod.claims_take)
    for (const api::ClaimTakes& takes : *pod.claims_take) text.add("takes").add(takes.resources);
  return text.text();
}

bool has_same_node_shape(const api::Pod& a, const api::Pod& b) {
  const auto fields = [](const api::Pod& pod) {
    return std::tie(pod.metadata.ns, pod.node_selector, pod.tolerations, pod.node_affinity, pod.containers,
                    pod.init_containers, pod.overhead, pod.pod_requests, pod.claims_take, pod.pod_affinity,
                    pod.pod_anti_affinity, pod.topology_spread, pod.volumes);
  };
  return fields(a) == fields(b);
}

std::string shape_of_member(const api::Pod& pod, const std::string& on_nodes,
                            const std::vector<protocol::ClaimState>& claims) {
  if (on_nodes.empty() || !pod.node_name.empty()) return "";
  Text text;
  text.add(pod.scheduler_name).add(on_nodes).add(std::to_string(pod.priority));
  if (const std::string* pairs = pairs_of(pod.metadata)) text.add(*pairs).add(names_of_claims(pod));
  for (const protocol::ClaimState& claim : claims) text.add(claim.allocated() ? "" : text_of(*claim.claim));
  return text.digits();
}

std::string MemberShapes::of(const api::Pod& pod, const std::vector<protocol::ClaimState>& claims) {
  const bool same_on_nodes = pod_ != nullptr && !on_nodes_.empty() && nodes_.have_same_shape(*pod_, pod);
  if (!same_on_nodes) on_nodes_ = nodes_.shape(pod);
  if (!same_on_nodes || pod_->scheduler_name != pod.scheduler_name || pod_->priority != pod.priority ||
      pod_->node_name != pod.node_name || !same_claims(*claims_, claims) || pairs_of(pod_->metadata) != nullptr ||
      pairs_of(pod.metadata) != nullptr)
    shape_ = shape_of_member(pod, on_nodes_, claims);
  pod_ = &pod;
  claims_ = &claims;
  return shape_;
}

std::string shape_of(const api::Pod& pod, const std::string& on_nodes, const std::vector<protocol::ClaimState>& claims,
                     bool depends_on_pods) {
  if (on_nodes.empty() || !pod.node_name.empty()) return "";
  Text text;
  text.add(pod.scheduler_name).add(on_nodes);
  if (depends_on_pods) text.add(pod.metadata.labels);
  if (const std::string* pairs = pairs_of(pod.metadata)) text.add(*pairs).add(names_of_claims(pod));
  for (const protocol::ClaimState& claim : claims) {
    if (!is_the_pods_own(pod, claim)) return "";
    text.add(text_of(*claim.claim));
  }
  return text.digits();
}

}  // namespace dra::nodes
