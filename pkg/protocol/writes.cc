#include "pkg/protocol/writes.h"

#include <algorithm>

#include "pkg/api/encode.h"
#include "pkg/base/json_text.h"
#include "pkg/base/timestamp.h"
#include "pkg/protocol/history.h"
#include "pkg/protocol/leaving.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/pod_status.h"
#include "pkg/reconcile/view.h"

namespace dra::protocol {

using namespace reconcile;

namespace {

// The members "resourceVersion" and "uid" of metadata: preconditions.
void write_preconditions(JsonText& out, const api::ObjectMeta& metadata) {
  out.member("resourceVersion", metadata.resource_version);
  out.member("uid", metadata.uid);
}

Write patch_of(const api::ResourceClaim& claim, std::string subresource, JsonText body, std::string purpose) {
  Write write;
  write.verb = Verb::kMergePatch;
  write.object = ref_of(claim);
  write.subresource = std::move(subresource);
  write.resource_version = claim.metadata.resource_version;
  write.body = std::move(body).text();
  write.purpose = std::move(purpose);
  return write;
}

// {"metadata": the preconditions, MEMBER: {members}}
template <class F>
JsonText guarded_patch(const api::ObjectMeta& metadata, const char* member, F&& members) {
  JsonText out;
  out.object([&] {
    out.object("metadata", [&] { write_preconditions(out, metadata); });
    out.object(member, [&] { members(out); });
  });
  return out;
}

void write_consumers(JsonText& out, const std::vector<api::ResourceClaimConsumerReference>& consumers) {
  out.array([&] {
    for (const api::ResourceClaimConsumerReference& consumer : consumers) api::write(out, consumer);
  });
}

// In a merge patch null removes the member.
void write_reserved_for(JsonText& out, const std::vector<api::ResourceClaimConsumerReference>& consumers) {
  if (consumers.empty()) return out.null("reservedFor");
  out.key("reservedFor");
  write_consumers(out, consumers);
}

// The metadata of a claim that the pod owns.
api::ObjectMeta made_for(const api::Pod& pod, std::string name) {
  api::ObjectMeta metadata;
  metadata.name = std::move(name);
  metadata.ns = pod.metadata.ns;
  metadata.owner_references = {
      {.api_version = "v1", .kind = "Pod", .name = pod.metadata.name, .uid = pod.metadata.uid, .controller = true}};
  return metadata;
}

// `spec` adds the member "spec".
template <class F>
Write create_claim(const api::ObjectMeta& metadata, std::string_view dra_api_version, std::string purpose, F&& spec) {
  JsonText out;
  out.object([&] {
    out.member("apiVersion", dra_api_version);
    out.member("kind", "ResourceClaim");
    out.key("metadata");
    api::write(out, metadata);
    spec(out);
  });
  Write write;
  write.verb = Verb::kCreate;
  write.object = {Kind::kClaim, metadata.ns, metadata.name, ""};
  write.purpose = std::move(purpose);
  write.body = std::move(out).text();
  return write;
}

}  // namespace

Ref ref_of(Kind kind, const api::ObjectMeta& metadata) {
  return {kind, metadata.ns, metadata.name, metadata.uid};
}

Write write_reservations(const api::ResourceClaim& claim,
                         const std::vector<api::ResourceClaimConsumerReference>& consumers, std::string purpose) {
  return patch_of(claim, "status",
                  guarded_patch(claim.metadata, "status", [&](JsonText& out) { write_reserved_for(out, consumers); }),
                  std::move(purpose));
}

Write write_deallocation(const api::ResourceClaim& claim, std::string purpose) {
  return patch_of(claim, "status",
                  guarded_patch(claim.metadata, "status",
                                [](JsonText& out) {
                                  out.null("allocation");
                                  out.null("reservedFor");
                                }),
                  std::move(purpose));
}

namespace {

// One operation of a JSON patch; `rest` adds the members after "op".
template <class F>
void write_operation(JsonText& out, const char* op, const std::string& path, F&& rest) {
  out.object([&] {
    out.member("op", op);
    out.member("path", path);
    rest();
  });
}

void write_removal(JsonText& out, const std::string& path) {
  write_operation(out, "remove", path, [] {});
}

void write_addition(JsonText& out, const std::string& path, std::string_view value) {
  write_operation(out, "add", path, [&] { out.member("value", value); });
}

// Additions of uid and resourceVersion are preconditions as in a merge patch.
void write_precondition_operations(JsonText& out, const api::ObjectMeta& metadata) {
  write_addition(out, "/metadata/uid", metadata.uid);
  write_addition(out, "/metadata/resourceVersion", metadata.resource_version);
}

// The operations by which the API server copies the parameters that were not kept from the claim's spec, byte for byte.
void write_copies(JsonText& out, const api::AllocationResult& allocation) {
  for (size_t i = 0; i < allocation.config.size(); ++i) {
    const auto& opaque = allocation.config[i].opaque;
    if (!opaque || opaque->at_entry < 0) continue;
    const std::string path = "/status/allocation/devices/config/" + std::to_string(i) + "/opaque/parameters";
    const std::string from = "/spec/devices/config/" + std::to_string(opaque->at_entry) + "/opaque/parameters";
    write_operation(out, "copy", path, [&] { out.member("from", from); });
  }
}

bool has_copies(const api::AllocationResult& allocation) {
  return std::any_of(allocation.config.begin(), allocation.config.end(),
                     [](const auto& config) { return config.opaque && config.opaque->at_entry >= 0; });
}

// As a JSON patch: a merge patch cannot copy.
JsonText allocation_operations(const api::ResourceClaim& claim, const api::AllocationResult& allocation,
                               const std::vector<api::ResourceClaimConsumerReference>& consumers) {
  JsonText out;
  out.array([&] {
    write_precondition_operations(out, claim.metadata);
    write_operation(out, "add", "/status/allocation", [&] {
      out.key("value");
      api::write(out, allocation);
    });
    write_copies(out, allocation);
    if (!consumers.empty()) {
      write_operation(out, "add", "/status/reservedFor", [&] {
        out.key("value");
        write_consumers(out, consumers);
      });
    } else if (!claim.status.reserved_for.empty()) {
      write_removal(out, "/status/reservedFor");
    }
  });
  return out;
}

JsonText allocation_patch(const api::ResourceClaim& claim, const api::AllocationResult& allocation,
                          const std::vector<api::ResourceClaimConsumerReference>& consumers) {
  return guarded_patch(claim.metadata, "status", [&](JsonText& out) {
    out.key("allocation");
    api::write(out, allocation);
    write_reserved_for(out, consumers);
  });
}

}  // namespace

Write write_allocation(const api::ResourceClaim& claim, const api::AllocationResult& allocation,
                       const std::vector<api::ResourceClaimConsumerReference>& consumers, std::string purpose) {
  const bool copies = has_copies(allocation);
  Write write = patch_of(
      claim, "status",
      copies ? allocation_operations(claim, allocation, consumers) : allocation_patch(claim, allocation, consumers),
      std::move(purpose));
  if (copies) write.verb = Verb::kJsonPatch;
  write.field_manager = kAllocationManager;
  write.assume = allocation;
  return write;
}

Write write_allocation_later(std::shared_ptr<const api::ResourceClaim> claim, api::AllocationResult allocation,
                             std::vector<api::ResourceClaimConsumerReference> consumers, std::string purpose) {
  Write write;
  write.verb = has_copies(allocation) ? Verb::kJsonPatch : Verb::kMergePatch;
  write.object = ref_of(*claim);
  write.subresource = "status";
  write.resource_version = claim->metadata.resource_version;
  write.purpose = std::move(purpose);
  write.field_manager = kAllocationManager;
  write.assume = std::move(allocation);
  write.unbuilt = UnbuiltAllocation{std::move(claim), std::move(consumers)};
  return write;
}

void build_body(Write& write) {
  if (!write.unbuilt) return;
  write.body = write_allocation(*write.unbuilt->claim, *write.assume, write.unbuilt->consumers, "").body;
  write.unbuilt.reset();
}

namespace {

// Only our own finalizer is decoded. A JSON patch removes it by its index or appends it; the precondition on the
// resourceVersion assures that the index is right.
Write write_metadata_in_place(const api::ResourceClaim& claim, bool wants_ours,
                              const std::map<std::string, std::optional<std::string>>& annotations,
                              std::string purpose) {
  JsonText out;
  out.array([&] {
    write_precondition_operations(out, claim.metadata);
    const bool has_ours = claim.metadata.has_finalizer(api::kDeleteProtectionFinalizer);
    if (has_ours && !wants_ours) write_removal(out, "/metadata/finalizers/" + std::to_string(claim.finalizer_at));
    if (!has_ours && wants_ours) write_addition(out, "/metadata/finalizers/-", api::kDeleteProtectionFinalizer);
    for (const auto& [name, value] : annotations) {
      std::string path = "/metadata/annotations/";
      for (const char c : name) path += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
      if (value)
        write_addition(out, path, *value);
      else if (claim.metadata.annotations.contains(name))
        write_removal(out, path);
    }
  });
  Write write = patch_of(claim, "", std::move(out), std::move(purpose));
  write.verb = Verb::kJsonPatch;
  return write;
}

}  // namespace

Write write_metadata(const api::ResourceClaim& claim, const std::vector<std::string>& finalizers,
                     const std::map<std::string, std::optional<std::string>>& annotations, std::string purpose) {
  if (claim.finalizer_bytes_dropped > 0) {
    const bool wants_ours =
        std::find(finalizers.begin(), finalizers.end(), api::kDeleteProtectionFinalizer) != finalizers.end();
    return write_metadata_in_place(claim, wants_ours, annotations, std::move(purpose));
  }
  JsonText out;
  out.object([&] {
    out.object("metadata", [&] {
      if (!annotations.empty()) {
        out.object("annotations", [&] {
          for (const auto& [name, value] : annotations) value ? out.member(name, *value) : out.null(name);
        });
      }
      if (finalizers.empty())
        out.null("finalizers");
      else
        out.array("finalizers", [&] {
          for (const std::string& finalizer : finalizers) out.value(finalizer);
        });
      write_preconditions(out, claim.metadata);
    });
  });
  return patch_of(claim, "", std::move(out), std::move(purpose));
}

Write write_delete(Kind kind, const api::ObjectMeta& metadata, std::string purpose) {
  Write write;
  write.verb = Verb::kDelete;
  write.object = ref_of(kind, metadata);
  write.resource_version = metadata.resource_version;
  write.purpose = std::move(purpose);
  return write;
}

// The precondition is the whole version: a pod that has begun meanwhile is left alone.
Write write_eviction(const api::Pod& pod, std::string purpose) {
  Write write;
  write.verb = Verb::kCreate;
  write.object = ref_of(pod);
  write.subresource = "eviction";
  write.purpose = std::move(purpose);
  JsonText body;
  body.object([&] {
    body.member("apiVersion", "policy/v1");
    body.member("kind", "Eviction");
    body.object("metadata", [&] {
      body.member("name", pod.metadata.name);
      body.member("namespace", pod.metadata.ns);
    });
    body.object("deleteOptions",
                [&] { body.object("preconditions", [&] { write_preconditions(body, pod.metadata); }); });
  });
  write.body = std::move(body).text();
  return write;
}

namespace {

void write_statuses(JsonText& out, const std::vector<api::PodResourceClaimStatus>& statuses) {
  out.array("resourceClaimStatuses", [&] {
    for (const api::PodResourceClaimStatus& status : statuses) {
      out.object([&] {
        out.member("name", status.name);
        if (status.resource_claim_name) out.member("resourceClaimName", *status.resource_claim_name);
      });
    }
  });
}

}  // namespace

Write write_claim_statuses(const api::Pod& pod, const std::vector<api::PodResourceClaimStatus>& statuses,
                           std::string purpose) {
  return apply_pod_status(pod, {"", std::move(purpose)}, [&](JsonText& out) { write_statuses(out, statuses); });
}

Write write_claim_statuses_and_node(const api::Pod& pod, const std::vector<api::PodResourceClaimStatus>& statuses,
                                    const std::optional<std::string>& nominate, std::string purpose) {
  Write write;
  write.verb = Verb::kMergePatch;
  write.object = ref_of(pod);
  write.subresource = "status";
  write.resource_version = pod.metadata.resource_version;
  write.purpose = std::move(purpose);
  write.body = guarded_patch(pod.metadata, "status", [&](JsonText& out) {
                 if (nominate)
                   nominate->empty() ? out.null("nominatedNodeName") : out.member("nominatedNodeName", *nominate);
                 write_statuses(out, statuses);
               }).text();
  return write;
}

Write write_generated_claim(const api::Pod& pod, const std::string& entry,
                            const api::ResourceClaimTemplate& claim_template, const std::string& name,
                            std::string_view dra_api_version) {
  api::ObjectMeta metadata = made_for(pod, name);
  metadata.labels = claim_template.claim_labels;
  metadata.annotations = claim_template.claim_annotations;
  metadata.annotations[std::string(api::kPodClaimNameAnnotation)] = entry;
  return create_claim(metadata, dra_api_version, "create-claim", [&](JsonText& out) {
    // As the server sent it, so that fields unknown to this program are kept.
    out.raw("spec", claim_template.spec_json.empty() ? "{}" : claim_template.spec_json);
  });
}

Write write_binding(const api::Pod& pod, const std::string& node) {
  JsonText out;
  out.object([&] {
    out.member("apiVersion", "v1");
    out.member("kind", "Binding");
    out.object("metadata", [&] {
      out.member("name", pod.metadata.name);
      out.member("namespace", pod.metadata.ns);
      write_preconditions(out, pod.metadata);
    });
    out.object("target", [&] {
      out.member("apiVersion", "v1");
      out.member("kind", "Node");
      out.member("name", node);
    });
  });
  Write write;
  write.verb = Verb::kCreate;
  write.object = ref_of(pod);
  write.subresource = "binding";
  write.resource_version = pod.metadata.resource_version;
  write.purpose = "bind";
  write.body = std::move(out).text();
  write.assume_pod = AssumedPod{ref_of(pod), node};
  return write;
}

namespace {

void add_missing(std::vector<api::NodeSelectorRequirement>& to, const std::vector<api::NodeSelectorRequirement>& more) {
  for (const api::NodeSelectorRequirement& requirement : more)
    if (std::find(to.begin(), to.end(), requirement) == to.end()) to.push_back(requirement);
}

// The member "schedulingGates" without one of them.
void write_gates_but(JsonText& out, const api::Pod& pod, std::string_view gate) {
  const auto stays = [gate](const std::string& name) { return name != gate; };
  if (std::none_of(pod.scheduling_gates.begin(), pod.scheduling_gates.end(), stays)) return out.null("schedulingGates");
  out.array("schedulingGates", [&] {
    for (const std::string& name : pod.scheduling_gates)
      if (stays(name)) out.object([&] { out.member("name", name); });
  });
}

api::NodeSelector narrowed(const api::Pod& pod, const api::NodeSelectorTerm& by) {
  api::NodeSelector selector;
  if (!pod.node_affinity || !pod.node_affinity->required) {
    selector.terms.push_back(by);
    return selector;
  }
  selector = *pod.node_affinity->required;
  for (api::NodeSelectorTerm& term : selector.terms) {
    if (term.match_expressions.empty() && term.match_fields.empty()) continue;
    add_missing(term.match_expressions, by.match_expressions);
    add_missing(term.match_fields, by.match_fields);
  }
  return selector;
}

}  // namespace

Write write_ungated(const api::Pod& pod, std::string_view gate, const api::NodeSelectorTerm& narrowed_to,
                    bool keeps_announcement) {
  JsonText out;
  out.object([&] {
    out.object("metadata", [&] {
      if (!keeps_announcement && pod.metadata.annotations.contains(kLeavingAnnotation))
        out.object("annotations", [&] { out.null(kLeavingAnnotation); });
      write_preconditions(out, pod.metadata);
    });
    out.object("spec", [&] {
      if (!narrowed_to.match_expressions.empty() || !narrowed_to.match_fields.empty()) {
        out.object("affinity", [&] {
          out.object("nodeAffinity", [&] {
            out.key("requiredDuringSchedulingIgnoredDuringExecution");
            api::write(out, narrowed(pod, narrowed_to));
          });
        });
      }
      write_gates_but(out, pod, gate);
    });
  });
  Write write;
  write.verb = Verb::kMergePatch;
  write.object = ref_of(pod);
  write.resource_version = pod.metadata.resource_version;
  write.purpose = "lift-gate";
  write.body = std::move(out).text();
  return write;
}

Write write_nomination_removed(const api::Pod& pod, std::string purpose) {
  JsonText out;
  out.object([&] {
    out.object("metadata", [&] { out.member("uid", pod.metadata.uid); });
    out.object("status", [&] { out.null("nominatedNodeName"); });
  });
  Write write;
  write.verb = Verb::kMergePatch;
  write.object = ref_of(pod);
  write.subresource = "status";
  write.purpose = std::move(purpose);
  write.body = std::move(out).text();
  write.for_people = true;
  return write;
}

Write write_pod_annotation(const api::Pod& pod, std::string_view name, const std::string& value, std::string purpose) {
  JsonText out;
  out.object([&] {
    out.object("metadata", [&] {
      out.object("annotations", [&] { value.empty() ? out.null(name) : out.member(name, value); });
      write_preconditions(out, pod.metadata);
    });
  });
  Write write;
  write.verb = Verb::kMergePatch;
  write.object = ref_of(pod);
  write.resource_version = pod.metadata.resource_version;
  write.purpose = std::move(purpose);
  write.body = std::move(out).text();
  return write;
}

Write write_disruption_target(const View& view, const api::Pod& pod, std::string_view reason,
                              std::string_view message) {
  api::Condition condition;
  condition.type = kDisruptionTarget;
  condition.status = "True";
  condition.reason = reason;
  condition.message = message;
  return apply_pod_status(pod, {std::string(kEvictionManager), "mark-disruption"},
                          [&](JsonText& out) { write_conditions(out, condition, format_rfc3339(view.now())); });
}

Write write_rule_condition(const View& view, const api::DeviceTaintRule& rule, const api::Condition& condition) {
  JsonText out;
  out.object([&] {
    out.member("apiVersion", view.taint_rule_api_version());
    out.member("kind", "DeviceTaintRule");
    out.object("metadata", [&] {
      out.member("name", rule.metadata.name);
      out.member("uid", rule.metadata.uid);
    });
    out.object("status",
               [&] { write_conditions(out, condition, format_rfc3339(view.now()), rule.metadata.generation); });
  });
  Write write;
  write.verb = Verb::kApply;
  write.object = ref_of(Kind::kTaintRule, rule.metadata);
  write.subresource = "status";
  write.field_manager = kEvictionManager;
  write.purpose = "rule-status";
  write.body = std::move(out).text();
  return write;
}

Write write_extended_claim(const api::Pod& pod, const std::vector<api::DeviceRequest>& requests,
                           std::string_view dra_api_version) {
  // v1beta1 has the fields of `exactly` on the request itself.
  const bool flat = dra_api_version.ends_with("/v1beta1");
  const auto write_request = [flat](JsonText& out, const api::DeviceRequest& request) {
    const auto fields = [&] {
      out.member("allocationMode", "ExactCount");
      out.member("count", request.exactly->count);
      out.member("deviceClassName", request.exactly->device_class_name);
    };
    out.object([&] {
      flat ? fields() : out.object("exactly", fields);
      out.member("name", request.name);
    });
  };
  api::ObjectMeta metadata = made_for(pod, extended_claim_name(pod));
  metadata.annotations[std::string(api::kExtendedResourceClaimAnnotation)] = "true";
  return create_claim(metadata, dra_api_version, "create-extended-claim", [&](JsonText& out) {
    out.object("spec", [&] {
      out.object("devices", [&] {
        out.array("requests", [&] {
          for (const api::DeviceRequest& request : requests) write_request(out, request);
        });
      });
    });
  });
}

Write write_extended_status(const api::Pod& pod, const api::PodExtendedResourceClaimStatus& status) {
  return apply_pod_status(pod, {std::string(kExtendedManager), "publish-extended-claim"}, [&](JsonText& out) {
    out.object("extendedResourceClaimStatus", [&] {
      out.array("requestMappings", [&] {
        for (const api::ContainerExtendedResourceRequest& mapping : status.request_mappings) {
          out.object([&] {
            out.member("containerName", mapping.container_name);
            out.member("requestName", mapping.request_name);
            out.member("resourceName", mapping.resource_name);
          });
        }
      });
      out.member("resourceClaimName", status.resource_claim_name);
    });
  });
}

Write write_claims_take(const api::Pod& pod, const std::vector<api::ClaimTakes>& takes) {
  constexpr const char* kMember = "nodeAllocatableResourceClaimStatuses";
  Write write;
  write.verb = Verb::kMergePatch;
  write.object = ref_of(pod);
  write.subresource = "status";
  write.resource_version = pod.metadata.resource_version;
  write.purpose = "publish-node-resources";
  const auto write_entry = [&](JsonText& out, const api::ClaimTakes& one) {
    out.object([&] {
      out.array("containers", [&] {
        for (const std::string& container : containers_of_claim(pod, one.claim)) out.value(container);
      });
      out.member("resourceClaimName", one.claim);
      out.object("resources", [&] {
        for (const auto& [resource, amount] : one.resources) out.member(resource.c_str(), amount);
      });
    });
  };
  write.body = guarded_patch(pod.metadata, "status", [&](JsonText& out) {
                 if (takes.empty()) return out.null(kMember);
                 out.array(kMember, [&] {
                   for (const api::ClaimTakes& one : takes) write_entry(out, one);
                 });
               }).text();
  return write;
}

Write write_condition(const View& view, const api::Pod& pod, const api::Condition& condition, std::string purpose,
                      std::string_view cause) {
  std::string since = format_rfc3339(view.now());
  for (const api::Condition& known : pod.conditions)
    if (known.type == condition.type && known.status == condition.status && !known.last_transition_time.empty())
      since = known.last_transition_time;
  // npos + 1 is 0
  const std::string manager = std::string(kFieldManager) + "-" + condition.type.substr(condition.type.rfind('/') + 1);
  const auto history = pod.metadata.annotations.find(kHistoryAnnotation);
  const std::string_view known = history == pod.metadata.annotations.end() ? "" : std::string_view(history->second);
  Write write = apply_pod_status(
      pod, {manager, std::move(purpose), cause.empty() ? std::string() : history_with(known, view.now(), cause)},
      [&](JsonText& out) { write_conditions(out, condition, since); });
  write.for_people = true;
  return write;
}

void emit_once(const View& view, ReconcileResult& outcome, Event event) {
  if (event.signature.empty()) event.signature = event.note;
  if (view.last_event(event.regarding.uid, event.reason) == event.signature) return;
  outcome.add(std::move(event));
}

}  // namespace dra::protocol
