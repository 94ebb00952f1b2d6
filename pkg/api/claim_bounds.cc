#include "pkg/api/claim_bounds.h"

#include <algorithm>

#include "pkg/api/release.h"
#include "pkg/base/utf8.h"

namespace dra::api {
namespace {

// What this project's allocations remember of devices (pkg/identity/record.h). The server bounds an entry to 10 KiB and
// their number to 64.
bool read_here(const DeviceAllocationConfiguration& config) {
  return config.source == "FromClass" && config.opaque->driver == kIdentityDriver;
}
bool read_here(const DeviceClaimConfig&) {
  return false;
}

template <class Config, class F>
void drop_large_parameters(std::vector<Config>& configs, F&& dropped) {
  size_t kept = 0;
  for (size_t i = 0; i < configs.size(); ++i) {
    std::optional<OpaqueConfig>& opaque = configs[i].opaque;
    if (!opaque) continue;
    if (read_here(configs[i])) continue;
    const size_t bytes = opaque->parameters_json.size();
    if (kept + bytes <= kMaxKeptParameters) {
      kept += bytes;
      continue;
    }
    release(opaque->parameters_json);
    dropped(*opaque, i);
  }
}

template <class F>
void each_request(ResourceClaimSpec& spec, F&& f) {
  for (DeviceRequest& request : spec.requests) {
    if (request.exactly) f(*request.exactly);
    for (DeviceSubRequest& alternative : request.first_available) f(alternative);
  }
}

}  // namespace

void drop_beyond_bounds(ResourceClaimSpec& spec) {
  drop_large_parameters(spec.config,
                        [](OpaqueConfig& opaque, size_t at) { opaque.at_entry = static_cast<int32_t>(at); });
  size_t bytes = 0;
  each_request(spec, [&](const DeviceSubRequest& request) {
    for (const std::string& selector : request.selectors) bytes += selector.size();
    for (size_t i = 0; request.derived_attributes && i < request.derived_attributes->size(); ++i)
      bytes += (*request.derived_attributes)[i].expression.size() + (*request.derived_attributes)[i].name.size();
  });
  if (bytes <= kMaxClaimSelectorBytes) return;
  spec.selector_bytes_dropped = bytes;
  each_request(spec, [](DeviceSubRequest& request) {
    for (std::string& selector : request.selectors) release(selector);
    request.derived_attributes.reset();
  });
}

void drop_beyond_bounds(ResourceClaim& claim) {
  drop_beyond_bounds(claim.spec);
  std::vector<std::string>& finalizers = claim.metadata.finalizers;
  size_t bytes = 0;
  for (const std::string& finalizer : finalizers) bytes += finalizer.size();
  if (bytes <= kMaxFinalizerBytes) return;
  claim.finalizer_bytes_dropped = bytes;
  const auto ours = std::find(finalizers.begin(), finalizers.end(), kDeleteProtectionFinalizer);
  const bool has_ours = ours != finalizers.end();
  claim.finalizer_at = static_cast<size_t>(ours - finalizers.begin());
  release(finalizers);
  if (has_ours) finalizers.emplace_back(kDeleteProtectionFinalizer);
}

void drop_beyond_bounds(ResourceClaimTemplate& claim_template) {
  drop_beyond_bounds(claim_template.spec);  // the text has it
  size_t bytes = claim_template.spec_json.size();
  for (const StringMap* map : {&claim_template.claim_labels, &claim_template.claim_annotations})
    for (const auto& [name, value] : *map) bytes += name.size() + value.size();
  if (bytes <= kMaxTemplateBytes) return;
  claim_template.bytes_dropped = bytes;
  release(claim_template.spec);
  release(claim_template.spec_json);
  release(claim_template.claim_labels);
  release(claim_template.claim_annotations);
}

void drop_beyond_bounds(AllocatedDeviceStatus& status) {
  for (Condition& condition : status.conditions)
    for (std::string* text : {&condition.reason, &condition.message})
      if (text->size() > kMaxDeviceConditionText) *text = std::string(utf8_prefix(*text, kMaxDeviceConditionText));
}

size_t bytes_of(const NodeSelector& selector) {
  size_t bytes = 0;
  for (const NodeSelectorTerm& term : selector.terms) {
    bytes += sizeof term;
    for (const auto* requirements : {&term.match_expressions, &term.match_fields})
      for (const NodeSelectorRequirement& requirement : *requirements) {
        bytes += sizeof requirement + requirement.key.size() + requirement.op.size();
        for (const std::string& value : requirement.values) bytes += sizeof value + value.size();
      }
  }
  return bytes;
}

void drop_beyond_bounds(AllocationResult& allocation) {
  drop_large_parameters(allocation.config, [](OpaqueConfig&, size_t) {});
  if (!allocation.node_selector) return;
  const size_t bytes = bytes_of(*allocation.node_selector);
  if (bytes <= kMaxAllocationSelectorBytes) return;
  allocation.selector_bytes_dropped = bytes;
  release(*allocation.node_selector);
}

}  // namespace dra::api
