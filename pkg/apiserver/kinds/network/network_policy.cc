// NetworkPolicy (k8s.io/kubernetes/pkg/apis/networking/validation; addresses are not parsed).
#include <nlohmann/json.hpp>

#include "pkg/apiserver/kinds/described_kind.h"
#include "pkg/apiserver/kinds/kind_info.h"
#include "pkg/apiserver/kinds/network/kinds.h"
#include "pkg/apiserver/kinds/workload/template.h"
#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/json_read.h"

namespace dra::apiserver {

namespace {

constexpr int64_t kLastPort = 65535;

void check_policy_port(FieldErrors& out, const FieldPath& path, const Json& port) {
  const std::string& protocol = text_of(port, "protocol");
  if (protocol != "TCP" && protocol != "UDP" && protocol != "SCTP") {
    out.push_back(not_supported(path.child("protocol"), protocol, {"SCTP", "TCP", "UDP"}));
  }
  const Json& number = member(port, "port");
  const Json& end = member(port, "endPort");
  const FieldPath end_path = path.child("endPort");
  if (number.is_number_integer()) {
    for (const std::string& p : range_problems(number.get<int64_t>(), 1, kLastPort))
      out.push_back(invalid_value(path.child("port"), number, p));
    if (end.is_null()) return;
    if (end < number) out.push_back(invalid_value(end_path, number, "must be greater than or equal to `port`"));
    for (const std::string& p : range_problems(end.get<int64_t>(), 1, kLastPort))
      out.push_back(invalid_value(end_path, end, p));
  } else if (number.is_string()) {
    if (!end.is_null()) {
      out.push_back(invalid_value(end_path, end, "may not be specified when `port` is non-numeric"));
    }
    add_problems(out, path.child("port"), as_text(number), port_name_problems(as_text(number)));
  } else if (!end.is_null()) {
    out.push_back(invalid_value(end_path, end, "may not be specified when `port` is not specified"));
  }
}

void check_policy_peer(FieldErrors& out, const FieldPath& path, const Json& peer) {
  int peers = 0;
  for (const char* key : {"podSelector", "namespaceSelector"}) {
    if (!is_set(peer, key)) continue;
    ++peers;
    check_label_selector(out, path.child(key), member(peer, key));
  }
  if (is_set(peer, "ipBlock")) {
    ++peers;
    if (text_of(member(peer, "ipBlock"), "cidr").empty()) out.push_back(required(path.child("ipBlock.cidr"), ""));
  }
  if (peers == 0) out.push_back(required(path, "must specify a peer"));
  if (peers > 1 && is_set(peer, "ipBlock")) {
    out.push_back(forbidden(path, "may not specify both ipBlock and another peer"));
  }
}

void check_policy_rules(FieldErrors& out, const FieldPath& path, const Json& rules, const char* peers) {
  size_t i = 0;
  for (const Json& rule : rules) {
    const FieldPath at = path.index(i++);
    size_t j = 0;
    for (const Json& port : list_of(rule, "ports")) check_policy_port(out, at.child("ports").index(j++), port);
    j = 0;
    for (const Json& peer : list_of(rule, peers)) check_policy_peer(out, at.child(peers).index(j++), peer);
  }
}

FieldErrors check_network_policy(const Json& object) {
  FieldErrors out;
  const FieldPath path("spec");
  const Json& spec = member(object, "spec");
  check_label_selector(out, path.child("podSelector"), member(spec, "podSelector"));
  check_policy_rules(out, path.child("ingress"), list_of(spec, "ingress"), "from");
  check_policy_rules(out, path.child("egress"), list_of(spec, "egress"), "to");
  const Json& types = list_of(spec, "policyTypes");
  if (types.size() > 2) {
    out.push_back(invalid_value(path.child("policyTypes"), types, "may not specify more than two policyTypes"));
    return out;
  }
  size_t i = 0;
  for (const Json& type : types) {
    const FieldPath at = path.child("policyTypes").index(i++);
    if (type != "Ingress" && type != "Egress") out.push_back(not_supported(at, as_text(type), {"Egress", "Ingress"}));
  }
  return out;
}

void set_network_policy_defaults(Json& object) {
  Json& spec = object_member(object, "spec");
  for (const char* direction : {"ingress", "egress"}) {
    if (!member(spec, direction).is_array()) continue;
    for (Json& rule : spec[direction]) {
      if (!member(rule, "ports").is_array()) continue;
      for (Json& port : rule["ports"]) set_default(port, "protocol", "TCP");
    }
  }
  if (!list_of(spec, "policyTypes").empty()) return;
  spec["policyTypes"] = {"Ingress"};
  if (!list_of(spec, "egress").empty()) spec["policyTypes"].push_back("Egress");
}

}  // namespace

void add_network_kinds(KindRegistry& registry) {
  KindDescription d;
  d.info = kind_info({"networking.k8s.io", "v1"}, "networking/v1", "NetworkPolicy", "networkpolicies", "networkpolicy",
                     true);
  d.info.short_names = {"netpol"};
  d.info.has_generation = true;
  d.defaults = set_network_policy_defaults;
  d.check = check_network_policy;
  d.columns = {
      {{"Pod-Selector", "string", "",
        "podSelector selects the pods to which this NetworkPolicy object applies. The array of rules is applied to any "
        "pods selected by this field. An empty selector matches all pods in the policy's namespace. Multiple network "
        "policies can select the same set of pods. In this case, the ingress rules for each are combined additively. "
        "This field is optional. If it is not specified, it defaults to an empty selector.",
        0},
       [](const Json& o) -> Json { return selector_text(member_at(o, "spec.podSelector")); }},
      described_age()};
  registry.add(std::make_unique<DescribedKind>(std::move(d)));
}

}  // namespace dra::apiserver
