#include "pkg/inspect/lint/pods.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "pkg/inspect/answer/answer.h"
#include "pkg/inspect/state/extended.h"
#include "pkg/inspect/state/pod_templates.h"

namespace dra::inspect {
namespace {

using nlohmann::json;

std::string text_in(const json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

const json& member_in(const json& object, const char* key) {
  static const json kNull;
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() ? *found : kNull;
}

// One entry of a pod's resourceClaims.
struct PodClaim {
  std::string name;
  std::string source;                                // "ResourceClaimTemplate gpu"
  std::optional<std::vector<std::string>> requests;  // of the claim, where it is known
  Place place;
  bool used = false;
};

class PodLinter {
 public:
  PodLinter(const json& spec, Place place, const Known& known, const std::string& ns, bool judged,
            FindingList& findings)
      : spec_(spec), place_(std::move(place)), known_(known), judged_(judged), findings_(findings) {
    const json& claims = member_in(spec, "resourceClaims");
    for (size_t i = 0; claims.is_array() && i < claims.size(); ++i)
      add_claim(claims[i], place_.child("resourceClaims").index(i), ns);
  }

  void run() {
    bool has_containers = false;
    for (const char* list : {"initContainers", "containers", "ephemeralContainers"}) {
      const json& containers = member_in(spec_, list);
      has_containers = has_containers || (containers.is_array() && !containers.empty());
      for (size_t i = 0; containers.is_array() && i < containers.size(); ++i)
        container(containers[i], place_.child(list).index(i));
    }
    extended(member_in(spec_, "resources"), place_.child("resources"));
    // A virtual machine names claims of its pod in other places.
    if (has_containers) unused();
  }

 private:
  void add_claim(const json& entry, const Place& place, const std::string& ns) {
    PodClaim claim{text_in(entry, "name"), "", std::nullopt, place};
    if (const std::string name = text_in(entry, "resourceClaimName"); !name.empty()) {
      claim.source = "ResourceClaim " + name;
      claim.requests = known_.requests_of_claim(ns, name);
    } else if (const std::string made = text_in(entry, "resourceClaimTemplateName"); !made.empty()) {
      claim.source = "ResourceClaimTemplate " + made;
      claim.requests = known_.requests_of_template(ns, made);
    }
    claims_.push_back(std::move(claim));
  }

  void container(const json& container, const Place& place) {
    const json& resources = member_in(container, "resources");
    const json& uses = member_in(resources, "claims");
    const std::string name = text_in(container, "name");
    for (size_t i = 0; uses.is_array() && i < uses.size(); ++i)
      use(uses[i], name, place.child("resources").child("claims").index(i));
    extended(resources, place.child("resources"));
  }

  // One entry of a container's resources.claims.
  void use(const json& entry, const std::string& container, const Place& place) {
    const std::string name = text_in(entry, "name"), request = text_in(entry, "request");
    const auto found =
        std::find_if(claims_.begin(), claims_.end(), [&](const PodClaim& one) { return one.name == name; });
    if (found == claims_.end()) {
      std::vector<std::string> names;
      for (const PodClaim& one : claims_) names.push_back(one.name);
      if (!judged_ && !name.empty())
        findings_.error(place.child("name"), LintCode::kClaimNotNamed,
                        "container " + quote(container) + " names claim " + quote(name) +
                            ", which is not in the pod's resourceClaims" +
                            (names.empty() ? "; add it there" : "; these are " + join(names, ", ")));
      return;
    }
    found->used = true;
    if (request.empty() || !found->requests) return;
    const std::vector<std::string>& requests = *found->requests;
    if (std::find(requests.begin(), requests.end(), request) != requests.end()) return;
    const std::string near = nearest(request, requests);
    findings_.error(place.child("request"), LintCode::kRequestMissing,
                    "container " + quote(container) + " asks for request " + quote(request) + " of claim " +
                        quote(name) + ", and " + found->source + " has " +
                        (requests.empty() ? "no request" : "only " + join(requests, ", ")) +
                        ": the container would get no device, without an error; " +
                        (!near.empty() ? "did you mean " + quote(near) + "?"
                                       : "name one of them, or leave request out for all devices of the claim"));
  }

  void unused() {
    for (const PodClaim& claim : claims_)
      if (!claim.used && !claim.name.empty())
        findings_.warn(claim.place, LintCode::kClaimUnused,
                       "no container uses claim " + quote(claim.name) +
                           ": its devices are taken, and no container sees them; add resources.claims "
                           "[{name: " +
                           claim.name + "}] to a container");
  }

  // Resources like nvidia.com/gpu, which a device plugin or a DeviceClass must offer. Until one does, the pod waits.
  void extended(const json& resources, const Place& place) {
    if (!known_.shows("nodes") || !known_.shows("deviceclasses")) return;
    std::set<std::string> seen;
    for (const char* list : {"limits", "requests"}) {
      const json& amounts = member_in(resources, list);
      if (!amounts.is_object()) continue;
      for (const auto& [name, amount] : amounts.items())
        if (is_extended_resource(name) && !is_nothing(amount) && seen.insert(name).second)
          not_offered(name, place.child(list).child(name));
    }
  }

  void not_offered(const std::string& name, const Place& place) {
    const std::set<std::string>& offered = known_.extended_resources();
    if (offered.contains(name)) return;
    const std::string near = nearest(name, {offered.begin(), offered.end()});
    findings_.warn(place, LintCode::kResourceNotOffered,
                   "no node has a device plugin for " + name + ", and no DeviceClass has extendedResourceName " + name +
                       ": the pod would wait; " +
                       (near.empty() ? "set it on a class, or ask for the device by a claim"
                                     : "did you mean " + quote(near) + "?"));
  }

  static bool is_nothing(const json& amount) {
    return (amount.is_number() && amount.get<double>() == 0) || (amount.is_string() && amount == "0");
  }

  const json& spec_;
  Place place_;
  const Known& known_;
  bool judged_;
  FindingList& findings_;
  std::vector<PodClaim> claims_;
};

}  // namespace

bool lint_pods(const json& object, const Place& place, const Known& known, bool judged, FindingList& findings) {
  const std::vector<PodTemplate> templates = pod_templates_of(object);
  const std::string ns = known.namespace_of(object);
  for (const PodTemplate& one : templates) {
    const json& pod = object[json::json_pointer(one.pointer)];
    const Place spec = place_at(object, place, one.pointer).child("spec");
    PodLinter(pod["spec"], spec, known, ns, judged, findings).run();
  }
  return !templates.empty();
}

}  // namespace dra::inspect
