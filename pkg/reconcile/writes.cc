#include "pkg/reconcile/writes.h"

#include <nlohmann/json.hpp>

#include "pkg/reconcile/pod_claims.h"
#include "pkg/reconcile/view.h"

namespace dra::reconcile {

namespace {

using Json = nlohmann::ordered_json;

// dump() that never throws: names come from an API server, but a byte that is no UTF-8 must not end the process.
std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
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

Json consumers_json(const std::vector<api::ResourceClaimConsumerReference>& consumers) {
  if (consumers.empty()) return nullptr;
  Json list = Json::array();
  for (const api::ResourceClaimConsumerReference& consumer : consumers) {
    Json entry = Json::object();
    if (!consumer.api_group.empty()) entry["apiGroup"] = consumer.api_group;
    entry["resource"] = consumer.resource;
    entry["name"] = consumer.name;
    entry["uid"] = consumer.uid;
    list.push_back(std::move(entry));
  }
  return list;
}

Json requirements_json(const std::vector<api::NodeSelectorRequirement>& requirements) {
  Json list = Json::array();
  for (const api::NodeSelectorRequirement& requirement : requirements) {
    Json entry{{"key", requirement.key}, {"operator", requirement.op}};
    if (!requirement.values.empty()) entry["values"] = requirement.values;
    list.push_back(std::move(entry));
  }
  return list;
}

Json node_selector_json(const api::NodeSelector& selector) {
  Json terms = Json::array();
  for (const api::NodeSelectorTerm& term : selector.terms) {
    Json entry = Json::object();
    if (!term.match_expressions.empty()) entry["matchExpressions"] = requirements_json(term.match_expressions);
    if (!term.match_fields.empty()) entry["matchFields"] = requirements_json(term.match_fields);
    terms.push_back(std::move(entry));
  }
  return Json{{"nodeSelectorTerms", std::move(terms)}};
}

Json tolerations_json(const std::vector<api::DeviceToleration>& tolerations) {
  Json list = Json::array();
  for (const api::DeviceToleration& toleration : tolerations) {
    Json entry = Json::object();
    if (!toleration.key.empty()) entry["key"] = toleration.key;
    if (!toleration.op.empty()) entry["operator"] = toleration.op;
    if (!toleration.value.empty()) entry["value"] = toleration.value;
    if (!toleration.effect.empty()) entry["effect"] = toleration.effect;
    if (toleration.toleration_seconds) entry["tolerationSeconds"] = *toleration.toleration_seconds;
    list.push_back(std::move(entry));
  }
  return list;
}

Json result_json(const api::DeviceRequestAllocationResult& result) {
  Json json{{"request", result.request}, {"driver", result.driver}, {"pool", result.pool}, {"device", result.device}};
  if (result.admin_access) json["adminAccess"] = true;
  if (!result.tolerations.empty()) json["tolerations"] = tolerations_json(result.tolerations);
  if (!result.binding_conditions.empty()) json["bindingConditions"] = result.binding_conditions;
  if (!result.binding_failure_conditions.empty()) json["bindingFailureConditions"] = result.binding_failure_conditions;
  if (result.share_id) json["shareID"] = *result.share_id;
  if (!result.consumed_capacity.empty()) {
    Json capacity = Json::object();
    for (const auto& [name, quantity] : result.consumed_capacity) capacity[name] = quantity;
    json["consumedCapacity"] = std::move(capacity);
  }
  return json;
}

Json config_json(const api::DeviceAllocationConfiguration& config) {
  Json json{{"source", config.source}};
  if (!config.requests.empty()) json["requests"] = config.requests;
  if (config.opaque) {
    Json parameters = Json::parse(config.opaque->parameters_json, nullptr, /*allow_exceptions=*/false);
    if (parameters.is_discarded()) parameters = nullptr;
    json["opaque"] = {{"driver", config.opaque->driver}, {"parameters", std::move(parameters)}};
  }
  return json;
}

Json allocation_object(const api::AllocationResult& allocation) {
  Json devices = Json::object();
  Json results = Json::array();
  for (const api::DeviceRequestAllocationResult& result : allocation.results) results.push_back(result_json(result));
  devices["results"] = std::move(results);
  if (!allocation.config.empty()) {
    Json configs = Json::array();
    for (const api::DeviceAllocationConfiguration& config : allocation.config) configs.push_back(config_json(config));
    devices["config"] = std::move(configs);
  }
  Json json{{"devices", std::move(devices)}};
  if (allocation.node_selector) json["nodeSelector"] = node_selector_json(*allocation.node_selector);
  if (!allocation.allocation_timestamp.empty()) json["allocationTimestamp"] = allocation.allocation_timestamp;
  return json;
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

Write write_allocation(const api::ResourceClaim& claim, const api::AllocationResult& allocation,
                       const std::vector<api::ResourceClaimConsumerReference>& consumers, std::string purpose) {
  Write write = patch_of(
      claim, "status",
      {{"metadata", preconditions(claim.metadata)},
       {"status", {{"allocation", allocation_object(allocation)}, {"reservedFor", consumers_json(consumers)}}}},
      std::move(purpose));
  write.field_manager = kAllocationManager;
  write.assume = allocation;
  return write;
}

Write write_metadata(const api::ResourceClaim& claim, const std::vector<std::string>& finalizers,
                     const std::map<std::string, std::optional<std::string>>& annotations, std::string purpose) {
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

Write write_claim_statuses(const api::Pod& pod, const std::vector<api::PodResourceClaimStatus>& statuses,
                           std::string purpose) {
  Json list = Json::array();
  for (const api::PodResourceClaimStatus& status : statuses) {
    Json entry{{"name", status.name}};
    if (status.resource_claim_name) entry["resourceClaimName"] = *status.resource_claim_name;
    list.push_back(std::move(entry));
  }
  Write write;
  write.verb = Verb::kApply;
  write.object = ref_of(pod);
  write.subresource = "status";
  write.purpose = std::move(purpose);
  write.body =
      dumped({{"apiVersion", "v1"},
              {"kind", "Pod"},
              {"metadata", {{"name", pod.metadata.name}, {"namespace", pod.metadata.ns}, {"uid", pod.metadata.uid}}},
              {"status", {{"resourceClaimStatuses", std::move(list)}}}});
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
  // The spec is spliced in as the server sent it, so that fields this program does not know are kept.
  write.body = dumped({{"apiVersion", dra_api_version}, {"kind", "ResourceClaim"}, {"metadata", std::move(metadata)}});
  write.body.pop_back();
  write.body += ",\"spec\":" + (claim_template.spec_json.empty() ? "{}" : claim_template.spec_json) + "}";
  return write;
}

void emit_once(const View& view, Outcome& outcome, Event event) {
  if (event.signature.empty()) event.signature = event.note;
  if (view.last_event(event.regarding.uid, event.reason) == event.signature) return;
  outcome.add(std::move(event));
}

std::string allocation_json(const api::AllocationResult& allocation) {
  return dumped(allocation_object(allocation));
}

}  // namespace dra::reconcile
