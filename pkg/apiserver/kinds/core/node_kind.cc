// Node and Namespace.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "pkg/apiserver/kinds/core/kinds.h"
#include "pkg/apiserver/kinds/kind_info.h"
#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/go_render.h"
#include "pkg/apiserver/validation/json_read.h"
#include "pkg/base/strings.h"

namespace dra::apiserver {

namespace {

const char* const kAddressColumn =
    "List of addresses reachable to the node. Queried from cloud provider, if available. More info: "
    "https://kubernetes.io/docs/reference/node/node-status/#addresses Note: This field is declared as mergeable, but "
    "the merge key is not sufficiently unique, which can cause data corruption when it is merged. Callers should "
    "instead use a full-replacement patch. See https://pr.k8s.io/79391 for an example. Consumers should assume that "
    "addresses can change during the lifetime of a Node. However, there are some exceptions where this may not be "
    "possible, such as Pods that inherit a Node's address in its own status or consumers of the downward API "
    "(status.hostIP).";

std::string node_status(const Json& node) {
  std::string out;
  for (const auto& c : list_of(member(node, "status"), "conditions")) {
    if (text_of(c, "type") == "Ready") out = text_of(c, "status") == "True" ? "Ready" : "NotReady";
  }
  if (out.empty()) out = "Unknown";
  if (bool_of(member(node, "spec"), "unschedulable")) out += ",SchedulingDisabled";
  return out;
}

std::string node_roles(const Json& node) {
  constexpr std::string_view kPrefix = "node-role.kubernetes.io/";
  std::vector<std::string> roles;
  for (const auto& [key, value] : map_of(member(node, "metadata"), "labels").items()) {
    if (key.starts_with(kPrefix) && key.size() > kPrefix.size()) {
      roles.push_back(key.substr(kPrefix.size()));
    } else if (key == "kubernetes.io/role" && !as_text(value).empty()) {
      roles.push_back(as_text(value));
    }
  }
  if (roles.empty()) return "<none>";
  std::sort(roles.begin(), roles.end());
  roles.erase(std::unique(roles.begin(), roles.end()), roles.end());
  return join(roles, ",");
}

std::string node_address(const Json& node, const char* type) {
  for (const auto& a : list_of(member(node, "status"), "addresses")) {
    if (text_of(a, "type") == type) return text_of(a, "address");
  }
  return "<none>";
}

std::string or_unknown(const std::string& text) {
  return text.empty() ? "<unknown>" : text;
}

class NodeKind : public Kind {
 public:
  using Kind::Kind;

  void set_defaults(Json& object) const override {
    // Without podCIDRs, podCIDR becomes its only entry.
    if (Json& spec = object_member(object, "spec"); !text_of(spec, "podCIDR").empty() && !is_set(spec, "podCIDRs"))
      spec["podCIDRs"] = {spec["podCIDR"]};
    auto status = object.find("status");
    if (status == object.end() || !status->is_object()) return;
    if (is_set(*status, "capacity")) set_default(*status, "allocatable", member(*status, "capacity"));
  }

  // These two structs are printed even if they are empty.
  void prepare_for_create(const WriteContext&, Json& object) const override {
    Json& status = object_member(object, "status");
    object_member(object_member(status, "daemonEndpoints"), "kubeletEndpoint");
    set_default(status["daemonEndpoints"]["kubeletEndpoint"], "Port", 0);
    Json& info = object_member(status, "nodeInfo");
    for (const char* key : {"machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion",
                            "kubeletVersion", "kubeProxyVersion", "operatingSystem", "architecture"}) {
      set_default(info, key, "");
    }
  }

  FieldErrors validate_create(const WriteContext&, const Json& object) const override { return check(object); }
  FieldErrors validate_update(const WriteContext&, const Json& object, const Json& old) const override {
    FieldErrors out = check(object);
    // Upstream checks them twice on updates, and reports them twice.
    check_taints(out, list_of(member(object, "spec"), "taints"));
    const std::string& provider = text_of(member(old, "spec"), "providerID");
    if (!provider.empty() && provider != text_of(member(object, "spec"), "providerID")) {
      out.push_back(
          forbidden(FieldPath("spec.providerID"), "node updates may not change providerID except from \"\" to valid"));
    }
    const Json& before = member_at(old, "spec.podCIDRs");
    if (count_of(before) > 0 && before != member_at(object, "spec.podCIDRs")) {
      out.push_back(
          forbidden(FieldPath("spec.podCIDRs"), "node updates may not change podCIDR except from \"\" to valid"));
    }
    return out;
  }

