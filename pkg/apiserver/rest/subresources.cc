#include "pkg/apiserver/rest/subresources.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/apiserver/kinds/folders.h"
#include "pkg/apiserver/model/metadata.h"
#include "pkg/apiserver/rest/body.h"
#include "pkg/apiserver/rest/delete.h"
#include "pkg/apiserver/rest/discovery.h"
#include "pkg/apiserver/rest/evict.h"
#include "pkg/apiserver/rest/patch_body.h"
#include "pkg/apiserver/rest/pod_log.h"
#include "pkg/apiserver/rest/reviews.h"
#include "pkg/apiserver/rest/write.h"
#include "pkg/base/strings.h"
#include "pkg/base/timestamp.h"

namespace dra::apiserver {

namespace {

BodyKind foreign_kind(const GroupVersion& gv, const std::string& package, const std::string& kind) {
  return {gv, kind, builtin_schemas().find(package, kind)};
}

// Merges what a binding sets into the pod.
StatusOr<Json> bound_pod(const Json& pod, const Json& binding, const std::string& name, WallTime now) {
  const GroupResource pods_binding{"", "pods/binding"};
  const Json& meta = pod.at("metadata");
  for (const auto& [member, label] : {std::pair("uid", "UID"), std::pair("resourceVersion", "ResourceVersion")}) {
    const std::string wanted = binding["metadata"].value(member, "");
    const std::string have = meta.value(member, "");
    if (wanted.empty() || wanted == have) continue;
    return fail_status(conflict({"", "pods"}, name,
                                "StorageError: invalid object, Code: 4, Key: /registry/pods/" +
                                    meta.value("namespace", "") + "/" + name +
                                    ", ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: " + label +
                                    " in precondition: " + wanted + ", " + label + " in object meta: " + have));
  }
  if (meta.contains("deletionTimestamp")) {
    return fail_status(conflict(pods_binding, name, "pod " + name + " is being deleted, cannot be assigned to a host"));
  }
  const Json spec = pod.value("spec", Json::object());
  const std::string node = spec.value("nodeName", "");
  if (!node.empty()) {
    return fail_status(conflict(pods_binding, name, "pod " + name + " is already assigned to node " + quote(node)));
  }
  if (!spec.value("schedulingGates", Json::array()).empty()) {
    return fail_status(conflict(pods_binding, name, "pod " + name + " has non-empty .spec.schedulingGates"));
  }
  Json out = pod;
  out["spec"]["nodeName"] = binding["target"].value("name", "");
  if (out.contains("status")) out["status"].erase("nominatedNodeName");  // ClearingNominatedNodeNameAfterBinding
  for (const char* member : {"annotations", "labels"}) {
    const Json added = binding["metadata"].value(member, Json::object());
    for (const auto& [key, value] : added.items()) {
      out["metadata"][member][key] = value;
    }
  }
  Json scheduled = {{"type", "PodScheduled"},
                    {"status", "True"},
                    {"lastProbeTime", nullptr},
                    {"lastTransitionTime", format_rfc3339(now)}};
  Json& conditions = out["status"]["conditions"];
  if (!conditions.is_array()) conditions = Json::array();
  auto same = std::find_if(conditions.begin(), conditions.end(),
                           [](const Json& c) { return c.value("type", "") == "PodScheduled"; });
  if (same == conditions.end()) {
    conditions.push_back(std::move(scheduled));
  } else {
    *same = std::move(scheduled);
  }
  return out;
}

void bind_pod(const Env& env, const CallPtr& call, const std::string& url_name) {
  auto binding = decode_body(*call, foreign_kind({"", "v1"}, "core/v1", "Binding"));
  if (!binding) return send_status(*call, binding.error());
  const std::string name = url_name.empty() ? (*binding)["metadata"].value("name", "") : url_name;
  const std::string body_name = (*binding)["metadata"].value("name", "");
  if (!body_name.empty() && body_name != name) {
    return send_status(*call, bad_request("name in URL does not match name in Binding object"));
  }
  const std::string body_namespace = (*binding)["metadata"].value("namespace", "");
  if (!body_namespace.empty() && body_namespace != call->path.namespace_) {
    return send_status(
        *call, bad_request("the namespace of the provided object does not match the namespace sent on the request"));
  }
  const Json target = binding->value("target", Json::object());
  const std::string target_kind = target.value("kind", "");
  if (!target_kind.empty() && target_kind != "Node") {
    return send_status(*call, plain_error("target.kind: Unsupported value: " + quote(target_kind) +
                                          ": supported values: \"Node\", \"<empty>\""));
  }
  if (target.value("name", "").empty()) return send_status(*call, plain_error("target.name: Required value"));
  const std::string key = call->key(name);
  const StoredPtr stored = env.store.get(call->table(), key);
  if (!stored) return send_status(*call, not_found({"", "pods"}, name));
  auto bound = bound_pod(*stored->document(), *binding, name, env.reactor.clock().wall_now());
  if (!bound) return send_status(*call, bound.error());
  if (!call->dry_run()) env.store.put(call->table(), key, std::move(*bound));
  send_success(*call, 201, nullptr);
}

// PUT namespaces/X/finalize: takes metadata and spec.finalizers from the request.
void finalize_namespace(const Env& env, const CallPtr& call) {
  auto object = decode_body(*call, body_kind(*call));
  if (!object) return send_status(*call, object.error());
  UpdateRules rules;
  rules.is_put = true;
  rules.subresource = "finalize";
  rules.manager = manager_tag(env, *call);
  auto result = update_object(env, *call, call->path.name, rules, [&](const Json* current) -> StatusOr<Json> {
    Json out = *current;
    out["spec"] = object->value("spec", Json::object());
    out["metadata"] = (*object)["metadata"];
    return out;
  });
  if (!result) return send_status(*call, result.error());
  send_object(env, *call, 200, result->object);
}

std::string scale_selector_text(const Json& selector) {
  std::vector<std::string> parts;
  const Json labels = selector.value("matchLabels", Json::object());
  for (const auto& [key, value] : labels.items()) {
    parts.push_back(key + "=" + value.get<std::string>());
  }
  return join(parts, ",");
}

Json scale_of(const Json& object) {
  Json meta = Json::object();
  for (const char* field : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"}) {
    if (object["metadata"].contains(field)) meta[field] = object["metadata"][field];
  }
  const Json spec = object.value("spec", Json::object());
  const Json status = object.value("status", Json::object());
  Json out = {{"kind", "Scale"}, {"apiVersion", "autoscaling/v1"}, {"metadata", meta}};
  out["spec"] = Json::object();
  const int64_t replicas = spec.value("replicas", int64_t{0});
  if (replicas != 0) out["spec"]["replicas"] = replicas;
  out["status"] = {{"replicas", status.value("replicas", int64_t{0})}};
  Json match = spec.value("selector", Json::object());
  // A replication controller's selector is a plain map of labels.
  if (!match.contains("matchLabels") && !match.contains("matchExpressions")) match = {{"matchLabels", match}};
  const std::string selector = scale_selector_text(match);
  if (!selector.empty()) out["status"]["selector"] = selector;
  return out;
}

TableColumn count_column(const char* name, const char* description) {
  return {name, "integer", "", description, 0};
}

void send_scale(const Env& env, Call& call, const Json& object) {
  const Json scale = scale_of(object);
  if (call.form.shape != OutputShape::kTable) return send_document(call, 200, scale);
  TableColumn name = name_column();
  name.format.clear();
  Json columns = Json::array();
  for (const TableColumn& c :
       {name, count_column("Desired", "replicas is the desired number of instances for the scaled object."),
        count_column("Available", "replicas is the actual number of observed instances of the scaled object."),
        age_column()}) {
    columns.push_back({{"name", c.name},
                       {"type", c.type},
                       {"format", c.format},
                       {"description", c.description},
                       {"priority", c.priority}});
  }
  const Json& meta = scale["metadata"];
  const Json created = meta.value("creationTimestamp", Json());
  const Json cells = {meta["name"], scale["spec"].value("replicas", 0), scale["status"]["replicas"],
                      age_cell(created, env.reactor.clock().wall_now())};
  Json row = {{"cells", cells}, {"object", partial_object(meta, call.form.shape_version)}};
  send_document(call, 200,
                {{"kind", "Table"},
                 {"apiVersion", "meta.k8s.io/" + call.form.shape_version},
                 {"metadata", {{"resourceVersion", meta["resourceVersion"]}}},
                 {"columnDefinitions", columns},
                 {"rows", Json::array({row})}});
}

void scale(const Env& env, const CallPtr& call) {
  const std::string& name = call->path.name;
  const StoredPtr stored = env.store.get(call->table(), call->key(name));
  if (!stored) return send_status(*call, not_found(call->kind->info().group_resource(), name));
  if (call->verb == "get") return send_scale(env, *call, *stored->document());
  Json wanted = scale_of(*stored->document());
  if (call->verb == "update") {
    auto body = decode_body(*call, foreign_kind({"autoscaling", "v1"}, "autoscaling/v1", "Scale"));
    if (!body) return send_status(*call, body.error());
    wanted = std::move(*body);
    const Json sent = wanted.value("metadata", Json::object()).value("name", Json());
    if (!sent.is_string() || sent == "")
      return send_status(*call, bad_request("the name of the object (" + name +
                                            " based on URL) was undeterminable: name must be provided"));
    if (sent != name) {
      return send_status(*call, bad_request("the name of the object (" + sent.get<std::string>() +
                                            ") does not match the name on the URL (" + name + ")"));
    }
  } else {
    auto patch = Patch::parse(*call);
    if (!patch) return send_status(*call, patch.error());
    auto patched = patch->run_typed(*call, foreign_kind({"autoscaling", "v1"}, "autoscaling/v1", "Scale"), wanted);
    if (!patched) return send_status(*call, patched.error());
    wanted = std::move(*patched);
  }
  const Json spec = wanted.value("spec", Json::object());
  const Json replicas = spec.is_object() ? spec.value("replicas", Json(0)) : Json();
  if (!replicas.is_number_integer()) return send_status(*call, bad_request("spec.replicas must be an integer"));
  if (replicas.get<int64_t>() < 0) {
    FieldErrors errors{invalid_value(FieldPath("spec.replicas"), replicas, "must be greater than or equal to 0")};
    return send_status(*call, invalid_status({"autoscaling", "Scale"}, name, errors));
  }
  UpdateRules rules;
  rules.subresource = "scale";
  rules.manager = manager_tag(env, *call);
  auto result = update_object(env, *call, name, rules, [&](const Json* current) -> StatusOr<Json> {
    Json out = *current;
    out["spec"]["replicas"] = replicas;
    const Json revision = wanted.value("metadata", Json::object()).value("resourceVersion", Json());
    if (revision.is_string()) out["metadata"]["resourceVersion"] = revision;
    return out;
  });
  if (!result) return send_status(*call, result.error());
  send_scale(env, *call, *result->object->document());
}

// Containers are simulated: there is nothing to connect to, and nothing to resize.
void refuse_connection(Call& call) {
  Status s;
  s.code = 501;
  s.reason = "NotImplemented";
  s.message = call.kind->info().plural + "/" + call.path.subresource + " of " + quote(call.path.name) +
              " is not available: the nodes and containers of this server are simulated";
  s.has_details = false;
  send_status(call, s);
}

}  // namespace

void handle_subresource(const Env& env, const CallPtr& call) {
  const std::string& sub = call->path.subresource;
  if (sub == "binding") return bind_pod(env, call, call->path.name);
  if (sub == "eviction") return evict_pod(env, call);
  if (sub == "finalize") return finalize_namespace(env, call);
  if (sub == "scale") return scale(env, call);
  if (sub == "log") return pod_log(env, call);
  if (sub == "token") return create_token(env, call);
  if (sub == "attach" || sub == "exec" || sub == "portforward" || sub == "proxy" || sub == "resize") {
    return refuse_connection(*call);
  }
  if (call->verb == "get") return handle_get(env, call);
  if (call->verb == "update") return handle_update(env, call);
  if (call->verb == "patch") return handle_patch(env, call);
  send_status(*call, method_not_allowed());
}

bool handle_create_only(const Env& env, const CallPtr& call) {
  const auto& all = create_only_resources();
  const auto it = std::find_if(all.begin(), all.end(),
                               [&](const auto& r) { return r.gv == call->path.gv && r.plural == call->path.resource; });
  if (it == all.end()) return false;
  if (!call->path.name.empty() || it->namespaced != !call->path.namespace_.empty()) {
    send_status(*call, unknown_resource());
    return true;
  }
  if (call->verb != "create") {
    send_status(*call, method_not_allowed());
    return true;
  }
  if (it->kind == "Binding") {
    call->kind = env.kinds.find({"", "v1"}, "pods");
    call->version = call->kind->info().find_version({"", "v1"});
    bind_pod(env, call, "");
  } else {
    handle_review(env, call, *it);
  }
  return true;
}

}  // namespace dra::apiserver
