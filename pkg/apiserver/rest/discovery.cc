#include "pkg/apiserver/rest/discovery.h"

#include <openssl/evp.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "pkg/apiserver/model/release.h"
#include "pkg/base/strings.h"

namespace dra::apiserver {

namespace {

std::string sha256(std::string_view text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_Digest(text.data(), text.size(), digest, &size, EVP_sha256(), nullptr);
  return {reinterpret_cast<char*>(digest), size};
}

// discovery.StorageVersionHash: lets clients detect a change of a kind's stored version.
std::string storage_version_hash(const KindInfo& info) {
  const std::string& version = info.storage_version.empty() ? info.hub.version : info.storage_version;
  const std::string text = info.hub.group + "/" + version + "/" + info.kind;
  return base64_encode(std::string_view(sha256(text)).substr(0, 8));
}

Json legacy_resource(const KindInfo& info) {
  Json r = {{"name", info.plural}, {"singularName", info.singular}, {"namespaced", info.namespaced},
            {"kind", info.kind},   {"verbs", info.verbs},           {"storageVersionHash", storage_version_hash(info)}};
  if (!info.short_names.empty()) r["shortNames"] = info.short_names;
  if (!info.categories.empty()) r["categories"] = info.categories;
  return r;
}

Json legacy_subresource(const KindInfo& info, const SubresourceInfo& sub) {
  Json r = {{"name", info.plural + "/" + sub.name},
            {"singularName", ""},
            {"namespaced", info.namespaced},
            {"kind", sub.kind},
            {"verbs", sub.verbs}};
  if (!sub.gv.version.empty()) {
    r["group"] = sub.gv.group;
    r["version"] = sub.gv.version;
  }
  return r;
}

Json response_kind(const GroupVersion& gv, const std::string& kind) {
  return {{"group", gv.group}, {"version", gv.version}, {"kind", kind}};
}

// The group versions in upstream's order of priority, each group's most preferred version first.
std::vector<std::pair<std::string, std::vector<std::string>>> served_groups(const KindRegistry& kinds) {
  std::vector<std::pair<std::string, std::vector<std::string>>> out;
  auto add = [&](const GroupVersion& gv) {
    auto it = std::find_if(out.begin(), out.end(), [&](const auto& g) { return g.first == gv.group; });
    if (it == out.end()) it = out.insert(out.end(), {gv.group, {}});
    auto& versions = it->second;
    if (std::find(versions.begin(), versions.end(), gv.version) == versions.end()) versions.push_back(gv.version);
  };
  for (const auto& k : kinds.kinds()) {
    for (const auto& v : k->info().served) {
      if (kinds.serves(v.gv)) add(v.gv);
    }
  }
  for (const auto& r : create_only_resources()) add(r.gv);
  return out;
}

Json group_document(const std::string& group, const std::vector<std::string>& versions) {
  Json g = {{"name", group}, {"versions", Json::array()}};
  for (const auto& v : versions) g["versions"].push_back({{"groupVersion", group + "/" + v}, {"version", v}});
  g["preferredVersion"] = g["versions"][0];
  return g;
}

bool has_group_version(const KindRegistry& kinds, const GroupVersion& gv) {
  const auto& only = create_only_resources();
  return kinds.has_version(gv) || std::any_of(only.begin(), only.end(), [&](const auto& r) { return r.gv == gv; });
}

Json resource_list(const KindRegistry& kinds, const GroupVersion& gv) {
  std::map<std::string, Json> by_name;
  for (const auto& k : kinds.kinds()) {
    const KindInfo& info = k->info();
    if (info.find_version(gv) == nullptr) continue;
    by_name[info.plural] = legacy_resource(info);
    if (!(gv == info.hub) && gv.group != info.hub.group)
      by_name[info.plural]["storageVersionHash"] = storage_version_hash(info);
    for (const auto& sub : info.subresources) by_name[info.plural + "/" + sub.name] = legacy_subresource(info, sub);
  }
  for (const auto& r : create_only_resources()) {
    if (!(r.gv == gv)) continue;
    by_name[r.plural] = {{"name", r.plural},
                         {"singularName", r.singular},
                         {"namespaced", r.namespaced},
                         {"kind", r.kind},
                         {"verbs", {"create"}}};
  }
  Json out = {{"kind", "APIResourceList"}, {"groupVersion", gv.text()}, {"resources", Json::array()}};
  if (!gv.group.empty()) out["apiVersion"] = "v1";
  for (auto& [name, r] : by_name) out["resources"].push_back(std::move(r));
  return out;
}

Json aggregated_resource(const KindInfo& info) {
  Json r = {{"resource", info.plural},
            {"responseKind", response_kind({}, info.kind)},
            {"scope", info.namespaced ? "Namespaced" : "Cluster"},
            {"singularResource", info.singular},
            {"verbs", info.verbs}};
  if (!info.short_names.empty()) r["shortNames"] = info.short_names;
  if (!info.categories.empty()) r["categories"] = info.categories;
  std::map<std::string, Json> subs;
  for (const auto& s : info.subresources) {
    subs[s.name] = {{"subresource", s.name}, {"responseKind", response_kind(s.gv, s.kind)}, {"verbs", s.verbs}};
  }
  for (auto& [name, s] : subs) r["subresources"].push_back(std::move(s));
  return r;
}

Json aggregated_version(const KindRegistry& kinds, const GroupVersion& gv) {
  std::map<std::string, Json> by_name;
  for (const auto& k : kinds.kinds()) {
    if (k->info().find_version(gv) != nullptr) by_name[k->info().plural] = aggregated_resource(k->info());
  }
  for (const auto& r : create_only_resources()) {
    if (!(r.gv == gv)) continue;
    by_name[r.plural] = {{"resource", r.plural},
                         {"responseKind", response_kind({}, r.kind)},
                         {"scope", r.namespaced ? "Namespaced" : "Cluster"},
                         {"singularResource", r.singular},
                         {"verbs", {"create"}}};
  }
  Json out = {{"version", gv.version}, {"freshness", "Current"}, {"resources", Json::array()}};
  for (auto& [name, r] : by_name) out["resources"].push_back(std::move(r));
  return out;
}

Json aggregated_list(const KindRegistry& kinds, bool core) {
  Json out = {{"kind", "APIGroupDiscoveryList"},
              {"apiVersion", "apidiscovery.k8s.io/v2"},
              {"metadata", Json::object()},
              {"items", Json::array()}};
  for (const auto& [group, versions] : served_groups(kinds)) {
    if (group.empty() != core) continue;
    Json item = {{"metadata", Json::object()}, {"versions", Json::array()}};
    if (!core) item["metadata"]["name"] = group;
    for (const auto& v : versions) item["versions"].push_back(aggregated_version(kinds, {group, v}));
    out["items"].push_back(std::move(item));
  }
  return out;
}

void send_aggregated(const Env& env, Call& call, bool core) {
  const std::string body = aggregated_list(env.kinds, core).dump();
  std::string etag;
  for (unsigned char c : sha256(body)) {
    static const char* kHex = "0123456789ABCDEF";
    etag += kHex[c >> 4];
    etag += kHex[c & 15];
  }
  http::Response r;
  r.headers.add("ETag", quote(etag));
  r.headers.add("Vary", "Accept");
  r.headers.add("Cache-Control", "public");
  if (call.request.headers.get("If-None-Match") == quote(etag)) {
    r.status = 304;
  } else {
    r.headers.add("Content-Type", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
    r.body = body;
  }
  call.responder->send(std::move(r));
}

Json version_document() {
  const std::string minor = std::to_string(served_release());
  return {{"major", "1"},
          {"minor", minor},
          {"emulationMajor", "1"},
          {"emulationMinor", minor},
          {"minCompatibilityMajor", "1"},
          {"minCompatibilityMinor", std::to_string(served_release() - 1)},
          {"gitVersion", served_version()},
          {"gitCommit", ""},
          {"gitTreeState", "clean"},
          {"buildDate", "1970-01-01T00:00:00Z"},
          {"goVersion", ""},
          {"compiler", "g++"},
          {"platform", "linux/amd64"}};
}

void send_core_versions(const Env& env, Call& call) {
  const std::string address = env.options.public_address.empty() ? "127.0.0.1:6443" : env.options.public_address;
  send_document(call, 200,
                {{"kind", "APIVersions"},
                 {"versions", {"v1"}},
                 {"serverAddressByClientCIDRs", {{{"clientCIDR", "0.0.0.0/0"}, {"serverAddress", address}}}}});
}

void send_group_list(const Env& env, Call& call) {
  Json out = {{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", Json::array()}};
  for (const auto& [group, versions] : served_groups(env.kinds)) {
    if (!group.empty()) out["groups"].push_back(group_document(group, versions));
  }
  send_document(call, 200, out);
}

bool send_group(const Env& env, Call& call, const std::string& name) {
  for (const auto& [group, versions] : served_groups(env.kinds)) {
    if (group != name || group.empty()) continue;
    Json g = group_document(group, versions);
    g["kind"] = "APIGroup";
    g["apiVersion"] = "v1";
    send_document(call, 200, g);
    return true;
  }
  return false;
}

void send_resources(const Env& env, Call& call, const GroupVersion& gv) {
  if (!has_group_version(env.kinds, gv)) {
    const auto groups = served_groups(env.kinds);
    const bool group_known =
        std::any_of(groups.begin(), groups.end(), [&](const auto& g) { return g.first == gv.group; });
    if (group_known) return send_status(call, unknown_resource());
    return send_text(call, 404, "text/plain; charset=utf-8", "404 page not found\n");
  }
  send_document(call, 200, resource_list(env.kinds, gv));
}

// What GET / answers: where clients can go from there.
void send_paths(const Env& env, Call& call) {
  std::vector<std::string> paths{"/api",        "/apis",       "/apis/",       "/healthz", "/livez",
                                 "/openapi/v2", "/openapi/v3", "/openapi/v3/", "/readyz",  "/version"};
  for (const auto& [group, versions] : served_groups(env.kinds)) {
    const std::string root = group.empty() ? "/api" : "/apis/" + group;
    if (!group.empty()) paths.push_back(root);
    for (const auto& version : versions) paths.push_back(root + "/" + version);
  }
  std::sort(paths.begin(), paths.end());
  send_document(call, 200, {{"paths", paths}});
}

bool is_health_path(const std::vector<std::string>& parts) {
  return !parts.empty() && (parts[0] == "healthz" || parts[0] == "livez" || parts[0] == "readyz") && parts.size() <= 3;
}

}  // namespace

const std::vector<CreateOnlyResource>& create_only_resources() {
  static const std::vector<CreateOnlyResource> resources = {
      {{"", "v1"}, "bindings", "binding", "Binding", true},
      {{"authentication.k8s.io", "v1"}, "selfsubjectreviews", "selfsubjectreview", "SelfSubjectReview", false},
      {{"authentication.k8s.io", "v1"}, "tokenreviews", "tokenreview", "TokenReview", false},
      {{"authorization.k8s.io", "v1"},
       "localsubjectaccessreviews",
       "localsubjectaccessreview",
       "LocalSubjectAccessReview",
       true},
      {{"authorization.k8s.io", "v1"},
       "selfsubjectaccessreviews",
       "selfsubjectaccessreview",
       "SelfSubjectAccessReview",
       false},
      {{"authorization.k8s.io", "v1"},
       "selfsubjectrulesreviews",
       "selfsubjectrulesreview",
       "SelfSubjectRulesReview",
       false},
      {{"authorization.k8s.io", "v1"}, "subjectaccessreviews", "subjectaccessreview", "SubjectAccessReview", false},
  };
  return resources;
}

bool handle_discovery(const Env& env, Call& call) {
  const auto& p = call.path.parts;
  const bool get = call.request.method == "GET";
  if (is_health_path(p)) {
    send_text(call, 200, "text/plain; charset=utf-8", "ok");
    return true;
  }
  if (p.size() == 1 && p[0] == "version") {
    if (get) {
      send_document(call, 200, version_document());
    } else {
      send_status(call, method_not_allowed());
    }
    return true;
  }
  if (call.path.text == "/") {
    send_paths(env, call);
    return true;
  }
  if (p.empty() || (p[0] != "api" && p[0] != "apis") || call.path.is_resource || call.path.old_watch) return false;
  if (!get) {
    send_status(call, method_not_allowed());
    return true;
  }
  const bool core = p[0] == "api";
  if (p.size() == 1) {
    if (wants_aggregated_discovery(call.request.headers.get("Accept"))) {
      send_aggregated(env, call, core);
    } else if (core) {
      send_core_versions(env, call);
    } else {
      send_group_list(env, call);
    }
    return true;
  }
  if (core) {
    send_resources(env, call, {"", p[1]});
    return true;
  }
  if (p.size() == 2) {
    if (!send_group(env, call, p[1])) send_text(call, 404, "text/plain; charset=utf-8", "404 page not found\n");
    return true;
  }
  send_resources(env, call, {p[1], p[2]});
  return true;
}

}  // namespace dra::apiserver