  std::vector<TableColumn> columns() const override {
    return {name_column(),
            {"Status", "string", "", "The status of the node", 0},
            {"Roles", "string", "", "The roles of the node", 0},
            age_column(),
            {"Version", "string", "", "Kubelet Version reported by the node.", 0},
            {"Internal-IP", "string", "", kAddressColumn, 1},
            {"External-IP", "string", "", kAddressColumn, 1},
            {"OS-Image", "string", "",
             "OS Image reported by the node from /etc/os-release (e.g. Debian GNU/Linux 7 (wheezy)).", 1},
            {"Kernel-Version", "string", "",
             "Kernel Version reported by the node from 'uname -r' (e.g. 3.16.0-0.bpo.4-amd64).", 1},
            {"Container-Runtime", "string", "",
             "ContainerRuntime Version reported by the node through runtime remote API (e.g. containerd://1.4.2).", 1}};
  }

  Json cells(const Json& object, WallTime now) const override {
    const Json& meta = member(object, "metadata");
    const Json& info = member_at(object, "status.nodeInfo");
    std::string kernel = or_unknown(text_of(info, "kernelVersion"));
    if (kernel != "<unknown>" && !text_of(info, "architecture").empty()) {
      kernel += " (" + text_of(info, "architecture") + ")";
    }
    return Json::array({text_of(meta, "name"), node_status(object), node_roles(object),
                        age_cell(member(meta, "creationTimestamp"), now), text_of(info, "kubeletVersion"),
                        node_address(object, "InternalIP"), node_address(object, "ExternalIP"),
                        or_unknown(text_of(info, "osImage")), kernel,
                        or_unknown(text_of(info, "containerRuntimeVersion"))});
  }

  std::vector<std::string> field_labels(const GroupVersion&) const override { return {"spec.unschedulable"}; }
  std::string field_value(const Json& object, std::string_view, const GroupVersion&) const override {
    return bool_of(member(object, "spec"), "unschedulable") ? "true" : "false";
  }
  std::string unknown_field_label(std::string_view label, const GroupVersion&) const override {
    return "field label not supported: " + std::string(label);
  }

 private:
  static FieldErrors check(const Json& object) {
    FieldErrors out;
    const Json& spec = member(object, "spec");
    check_taints(out, list_of(spec, "taints"));
    size_t i = 0;
    for (const Json& range : list_of(spec, "podCIDRs")) {
      const FieldPath at = FieldPath("spec.podCIDRs").index(i++);
      if (!is_address_range(as_text(range))) {
        out.push_back(invalid(at, as_text(range), "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"));
      }
    }
    // One per address family, if there are several.
    const Json& ranges = list_of(spec, "podCIDRs");
    const auto is_v6 = [](const Json& range) { return as_text(range).find(':') != std::string::npos; };
    if (ranges.size() > 2 || (ranges.size() == 2 && is_v6(ranges[0]) == is_v6(ranges[1])))
      out.push_back(
          invalid_value(FieldPath("spec.podCIDRs"), ranges, "may specify no more than one CIDR for each IP family"));
    return out;
  }

