// Addresses, networks and URLs: k8s.io/apiserver/pkg/cel/library/{ip,cidr,urls}.go. And the authorizer's functions,
// which are declared so that their names resolve as upstream; without an authorizer none can be called.
#include "pkg/cel/check/overloads.h"
#include "pkg/cel/eval/function_support.h"
#include "pkg/cel/lib/net.h"
#include "pkg/cel/lib/url.h"

namespace dra::cel {
namespace {

Value cidr_value(EvalContext& c, const lib::Cidr& cidr) {
  return Value::of_cidr(c.arena.make<lib::Cidr>(cidr));
}
Value ip_value(EvalContext& c, const lib::Ip& ip) {
  return Value::of_ip(c.arena.make<lib::Ip>(ip));
}

Value string_to_ip(EvalContext& c, const Value* a) {
  auto ip = lib::parse_ip(a[0].str());
  return ip ? ip_value(c, *ip) : failed(c, ip.error());
}
Value cidr_ip(EvalContext& c, const Value* a) {
  return ip_value(c, a[0].cidr->address);
}
Value is_ip(EvalContext&, const Value* a) {
  return Value::of_bool(lib::parse_ip(a[0].str()).has_value());
}
Value is_canonical(EvalContext& c, const Value* a) {
  auto ip = lib::parse_ip(a[0].str());
  return ip ? Value::of_bool(lib::to_string(*ip) == a[0].str()) : failed(c, ip.error());
}
Value family(EvalContext&, const Value* a) {
  return Value::of_int(a[0].ip->family());
}
template <bool (lib::Ip::*kTest)() const>
Value ip_test(EvalContext&, const Value* a) {
  return Value::of_bool((a[0].ip->*kTest)());
}

Value string_to_cidr(EvalContext& c, const Value* a) {
  auto cidr = lib::parse_cidr(a[0].str());
  return cidr ? cidr_value(c, *cidr) : failed(c, cidr.error());
}
Value is_cidr(EvalContext&, const Value* a) {
  return Value::of_bool(lib::parse_cidr(a[0].str()).has_value());
}
Value contains_ip(EvalContext&, const Value* a) {
  return Value::of_bool(a[0].cidr->contains(*a[1].ip));
}
// For a text that is not an address, upstream fails with "no such overload".
Value contains_ip_string(EvalContext& c, const Value* a) {
  auto ip = lib::parse_ip(a[1].str());
  return ip ? Value::of_bool(a[0].cidr->contains(*ip)) : c.no_overload();
}
Value contains_cidr(EvalContext&, const Value* a) {
  return Value::of_bool(a[0].cidr->contains(*a[1].cidr));
}
Value contains_cidr_string(EvalContext& c, const Value* a) {
  auto cidr = lib::parse_cidr(a[1].str());
  return cidr ? Value::of_bool(a[0].cidr->contains(*cidr)) : c.no_overload();
}
Value prefix_length(EvalContext&, const Value* a) {
  return Value::of_int(a[0].cidr->prefix);
}
Value masked(EvalContext& c, const Value* a) {
  return cidr_value(c, a[0].cidr->masked());
}

// URLs are read several times over.
bool spend_url(EvalContext& c, const Value& text) {
  return c.spend(20 + 2 * static_cast<uint64_t>(text.length));
}

Value string_to_url(EvalContext& c, const Value* a) {
  if (!spend_url(c, a[0])) return aborted(c);
  auto url = lib::parse_url(a[0].str());
  return url ? Value::of_url(c.arena.make<lib::Url>(std::move(*url))) : failed(c, url.error());
}
Value is_url(EvalContext& c, const Value* a) {
  if (!spend_url(c, a[0])) return aborted(c);
  return Value::of_bool(lib::parse_url(a[0].str()).has_value());
}
Value url_scheme(EvalContext&, const Value* a) {
  return Value::of_string(a[0].url->scheme);
}
Value url_host(EvalContext&, const Value* a) {
  return Value::of_string(a[0].url->host);
}
Value url_hostname(EvalContext&, const Value* a) {
  return Value::of_string(a[0].url->hostname());
}
Value url_port(EvalContext&, const Value* a) {
  return Value::of_string(a[0].url->port());
}
Value url_path(EvalContext&, const Value* a) {
  return Value::of_string(a[0].url->escaped_path);
}
Value url_query(EvalContext& c, const Value* a) {
  if (!spend_url(c, Value::of_string(a[0].url->text))) return aborted(c);
  auto query = a[0].url->query();
  if (!c.reserve(query.size() * sizeof(MapEntry))) return aborted(c);
  auto* entries = c.arena.array<MapEntry>(query.size());
  for (size_t i = 0; i < query.size(); ++i) {
    Value* items = new_items(c, query[i].second.size());
    if (items == nullptr) return aborted(c);
    for (size_t k = 0; k < query[i].second.size(); ++k) items[k] = c.string(query[i].second[k]);
    entries[i] = {c.string(query[i].first), list_of(c, items, query[i].second.size())};
    if (c.aborted != nullptr) return aborted(c);
  }
  return map_of(c, entries, query.size());
}

}  // namespace

void add_net_specs(SpecList& out) {
  using lib::Ip;
  const OverloadSpec specs[] = {
      {"ip", "string_to_ip", "(string) IP", string_to_ip, CostRule::kParse},
      {"ip", "cidr_ip", "CIDR.() IP", cidr_ip, CostRule::kParse},
      {"isIP", "is_ip", "(string) bool", is_ip, CostRule::kParse},
      {"ip.isCanonical", "ip_is_canonical", "(string) bool", is_canonical, CostRule::kCanonical},
      {"family", "ip_family", "IP.() int", family, CostRule::kNamedOne},
      {"isUnspecified", "ip_is_unspecified", "IP.() bool", ip_test<&Ip::is_unspecified>, CostRule::kNamedOne},
      {"isLoopback", "ip_is_loopback", "IP.() bool", ip_test<&Ip::is_loopback>, CostRule::kNamedOne},
      {"isLinkLocalMulticast", "ip_is_link_local_multicast", "IP.() bool", ip_test<&Ip::is_link_local_multicast>,
       CostRule::kNamedOne},
      {"isLinkLocalUnicast", "ip_is_link_local_unicast", "IP.() bool", ip_test<&Ip::is_link_local_unicast>,
       CostRule::kNamedOne},
      {"isGlobalUnicast", "ip_is_global_unicast", "IP.() bool", ip_test<&Ip::is_global_unicast>, CostRule::kNamedOne},
      {"cidr", "string_to_cidr", "(string) CIDR", string_to_cidr, CostRule::kParse},
      {"isCIDR", "is_cidr", "(string) bool", is_cidr, CostRule::kParse},
      {"containsIP", "cidr_contains_ip_string", "CIDR.(string) bool", contains_ip_string, CostRule::kContainsIp},
      {"containsIP", "cidr_contains_ip_ip", "CIDR.(IP) bool", contains_ip, CostRule::kContainsIp},
      {"containsCIDR", "cidr_contains_cidr_string", "CIDR.(string) bool", contains_cidr_string,
       CostRule::kContainsCidr},
      {"containsCIDR", "cidr_contains_cidr", "CIDR.(CIDR) bool", contains_cidr, CostRule::kContainsCidr},
      {"prefixLength", "cidr_prefix_length", "CIDR.() int", prefix_length, CostRule::kNamedOne},
      {"masked", "cidr_masked", "CIDR.() CIDR", masked, CostRule::kNamedOne},
      {"url", "string_to_url", "(string) URL", string_to_url, CostRule::kStringPass},
      {"isURL", "is_url_string", "(string) bool", is_url},
      {"getScheme", "url_get_scheme", "URL.() string", url_scheme, CostRule::kNamedOne},
      {"getHost", "url_get_host", "URL.() string", url_host, CostRule::kNamedOne},
      {"getHostname", "url_get_hostname", "URL.() string", url_hostname, CostRule::kNamedOne},
      {"getPort", "url_get_port", "URL.() string", url_port, CostRule::kNamedOne},
      {"getEscapedPath", "url_get_escaped_path", "URL.() string", url_path, CostRule::kNamedOne},
      {"getQuery", "url_get_query", "URL.() map(string, list(string))", url_query, CostRule::kNamedOne},
  };
  out.insert(out.end(), std::begin(specs), std::end(specs));
}

void add_authz_specs(SpecList& out) {
  const OverloadSpec specs[] = {
      {"path", "authorizer_path", "Authorizer.(string) PathCheck", nullptr, CostRule::kNamedOne},
      {"group", "authorizer_group", "Authorizer.(string) GroupCheck", nullptr, CostRule::kNamedOne},
      {"serviceAccount", "authorizer_serviceaccount", "Authorizer.(string, string) Authorizer", nullptr,
       CostRule::kNamedOne},
      {"resource", "groupcheck_resource", "GroupCheck.(string) ResourceCheck", nullptr, CostRule::kNamedOne},
      {"subresource", "resourcecheck_subresource", "ResourceCheck.(string) ResourceCheck", nullptr,
       CostRule::kNamedOne},
      {"namespace", "resourcecheck_namespace", "ResourceCheck.(string) ResourceCheck", nullptr, CostRule::kNamedOne},
      {"name", "resourcecheck_name", "ResourceCheck.(string) ResourceCheck", nullptr, CostRule::kNamedOne},
      {"fieldSelector", "authorizer_fieldselector", "ResourceCheck.(string) ResourceCheck", nullptr,
       CostRule::kNamedOne},
      {"labelSelector", "authorizer_labelselector", "ResourceCheck.(string) ResourceCheck", nullptr,
       CostRule::kNamedOne},
      {"check", "pathcheck_check", "PathCheck.(string) Decision", nullptr, CostRule::kAuthzCheck},
      {"check", "resourcecheck_check", "ResourceCheck.(string) Decision", nullptr, CostRule::kAuthzCheck},
      {"allowed", "decision_allowed", "Decision.() bool", nullptr, CostRule::kNamedOne},
      {"reason", "decision_reason", "Decision.() string", nullptr, CostRule::kNamedOne},
      {"error", "decision_error", "Decision.() string", nullptr, CostRule::kNamedOne},
      {"errored", "decision_errored", "Decision.() bool", nullptr, CostRule::kNamedOne},
  };
  out.insert(out.end(), std::begin(specs), std::end(specs));
}

}  // namespace dra::cel
