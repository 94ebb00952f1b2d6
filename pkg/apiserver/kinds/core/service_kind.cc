// Service: defaults, the checks that users commonly hit, and the table. It assigns no addresses or ports and serves
// nothing: there is no network here.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/apiserver/kinds/core/kinds.h"
#include "pkg/apiserver/kinds/described_kind.h"
#include "pkg/apiserver/kinds/kind_info.h"
#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/json_read.h"
#include "pkg/base/strings.h"

namespace dra::apiserver {

namespace {

constexpr int64_t kLastServicePort = 65535;
constexpr int64_t kAffinitySeconds = 10800;

bool is_type(const Json& spec, std::initializer_list<std::string_view> types) {
  return std::find(types.begin(), types.end(), text_of(spec, "type")) != types.end();
}

void set_service_port_defaults(Json& port) {
  if (text_of(port, "protocol").empty()) port["protocol"] = "TCP";
  const Json& target = member(port, "targetPort");
  if (target.is_null() || target == 0 || target == "") port["targetPort"] = member(port, "port");
}

void set_service_defaults(Json& object) {
  Json& spec = object_member(object, "spec");
  if (text_of(spec, "sessionAffinity").empty()) spec["sessionAffinity"] = "None";
  if (spec["sessionAffinity"] == "ClientIP") {
    set_default(object_member(object_member(spec, "sessionAffinityConfig"), "clientIP"), "timeoutSeconds",
                kAffinitySeconds);
  }
  if (text_of(spec, "type").empty()) spec["type"] = "ClusterIP";
  if (member(spec, "ports").is_array())
    for (Json& port : spec["ports"]) set_service_port_defaults(port);
  if (is_type(spec, {"NodePort", "LoadBalancer"}) && text_of(spec, "externalTrafficPolicy").empty())
    spec["externalTrafficPolicy"] = "Cluster";
  if (is_type(spec, {"ExternalName"})) return;
  set_default(spec, "internalTrafficPolicy", "Cluster");
  if (is_type(spec, {"LoadBalancer"})) set_default(spec, "allocateLoadBalancerNodePorts", true);
  if (is_set(spec, "clusterIP") && !is_set(spec, "clusterIPs")) spec["clusterIPs"] = {spec["clusterIP"]};
  set_default(spec, "ipFamilies", Json::array({"IPv4"}));
  set_default(spec, "ipFamilyPolicy", "SingleStack");
}

void check_service_port(FieldErrors& out, const FieldPath& path, const Json& port, bool named) {
  const std::string& name = text_of(port, "name");
  if (name.empty()) {
    if (named) out.push_back(required(path.child("name"), ""));
  } else {
    add_problems(out, path.child("name"), name, dns_label_problems(name));
  }
  for (const std::string& p : range_problems(int_of(port, "port"), 1, kLastServicePort))
    out.push_back(invalid_value(path.child("port"), int_of(port, "port"), p));
  const std::string& protocol = text_of(port, "protocol");
  if (protocol != "TCP" && protocol != "UDP" && protocol != "SCTP")
    out.push_back(not_supported(path.child("protocol"), protocol, {"SCTP", "TCP", "UDP"}));
  const Json& target = member(port, "targetPort");
  if (target.is_number_integer()) {
    for (const std::string& p : range_problems(target.get<int64_t>(), 1, kLastServicePort))
      out.push_back(invalid_value(path.child("targetPort"), target, p));
  } else if (target.is_string()) {
    add_problems(out, path.child("targetPort"), as_text(target), port_name_problems(as_text(target)));
  }
}

FieldErrors check_service(const Json& object) {
  FieldErrors out;
  const FieldPath path("spec");
  const Json& spec = member(object, "spec");
  const Json& ports = list_of(spec, "ports");
  const bool headless = text_of(spec, "clusterIP") == "None";
  if (ports.empty() && !headless && !is_type(spec, {"ExternalName"})) out.push_back(required(path.child("ports"), ""));
  size_t i = 0;
  for (const Json& port : ports) check_service_port(out, path.child("ports").index(i++), port, ports.size() > 1);
  check_labels(out, path.child("selector"), member(spec, "selector"));
  const std::string& affinity = text_of(spec, "sessionAffinity");
  if (affinity != "None" && affinity != "ClientIP")
    out.push_back(not_supported(path.child("sessionAffinity"), affinity, {"ClientIP", "None"}));
  if (!is_type(spec, {"ClusterIP", "NodePort", "LoadBalancer", "ExternalName"})) {
    out.push_back(not_supported(path.child("type"), text_of(spec, "type"),
                                {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"}));
  }
  return out;
}

Json external_addresses(const Json& object) {
  const Json& spec = member(object, "spec");
  if (is_type(spec, {"ExternalName"})) return text_of(spec, "externalName");
  std::vector<std::string> all;
  for (const Json& ip : list_of(spec, "externalIPs")) all.push_back(as_text(ip));
  if (!all.empty()) return join(all, ",");
  return is_type(spec, {"LoadBalancer"}) ? "<pending>" : "<none>";
}

Json port_texts(const Json& object) {
  std::vector<std::string> all;
  for (const Json& port : list_of(member(object, "spec"), "ports")) {
    std::string text = std::to_string(int_of(port, "port"));
    if (int_of(port, "nodePort") > 0) text += ":" + std::to_string(int_of(port, "nodePort"));
    all.push_back(text + "/" + text_of(port, "protocol"));
  }
  return all.empty() ? "<none>" : join(all, ",");
}

Json selector_labels(const Json& object) {
  std::vector<std::string> all;
  for (const auto& [key, value] : map_of(member(object, "spec"), "selector").items())
    all.push_back(key + "=" + as_text(value));
  return all.empty() ? "<none>" : join(all, ",");
}

}  // namespace

std::unique_ptr<Kind> make_service_kind() {
  KindDescription d;
  d.info = core_kind_info("Service", "services", "service", true);
  d.info.subresources = {proxy_subresource("ServiceProxyOptions")};
  d.info.short_names = {"svc"};
  d.info.categories = {"all"};
  d.info.name_rule = NameRule::kDnsLabel;
  d.info.delete_returns_object = true;
  with_status(d.info);
  d.defaults = set_service_defaults;
  d.check = check_service;
  d.columns = {
      {{"Type", "string", "",
        "type determines how the Service is exposed. Defaults to ClusterIP. Valid options are ExternalName, ClusterIP, "
        "NodePort, and LoadBalancer. \"ClusterIP\" allocates a cluster-internal IP address for load-balancing to "
        "endpoints. Endpoints are determined by the selector or if that is not specified, by manual construction of an "
        "Endpoints object or EndpointSlice objects. If clusterIP is \"None\", no virtual IP is allocated and the "
        "endpoints are published as a set of endpoints rather than a virtual IP. \"NodePort\" builds on ClusterIP and "
        "allocates a port on every node which routes to the same endpoints as the clusterIP. \"LoadBalancer\" builds "
        "on NodePort and creates an external load-balancer (if supported in the current cloud) which routes to the "
        "same endpoints as the clusterIP. \"ExternalName\" aliases this service to the specified externalName. Several "
        "other fields do not apply to ExternalName services. More info: "
        "https://kubernetes.io/docs/concepts/services-networking/service/#publishing-services-service-types",
        0},
       [](const Json& o) -> Json { return text_of(member(o, "spec"), "type"); }},
      {{"Cluster-IP", "string", "",
        "clusterIP is the IP address of the service and is usually assigned randomly. If an address is specified "
        "manually, is in-range (as per system configuration), and is not in use, it will be allocated to the service; "
        "otherwise creation of the service will fail. This field may not be changed through updates unless the type "
        "field is also being changed to ExternalName (which requires this field to be blank) or the type field is "
        "being changed from ExternalName (in which case this field may optionally be specified, as describe above).  "
        "Valid values are \"None\", empty string (\"\"), or a valid IP address. Setting this to \"None\" makes a "
        "\"headless service\" (no virtual IP), which is useful when direct endpoint connections are preferred and "
        "proxying is not required.  Only applies to types ClusterIP, NodePort, and LoadBalancer. If this field is "
        "specified when creating a Service of type ExternalName, creation will fail. This field will be wiped when "
        "updating a Service to type ExternalName. More info: "
        "https://kubernetes.io/docs/concepts/services-networking/service/#virtual-ips-and-service-proxies",
        0},
       [](const Json& o) -> Json {
         const Json& ips = list_of(member(o, "spec"), "clusterIPs");
         return ips.empty() ? Json("<none>") : ips[0];
       }},
      {{"External-IP", "string", "",
        "externalIPs is a list of IP addresses for which nodes in the cluster will also accept traffic for this "
        "service.  These IPs are not managed by Kubernetes.  The user is responsible for ensuring that traffic arrives "
        "at a node with this IP.  A common example is external load-balancers that are not part of the Kubernetes "
        "system.",
        0},
       external_addresses},
      {{"Port(s)", "string", "",
        "The list of ports that are exposed by this service. More info: "
        "https://kubernetes.io/docs/concepts/services-networking/service/#virtual-ips-and-service-proxies",
        0},
       port_texts},
      described_age(),
      {{"Selector", "string", "",
        "Route service traffic to pods with label keys and values matching this selector. If empty or not present, the "
        "service is assumed to have an external process managing its endpoints, which Kubernetes will not modify. Only "
        "applies to types ClusterIP, NodePort, and LoadBalancer. Ignored if type is ExternalName. More info: "
        "https://kubernetes.io/docs/concepts/services-networking/service/",
        1},
       selector_labels}};
  return std::make_unique<DescribedKind>(std::move(d));
}

}  // namespace dra::apiserver