  static void check_taints(FieldErrors& out, const Json& taints) {
    std::set<std::string> seen;
    for (size_t i = 0; i < taints.size(); ++i) {
      // The path starts at metadata in upstream, too.
      const FieldPath path = FieldPath("metadata.taints").index(i);
      check_label_name(out, path.child("key"), text_of(taints[i], "key"));
      const std::string& value = text_of(taints[i], "value");
      const Problems problems = label_value_problems(value);
      if (!problems.empty()) out.push_back(invalid(path.child("value"), value, join(problems, ";")));
      const std::string& effect = text_of(taints[i], "effect");
      if (effect.empty()) {
        out.push_back(required(path.child("effect"), ""));
      } else if (effect != "NoSchedule" && effect != "PreferNoSchedule" && effect != "NoExecute") {
        out.push_back(not_supported(path.child("effect"), effect, {"NoSchedule", "PreferNoSchedule", "NoExecute"}));
      }
      if (!seen.insert(text_of(taints[i], "key") + "/" + effect).second) {
        out.push_back(
            {"FieldValueDuplicate", path.text(),
             "Duplicate value: " + render_go("Taint", taints[i]) + ": taints must be unique by key and effect pair"});
      }
    }
  }
};

class NamespaceKind : public Kind {
 public:
  using Kind::Kind;

  // Every namespace has its own name as a label, so that selectors can name it.
  void set_defaults(Json& object) const override {
    Json& meta = object_member(object, "metadata");
    if (!text_of(meta, "name").empty()) object_member(meta, "labels")["kubernetes.io/metadata.name"] = meta["name"];
  }

  void prepare_for_create(const WriteContext&, Json& object) const override {
    set_defaults(object);  // the name may have been generated
    object["status"] = {{"phase", "Active"}};
    Json& finalizers = object_member(object, "spec")["finalizers"];
    if (!finalizers.is_array()) finalizers = Json::array();
    if (std::find(finalizers.begin(), finalizers.end(), "kubernetes") == finalizers.end()) {
      finalizers.push_back("kubernetes");
    }
  }

  // Only the finalize subresource removes finalizers.
  void prepare_for_update(const WriteContext& ctx, Json& object, const Json& old) const override {
    if (ctx.subresource.empty()) object["spec"] = member(old, "spec");
  }

  void prepare_for_delete(const WriteContext&, Json& object) const override {
    object_member(object, "status")["phase"] = "Terminating";
    object_member(object, "metadata").erase("deletionGracePeriodSeconds");  // upstream's namespaces have none
  }

  StatusOr<void> admit_delete(const WriteContext&, const Json& object) const override {
    const std::string& name = text_of(member(object, "metadata"), "name");
    if (name != "default" && name != "kube-system" && name != "kube-public") return {};
    return fail_status(forbidden_status(info().group_resource(), name, "this namespace may not be deleted"));
  }

  std::vector<TableColumn> columns() const override {
    return {name_column(), {"Status", "string", "", "The status of the namespace", 0}, age_column()};
  }
  Json cells(const Json& object, WallTime now) const override {
    const Json& meta = member(object, "metadata");
    return Json::array({text_of(meta, "name"), text_of(member(object, "status"), "phase"),
                        age_cell(member(meta, "creationTimestamp"), now)});
  }

  std::vector<std::string> field_labels(const GroupVersion&) const override { return {"status.phase", "name"}; }
  std::string field_value(const Json& object, std::string_view label, const GroupVersion&) const override {
    return label == "name" ? text_of(member(object, "metadata"), "name") : as_text(member_at(object, label));
  }
  std::string unknown_field_label(std::string_view label, const GroupVersion&) const override {
    return "field label not supported: " + std::string(label);
  }
};

}  // namespace

std::unique_ptr<Kind> make_node_kind() {
  KindInfo info = core_kind_info("Node", "nodes", "node", false);
  info.keeps_status_on_create = true;
  info.subresources = {proxy_subresource("NodeProxyOptions")};
  info.short_names = {"no"};
  info.status_keeps_labels = false;
  info.status_keeps_finalizers = false;
  with_status(info);
  return std::make_unique<NodeKind>(std::move(info));
}

std::unique_ptr<Kind> make_namespace_kind() {
  KindInfo info = core_kind_info("Namespace", "namespaces", "namespace", false);
  info.short_names = {"ns"};
  info.name_rule = NameRule::kDnsLabel;
  info.verbs = {"create", "delete", "get", "list", "patch", "update", "watch"};
  info.subresources = {{"finalize", {}, "Namespace", {"update"}}};
  info.delete_returns_object = true;
  with_status(info);
  return std::make_unique<NamespaceKind>(std::move(info));
}

}  // namespace dra::apiserver
