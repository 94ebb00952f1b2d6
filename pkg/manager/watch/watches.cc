#include "pkg/manager/watch/watches.h"

#include "pkg/base/strings.h"

namespace dra::manager {
namespace {

client::Resource core_kind(const char* plural, const char* kind, bool namespaced) {
  return {"", "v1", plural, kind, namespaced};
}
client::Resource dra_kind(const std::string& version, const char* plural, const char* kind, bool namespaced) {
  return {"resource.k8s.io", version, plural, kind, namespaced};
}

client::ReflectorOptions watching(client::Resource resource) {
  client::ReflectorOptions options;
  options.resource = std::move(resource);
  return options;
}

client::ReflectorOptions prepare_failures() {
  client::ReflectorOptions options = watching({"events.k8s.io", "v1", "events", "Event", true});
  options.field_selector = std::string("reason=") + api::kPrepareFailedReason;
  return options;
}

}  // namespace

Watches::Watches(Reactor& reactor, client::Transport& transport, Random& random, const std::string& version,
                 const std::string& rule_version)
    : traits(std::make_shared<client::ServerTraits>()),
      pods(reactor, transport, random, watching(core_kind("pods", "Pod", true)), traits),
      nodes(reactor, transport, random, watching(core_kind("nodes", "Node", false)), traits),
      claims(reactor, transport, random, watching(dra_kind(version, "resourceclaims", "ResourceClaim", true)), traits),
      templates(reactor, transport, random,
                watching(dra_kind(version, "resourceclaimtemplates", "ResourceClaimTemplate", true)), traits),
      slices(reactor, transport, random, watching(dra_kind(version, "resourceslices", "ResourceSlice", false)), traits),
      classes(reactor, transport, random, watching(dra_kind(version, "deviceclasses", "DeviceClass", false)), traits),
      budgets(reactor, transport, random,
              watching({"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", true}), traits),
      prepare_events(reactor, transport, random, prepare_failures(), traits) {
  if (rule_version.empty()) return;
  client::ReflectorOptions rules = watching(dra_kind(rule_version, "devicetaintrules", "DeviceTaintRule", false));
  rules.may_be_absent = true;  // it may disappear meanwhile: behind a gate, or in a version that is removed
  taint_rules.emplace(reactor, transport, random, std::move(rules), traits);
}

std::string unreadable_text(const client::Resource& resource, const client::Reflector& reflector) {
  const auto& unreadable = reflector.unreadable();
  if (unreadable.empty()) return "";
  const auto& [key, why] = *unreadable.begin();
  const std::string more = unreadable.size() > 1 ? ", and " + std::to_string(unreadable.size() - 1) + " more" : "";
  return resource.kind + " " + (key.empty() ? std::string("without a name") : quote(key)) + " cannot be read: " + why +
         more + "; correct or delete it";
}

}  // namespace dra::manager
