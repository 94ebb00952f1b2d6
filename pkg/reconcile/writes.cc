#include "pkg/reconcile/writes.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/api/encode.h"
#include "pkg/base/check.h"
#include "pkg/reconcile/leaving.h"
#include "pkg/reconcile/pod_claims.h"
#include "pkg/reconcile/view.h"

namespace dra::reconcile {

namespace {

using Json = nlohmann::json;

// dump() that never throws: names come from an API server, but a byte that is not UTF-8 must not end the process.
void append_scalar(std::string& out, const Json& json) {
  out += json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void append_text(std::string& out, const std::string& text) {
  const bool plain =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
  if (!plain) return append_scalar(out, Json(text));
  out += '"';
  out += text;
  out += '"';
}

void append_json(std::string& out, const Json& json) {
  if (json.is_string()) return append_text(out, json.get_ref<const std::string&>());
  if (json.is_null()) return void(out += "null");
  if (json.is_boolean()) return void(out += json.get<bool>() ? "true" : "false");
  if (!json.is_structured()) return append_scalar(out, json);
  out += json.is_object() ? '{' : '[';
  const size_t begin = out.size();
  for (auto member = json.begin(); member != json.end(); ++member) {
    if (out.size() != begin) out += ',';
    if (json.is_object()) {
      append_text(out, member.key());
      out += ':';
    }
    append_json(out, *member);
  }
  out += json.is_object() ? '}' : ']';
}

// The text of dump(), several times as fast: nearly all strings of a write are plain ASCII, which dump() decodes as
// UTF-8 byte by byte.
std::string dumped(const Json& json) {
  std::string out;
  out.reserve(1024);  // most writes
  append_json(out, json);
  return out;
}

Json preconditions(const api::ObjectMeta& metadata) {
  return {{"uid", metadata.uid}, {"resourceVersion", metadata.resource_version}};
}

Write patch_of(const api::ResourceClaim& claim, std::string subresource, const Json& body, std::string purpose) {
  Write write;
  write.verb = Verb::kMergePatch;
  write.object = ref_of(claim);
  write.subresource = std::move(subresource);
  write.resource_version = claim.metadata.resource_version;
  write.body = dumped(body);
  write.purpose = std::move(purpose);
  return write;
}

constexpr std::string_view kRawParameters = "raw-parameters";

// Puts the parameters where dumped() wrote `kRawParameters`, byte for byte as the server sent them, at any depth and
// with numbers of any length (a tree of them would need a stack as deep as they are). `body` has no other
// member "parameters" before the configuration: members are in alphabetical order.
std::string with_parameters(std::string body, const std::vector<const std::string*>& parameters) {
  const std::string place = "\"parameters\":\"" + std::string(kRawParameters) + "\"";
  if (parameters.empty()) return body;
  std::string out;
  size_t copied = 0;
  for (const std::string* text : parameters) {
    const size_t at = body.find(place, copied);
    DRA_CHECK(at != std::string::npos);
    out.append(body, copied, at - copied).append("\"parameters\":").append(*text);
    copied = at + place.size();
  }
  return out.append(body, copied);
}

Json consumers_json(const std::vector<api::ResourceClaimConsumerReference>& consumers) {
  if (consumers.empty()) return nullptr;
  Json list = Json::array();
  for (const api::ResourceClaimConsumerReference& consumer : consumers) list.push_back(api::to_json(consumer));
  return list;
}

// Server-side apply to a pod's status, pinned to its uid: fields applied before and now left out are removed.
Write apply_pod_status(const api::Pod& pod, std::string manager, std::string purpose, Json status) {
  const api::ObjectMeta& metadata = pod.metadata;
  Write write;
  write.verb = Verb::kApply;
  write.object = ref_of(pod);
  write.subresource = "status";
  write.field_manager = std::move(manager);
  write.purpose = std::move(purpose);
  write.body = dumped({{"apiVersion", "v1"},
                       {"kind", "Pod"},
                       {"metadata", {{"name", metadata.name}, {"namespace", metadata.ns}, {"uid", metadata.uid}}},
                       {"status", std::move(status)}});
  return write;
}

}  // namespace

Ref ref_of(Kind kind, const api::ObjectMeta& metadata) {
  return {kind, metadata.ns, metadata.name, metadata.uid};
}

Write write_reservations(const api::ResourceClaim& claim,
                         const std::vector<api::ResourceClaimConsumerReference>& consumers, std::string purpose) {
  return patch_of(
      claim, "status",
      {{"metadata", preconditions(claim.metadata)}, {"status", {{"reservedFor", consumers_json(consumers)}}}},
      std::move(purpose));
}

Write write_deallocation(const api::ResourceClaim& claim, std::string purpose) {
  return patch_of(
      claim, "status",
      {{"metadata", preconditions(claim.metadata)}, {"status", {{"allocation", nullptr}, {"reservedFor", nullptr}}}},
      std::move(purpose));
}

namespace {

// The allocation with the place of each parameters_json, which are put in later, in order.
Json with_places(const api::AllocationResult& allocation, std::vector<const std::string*>& parameters) {
  if (allocation.config.empty()) return api::to_json(allocation);
  api::AllocationResult shallow = allocation;
  for (size_t i = 0; i < allocation.config.size(); ++i) {
    if (!allocation.config[i].opaque || allocation.config[i].opaque->parameters_json.empty()) continue;
    parameters.push_back(&allocation.config[i].opaque->parameters_json);
    shallow.config[i].opaque->parameters_json = Json(kRawParameters).dump();
  }
  return api::to_json(shallow);
}

Json operation(const char* op, const std::string& path) {
  return {{"op", op}, {"path", path}};
}

Json addition(const std::string& path, Json value) {
  Json out = operation("add", path);
  out["value"] = std::move(value);
  return out;
}

// The operations by which the API server copies the parameters that were not kept from the claim's spec, byte for byte.
void add_copies(const api::AllocationResult& allocation, Json& operations) {
  for (size_t i = 0; i < allocation.config.size(); ++i) {
    const auto& opaque = allocation.config[i].opaque;
    if (!opaque || opaque->at_entry < 0) continue;
    Json copy = operation("copy", "/status/allocation/devices/config/" + std::to_string(i) + "/opaque/parameters");
    copy["from"] = "/spec/devices/config/" + std::to_string(opaque->at_entry) + "/opaque/parameters";
    operations.push_back(std::move(copy));
  }
}

bool has_copies(const api::AllocationResult& allocation) {
  return std::any_of(allocation.config.begin(), allocation.config.end(),
                     [](const auto& config) { return config.opaque && config.opaque->at_entry >= 0; });
}

// As a JSON patch: a merge patch cannot copy. Additions of uid and resourceVersion are preconditions as in a merge
// patch.
Json allocation_operations(const api::ResourceClaim& claim, const api::AllocationResult& allocation, Json value,
                           Json consumers) {
  Json out = Json::array({addition("/metadata/uid", claim.metadata.uid),
                          addition("/metadata/resourceVersion", claim.metadata.resource_version),
                          addition("/status/allocation", std::move(value))});
  add_copies(allocation, out);
  if (!consumers.is_null())
    out.push_back(addition("/status/reservedFor", std::move(consumers)));
  else if (!claim.status.reserved_for.empty())
    out.push_back(operation("remove", "/status/reservedFor"));
  return out;
}

}  // namespace

Write write_allocation(const api::ResourceClaim& claim, const api::AllocationResult& allocation,
                       const std::vector<api::ResourceClaimConsumerReference>& consumers, std::string purpose) {
  std::vector<const std::string*> parameters;
  Json value = with_places(allocation, parameters);
  Write write;
  if (has_copies(allocation)) {
    write =
        patch_of(claim, "status", allocation_operations(claim, allocation, std::move(value), consumers_json(consumers)),
                 std::move(purpose));
    write.verb = Verb::kJsonPatch;
  } else {
    write = patch_of(claim, "status",
                     {{"metadata", preconditions(claim.metadata)},
                      {"status", {{"allocation", std::move(value)}, {"reservedFor", consumers_json(consumers)}}}},
                     std::move(purpose));
  }
  write.body = with_parameters(std::move(write.body), parameters);
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
  Json out = Json::array({addition("/metadata/uid", claim.metadata.uid),
                          addition("/metadata/resourceVersion", claim.metadata.resource_version)});
  const bool has_ours = claim.metadata.has_finalizer(api::kDeleteProtectionFinalizer);
  if (has_ours && !wants_ours)
    out.push_back(operation("remove", "/metadata/finalizers/" + std::to_string(claim.finalizer_at)));
  if (!has_ours && wants_ours)
    out.push_back(addition("/metadata/finalizers/-", std::string(api::kDeleteProtectionFinalizer)));
  for (const auto& [name, value] : annotations) {
    std::string path = "/metadata/annotations/";
    for (const char c : name) path += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    if (value)
      out.push_back(addition(path, *value));
    else if (claim.metadata.annotations.contains(name))
      out.push_back(operation("remove", path));
  }
  Write write = patch_of(claim, "", out, std::move(purpose));
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
  Json metadata = preconditions(claim.metadata);
  metadata["finalizers"] = finalizers.empty() ? Json(nullptr) : Json(finalizers);
  for (const auto& [name, value] : annotations) metadata["annotations"][name] = value ? Json(*value) : Json(nullptr);
  return patch_of(claim, "", {{"metadata", std::move(metadata)}}, std::move(purpose));
}

Write write_delete(Kind kind, const api::ObjectMeta& metadata, std::string purpose) {
  Write write;
  write.verb = Verb::kDelete;
  write.object = ref_of(kind, metadata);
  write.resource_version = metadata.resource_version;
  write.purpose = std::move(purpose);
  return write;
}

namespace {

Json claim_statuses_json(const std::vector<api::PodResourceClaimStatus>& statuses) {
  Json list = Json::array();
  for (const api::PodResourceClaimStatus& status : statuses) {
    Json entry{{"name", status.name}};
    if (status.resource_claim_name) entry["resourceClaimName"] = *status.resource_claim_name;
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace

Write write_claim_statuses(const api::Pod& pod, const std::vector<api::PodResourceClaimStatus>& statuses,
                           std::string purpose) {
  return apply_pod_status(pod, "", std::move(purpose), {{"resourceClaimStatuses", claim_statuses_json(statuses)}});
}

Write write_claim_statuses_and_node(const api::Pod& pod, const std::vector<api::PodResourceClaimStatus>& statuses,
                                    const std::optional<std::string>& nominate, std::string purpose) {
  Json status{{"resourceClaimStatuses", claim_statuses_json(statuses)}};
  if (nominate) status["nominatedNodeName"] = nominate->empty() ? Json(nullptr) : Json(*nominate);
  Write write;
  write.verb = Verb::kMergePatch;
  write.object = ref_of(pod);
  write.subresource = "status";
  write.resource_version = pod.metadata.resource_version;
  write.purpose = std::move(purpose);
  write.body = dumped({{"metadata", preconditions(pod.metadata)}, {"status", std::move(status)}});
  return write;
}

Write write_generated_claim(const api::Pod& pod, const std::string& entry,
                            const api::ResourceClaimTemplate& claim_template, const std::string& name,
                            std::string_view dra_api_version) {
  Json metadata{{"name", name}, {"namespace", pod.metadata.ns}};
  if (!claim_template.claim_labels.empty()) metadata["labels"] = claim_template.claim_labels;
  api::StringMap annotations = claim_template.claim_annotations;  // a copy: the template belongs to the store
  annotations[std::string(api::kPodClaimNameAnnotation)] = entry;
  metadata["annotations"] = annotations;
  metadata["ownerReferences"] = Json::array({{{"apiVersion", "v1"},
                                              {"kind", "Pod"},
                                              {"name", pod.metadata.name},
                                              {"uid", pod.metadata.uid},
                                              {"controller", true}}});
  Write write;
  write.verb = Verb::kCreate;
  write.object = {Kind::kClaim, pod.metadata.ns, name, ""};
  write.purpose = "create-claim";
  // The spec is spliced in as the server sent it, so that fields unknown to this program are kept.
  write.body = dumped({{"apiVersion", dra_api_version}, {"kind", "ResourceClaim"}, {"metadata", std::move(metadata)}});
  write.body.pop_back();
  write.body += ",\"spec\":" + (claim_template.spec_json.empty() ? "{}" : claim_template.spec_json) + "}";
  return write;
}

Write write_binding(const api::Pod& pod, const std::string& node) {
  Write write;
  write.verb = Verb::kCreate;
  write.object = ref_of(pod);
  write.subresource = "binding";
  write.purpose = "bind";
  write.body =
      dumped({{"apiVersion", "v1"},
              {"kind", "Binding"},
              {"metadata", {{"name", pod.metadata.name}, {"namespace", pod.metadata.ns}, {"uid", pod.metadata.uid}}},
              {"target", {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}}}});
  write.assume_pod = AssumedPod{ref_of(pod), node};
  return write;
}

namespace {

void add_missing(std::vector<api::NodeSelectorRequirement>& to, const std::vector<api::NodeSelectorRequirement>& more) {
  for (const api::NodeSelectorRequirement& requirement : more)
    if (std::find(to.begin(), to.end(), requirement) == to.end()) to.push_back(requirement);
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

Write write_ungated(const api::Pod& pod, std::string_view gate, const api::NodeSelectorTerm& narrowed_to) {
  Json gates = Json::array();
  for (const std::string& name : pod.scheduling_gates)
    if (name != gate) gates.push_back({{"name", name}});
  Json spec{{"schedulingGates", gates.empty() ? Json(nullptr) : std::move(gates)}};
  if (!narrowed_to.match_expressions.empty() || !narrowed_to.match_fields.empty())
    spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
        api::to_json(narrowed(pod, narrowed_to));
  Write write;
  write.verb = Verb::kMergePatch;
  write.object = ref_of(pod);
  write.resource_version = pod.metadata.resource_version;
  write.purpose = "lift-gate";
  Json metadata = preconditions(pod.metadata);
  if (pod.metadata.annotations.contains(kLeavingAnnotation)) metadata["annotations"][kLeavingAnnotation] = nullptr;
  write.body = dumped({{"metadata", std::move(metadata)}, {"spec", std::move(spec)}});
  return write;
}

Write write_nomination_removed(const api::Pod& pod, std::string purpose) {
  Write write;
  write.verb = Verb::kMergePatch;
  write.object = ref_of(pod);
  write.subresource = "status";
  write.purpose = std::move(purpose);
  write.body = dumped({{"metadata", {{"uid", pod.metadata.uid}}}, {"status", {{"nominatedNodeName", nullptr}}}});
  write.for_people = true;
  return write;
}

Write write_pod_annotation(const api::Pod& pod, std::string_view name, const std::string& value, std::string purpose) {
  Json metadata = preconditions(pod.metadata);
  metadata["annotations"][name] = value.empty() ? Json(nullptr) : Json(value);
  Write write;
  write.verb = Verb::kMergePatch;
  write.object = ref_of(pod);
  write.resource_version = pod.metadata.resource_version;
  write.purpose = std::move(purpose);
  write.body = dumped({{"metadata", std::move(metadata)}});
  return write;
}

Write write_disruption_target(const View& view, const api::Pod& pod, std::string_view reason,
                              std::string_view message) {
  const Json condition{{"type", kDisruptionTarget},
                       {"status", "True"},
                       {"reason", reason},
                       {"message", message},
                       {"lastTransitionTime", format_rfc3339(view.now())}};
  return apply_pod_status(pod, std::string(kEvictionManager), "mark-disruption",
                          {{"conditions", Json::array({condition})}});
}

Write write_rule_condition(const View& view, const api::DeviceTaintRule& rule, const api::Condition& condition) {
  Write write;
  write.verb = Verb::kApply;
  write.object = ref_of(Kind::kTaintRule, rule.metadata);
  write.subresource = "status";
  write.field_manager = kEvictionManager;
  write.purpose = "rule-status";
  write.body = dumped({{"apiVersion", view.taint_rule_api_version()},
                       {"kind", "DeviceTaintRule"},
                       {"metadata", {{"name", rule.metadata.name}, {"uid", rule.metadata.uid}}},
                       {"status",
                        {{"conditions", Json::array({{{"type", condition.type},
                                                      {"status", condition.status},
                                                      {"reason", condition.reason},
                                                      {"message", condition.message},
                                                      {"observedGeneration", rule.metadata.generation},
                                                      {"lastTransitionTime", format_rfc3339(view.now())}}})}}}});
  return write;
}

Write write_extended_claim(const api::Pod& pod, const std::vector<api::DeviceRequest>& requests,
                           std::string_view dra_api_version) {
  const std::string name = extended_claim_name(pod);
  const Json owner{{"apiVersion", "v1"},
                   {"kind", "Pod"},
                   {"name", pod.metadata.name},
                   {"uid", pod.metadata.uid},
                   {"controller", true}};
  Json list = Json::array();
  // v1beta1 has the fields of `exactly` on the request itself.
  const bool flat = dra_api_version.ends_with("/v1beta1");
  for (const api::DeviceRequest& request : requests) {
    Json fields{{"deviceClassName", request.exactly->device_class_name},
                {"allocationMode", "ExactCount"},
                {"count", request.exactly->count}};
    if (flat) {
      fields["name"] = request.name;
      list.push_back(std::move(fields));
    } else {
      list.push_back({{"name", request.name}, {"exactly", std::move(fields)}});
    }
  }
  Write write;
  write.verb = Verb::kCreate;
  write.object = {Kind::kClaim, pod.metadata.ns, name, ""};
  write.purpose = "create-extended-claim";
  write.body = dumped({{"apiVersion", dra_api_version},
                       {"kind", "ResourceClaim"},
                       {"metadata",
                        {{"name", name},
                         {"namespace", pod.metadata.ns},
                         {"annotations", {{api::kExtendedResourceClaimAnnotation, "true"}}},
                         {"ownerReferences", Json::array({owner})}}},
                       {"spec", {{"devices", {{"requests", std::move(list)}}}}}});
  return write;
}

Write write_extended_status(const api::Pod& pod, const api::PodExtendedResourceClaimStatus& status) {
  Json mappings = Json::array();
  for (const api::ContainerExtendedResourceRequest& mapping : status.request_mappings)
    mappings.push_back({{"containerName", mapping.container_name},
                        {"resourceName", mapping.resource_name},
                        {"requestName", mapping.request_name}});
  return apply_pod_status(
      pod, std::string(kExtendedManager), "publish-extended-claim",
      {{"extendedResourceClaimStatus",
        {{"resourceClaimName", status.resource_claim_name}, {"requestMappings", std::move(mappings)}}}});
}

Write write_condition(const View& view, const api::Pod& pod, const api::Condition& condition, std::string purpose) {
  std::string since = format_rfc3339(view.now());
  for (const api::Condition& known : pod.conditions)
    if (known.type == condition.type && known.status == condition.status && !known.last_transition_time.empty())
      since = known.last_transition_time;
  const Json json{{"type", condition.type},
                  {"status", condition.status},
                  {"reason", condition.reason},
                  {"message", condition.message},
                  {"lastTransitionTime", since}};
  // npos + 1 is 0
  const std::string manager = std::string(kFieldManager) + "-" + condition.type.substr(condition.type.rfind('/') + 1);
  Write write = apply_pod_status(pod, manager, std::move(purpose), {{"conditions", Json::array({json})}});
  write.for_people = true;
  return write;
}

void emit_once(const View& view, Outcome& outcome, Event event) {
  if (event.signature.empty()) event.signature = event.note;
  if (view.last_event(event.regarding.uid, event.reason) == event.signature) return;
  outcome.add(std::move(event));
}

}  // namespace dra::reconcile
