#include "pkg/inspect/lint/known.h"

#include <nlohmann/json.hpp>

#include "pkg/api/decode/decode.h"
#include "pkg/inspect/state/extended.h"
#include "pkg/inspect/state/pod_templates.h"
#include "pkg/inspect/state/state.h"
#include "pkg/protocol/extended.h"
#include "pkg/protocol/groups.h"

namespace dra::inspect {
namespace {

using nlohmann::json;

constexpr const char* kAdminLabel = "resource.kubernetes.io/admin-access";

std::string string_member(const json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// The value at the pointer, or null.
const json& value_below(const json& object, const char* pointer) {
  static const json kNull;
  const json::json_pointer at(pointer);
  return object.contains(at) ? object[at] : kNull;
}

std::vector<std::string> request_names(const json& requests) {
  std::vector<std::string> names;
  if (!requests.is_array()) return names;
  for (const json& request : requests) names.push_back(string_member(request, "name"));
  return names;
}

std::vector<std::string> request_names(const api::ResourceClaimSpec& spec) {
  std::vector<std::string> names;
  for (const api::DeviceRequest& request : spec.requests) names.push_back(request.name);
  return names;
}

}  // namespace

std::string Known::namespace_of(const json& object) const {
  const std::string ns = string_member(value_below(object, "/metadata"), "namespace");
  return ns.empty() ? ns_ : ns;
}

void Known::add(const json& object) {
  const std::string kind = string_member(object, "kind"), version = string_member(object, "apiVersion");
  const std::string name = string_member(value_below(object, "/metadata"), "name");
  for (const PodTemplate& one : pod_templates_of(object)) {
    const json& pod = object[json::json_pointer(one.pointer)];
    std::string group = string_member(value_below(pod, "/spec/schedulingGroup"), "podGroupName");
    if (group.empty())
      group = string_member(value_below(pod, "/metadata/labels"), std::string(protocol::kGroupLabel).c_str());
    if (!group.empty()) members_[namespace_of(object) + "/" + group].push_back(&pod);
  }
  if (kind == "DeviceTaintRule" && version.starts_with("resource.k8s.io/")) rules_.push_back(&object);
  if (name.empty()) return;
  if (kind == "Namespace" && version == "v1") namespaces_[name] = &object;
  if (!version.starts_with("resource.k8s.io/")) return;
  if (kind == "DeviceClass") classes_[name] = &object;
  if (kind == "ResourceClaim") claims_[namespace_of(object) + "/" + name] = &object;
  if (kind == "ResourceClaimTemplate") templates_[namespace_of(object) + "/" + name] = &object;
}

std::optional<std::vector<std::string>> Known::class_selectors(const std::string& name) const {
  if (const auto found = classes_.find(name); found != classes_.end()) {
    std::vector<std::string> all;
    const json& selectors = value_below(*found->second, "/spec/selectors");
    if (!selectors.is_array()) return all;
    for (const json& selector : selectors) all.push_back(string_member(value_below(selector, "/cel"), "expression"));
    return all;
  }
  if (cluster_ == nullptr) return std::nullopt;
  const auto found = cluster_->classes.find(name);
  if (found == cluster_->classes.end()) return std::nullopt;
  return found->second->selectors;
}

std::vector<std::string> Known::class_names() const {
  std::set<std::string> names;
  for (const auto& [name, one] : classes_) names.insert(name);
  if (cluster_ != nullptr)
    for (const auto& [name, one] : cluster_->classes) names.insert(name);
  return {names.begin(), names.end()};
}

std::optional<std::vector<std::string>> Known::requests_of_claim(const std::string& ns, const std::string& name) const {
  const std::string key = ns + "/" + name;
  if (const auto found = claims_.find(key); found != claims_.end())
    return request_names(value_below(*found->second, "/spec/devices/requests"));
  if (cluster_ == nullptr) return std::nullopt;
  const auto found = cluster_->claims.find(key);
  if (found == cluster_->claims.end()) return std::nullopt;
  return request_names(found->second->spec);
}

std::optional<std::vector<std::string>> Known::requests_of_template(const std::string& ns,
                                                                    const std::string& name) const {
  const std::string key = ns + "/" + name;
  if (const auto found = templates_.find(key); found != templates_.end())
    return request_names(value_below(*found->second, "/spec/spec/devices/requests"));
  if (cluster_ == nullptr) return std::nullopt;
  const auto found = cluster_->templates.find(key);
  if (found == cluster_->templates.end()) return std::nullopt;
  return request_names(found->second->spec);
}

std::shared_ptr<const api::ResourceClaim> Known::claim(const std::string& ns, const std::string& name) const {
  const std::string key = ns + "/" + name;
  if (const auto found = claims_.find(key); found != claims_.end()) {
    auto read = api::decode<api::ResourceClaim>(found->second->dump(-1, ' ', false, json::error_handler_t::replace));
    return read ? std::make_shared<const api::ResourceClaim>(std::move(*read)) : nullptr;
  }
  if (cluster_ == nullptr) return nullptr;
  const auto found = cluster_->claims.find(key);
  return found == cluster_->claims.end() ? nullptr : found->second;
}

std::shared_ptr<const api::ResourceClaim> Known::claim_of_template(const std::string& ns,
                                                                   const std::string& name) const {
  const std::string key = ns + "/" + name;
  if (const auto found = templates_.find(key); found != templates_.end()) {
    auto read =
        api::decode<api::ResourceClaimTemplate>(found->second->dump(-1, ' ', false, json::error_handler_t::replace));
    return read ? claim_from_template(*read, ns, name, "") : nullptr;
  }
  if (cluster_ == nullptr) return nullptr;
  const auto found = cluster_->templates.find(key);
  return found == cluster_->templates.end() ? nullptr : claim_from_template(*found->second, ns, name, "");
}

const std::vector<const json*>& Known::members_of(const std::string& ns, const std::string& group) const {
  static const std::vector<const json*> kNone;
  const auto found = members_.find(ns + "/" + group);
  return found == members_.end() ? kNone : found->second;
}

const std::set<std::string>& Known::collect_resources() const {
  std::set<std::string> all;
  const auto add_class = [&](const std::string& name, const std::string& extended) {
    all.insert(std::string(protocol::kImplicitResourcePrefix) + name);
    if (!extended.empty()) all.insert(extended);
  };
  for (const auto& [name, one] : classes_)
    add_class(name, string_member(value_below(*one, "/spec"), "extendedResourceName"));
  if (cluster_ != nullptr) {
    for (const auto& [name, one] : cluster_->classes)
      if (!classes_.contains(name)) add_class(name, one->extended_resource_name.value_or(""));
    all.merge(resources_of_nodes(*cluster_));
  }
  resources_ = std::move(all);
  return *resources_;
}

// All rules of the file at once: they may complete each other.
void Known::judge_rules() const {
  half_taints_.emplace();
  if (cluster_ == nullptr) return;
  Objects together;
  together.slices = cluster_->slices;
  together.taint_rules = cluster_->taint_rules;
  std::map<std::string, const json*> by_name;
  for (const json* object : rules_) {
    auto read = api::decode<api::DeviceTaintRule>(object->dump(-1, ' ', false, json::error_handler_t::replace));
    if (!read) continue;  // the server's rules say what is wrong
    if (read->metadata.name.empty())
      read->metadata.name = "(rule " + std::to_string(by_name.size() + 1) + " of the file)";
    const std::string name = read->metadata.name;
    together.taint_rules[name] = std::make_shared<const api::DeviceTaintRule>(std::move(*read));
    by_name[name] = object;
  }
  for (HalfTaint& half : half_taints(together))
    if (const auto of_file = by_name.find(half.rule); of_file != by_name.end())
      (*half_taints_)[of_file->second].push_back(std::move(half));
}

std::vector<HalfTaint> Known::half_taints_of(const json& rule) const {
  if (!half_taints_) judge_rules();
  const auto found = half_taints_->find(&rule);
  return found == half_taints_->end() ? std::vector<HalfTaint>() : found->second;
}

bool Known::admin_access(const std::string& ns) const {
  if (const auto found = namespaces_.find(ns); found != namespaces_.end())
    return string_member(value_below(*found->second, "/metadata/labels"), kAdminLabel) == "true";
  if (cluster_ == nullptr) return true;
  const auto found = cluster_->namespaces.find(ns);
  if (found == cluster_->namespaces.end()) return true;
  const auto label = found->second->metadata.labels.find(kAdminLabel);
  return label != found->second->metadata.labels.end() && label->second == "true";
}

}  // namespace dra::inspect
