#include "pkg/apiserver/server.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/apiserver/auth/authorizer.h"
#include "pkg/apiserver/budget_keeper.h"
#include "pkg/apiserver/housekeeper.h"
#include "pkg/apiserver/kinds/folders.h"
#include "pkg/apiserver/kinds/rbac/bootstrap.h"
#include "pkg/apiserver/kinds/scheduling/kinds.h"
#include "pkg/apiserver/model/release.h"
#include "pkg/apiserver/quota_keeper.h"
#include "pkg/apiserver/rest/auth.h"
#include "pkg/apiserver/rest/call.h"
#include "pkg/apiserver/rest/discovery.h"
#include "pkg/apiserver/rest/large_requests.h"
#include "pkg/apiserver/rest/openapi.h"
#include "pkg/apiserver/rest/subresources.h"
#include "pkg/apiserver/rest/watch.h"
#include "pkg/apiserver/rest/write.h"
#include "pkg/apiserver/store/sqlite_store.h"
#include "pkg/apiserver/validation/json_read.h"
#include "pkg/base/go_duration.h"
#include "pkg/base/strings.h"
#include "pkg/base/timestamp.h"

namespace dra::apiserver {

namespace {

class StoreReader : public ObjectReader {
 public:
  explicit StoreReader(const Store& store) : store_(store) {}

  std::shared_ptr<const Json> find(std::string_view group, std::string_view plural, std::string_view namespace_,
                                   std::string_view name) const override {
    std::string key(namespace_);
    if (!key.empty()) key += '/';
    key += name;
    const StoredPtr object = store_.get(std::string(group) + "/" + std::string(plural), key);
    return object ? object->document() : nullptr;
  }

  void for_each(std::string_view group, std::string_view plural, std::string_view namespace_,
                const std::function<void(const Json&)>& visit) const override {
    const auto& objects = store_.objects(std::string(group) + "/" + std::string(plural));
    const std::string prefix = namespace_.empty() ? "" : std::string(namespace_) + "/";
    for (auto it = objects.lower_bound(prefix); it != objects.end() && it->first.starts_with(prefix); ++it) {
      visit(*it->second->document());
    }
  }

 private:
  const Store& store_;
};

bool has_verb(const std::vector<std::string>& verbs, const std::string& verb) {
  return std::find(verbs.begin(), verbs.end(), verb) != verbs.end();
}

// Checks the syntax of the request's own deadline; watches have none.
StatusOr<void> check_timeout(const Call& call) {
  const std::string& text = call.query.get("timeout");
  if (text.empty() || call.verb == "watch") return {};
  const auto limit = parse_go_duration(text);
  if (limit) return {};
  return fail_status(bad_request("invalid timeout specified in the request URL - " + limit.error().message()));
}

}  // namespace

struct Server::Impl {
  Impl(Reactor& reactor_in, Random& random, ServerOptions options_in)
      : options(std::move(options_in)),
        store(options.store),
        reader(store),
        authorizer(store, options.authorization),
        large_requests(reactor_in),
        env{reactor_in,     random,
            store,          kinds,
            reader,         options,
            watches,        authorizer,
            large_requests, {reactor_in.clock(), random, reader, options.tokens, random.uuid() + random.uuid()}} {
    if (!options.token_key.empty()) env.tokens.key = options.token_key;
    register_all_kinds(kinds);
    for (const std::string& version : options.withdrawn_versions) kinds.withdraw(version);
    if (options.only_stable_versions) withdraw_unstable();
    if (!options.pod_groups) {
      kinds.withdraw(group_version_of_pod_groups());
      kinds.withdraw(std::string(kGroupVersionOfComposites));
    }
  }

  void withdraw_unstable() {
    const auto& added = options.added_versions;
    for (const auto& kind : kinds.kinds())
      for (const ServedVersion& served : kind->info().served) {
        const std::string& version = served.gv.version;
        const bool stable = version.find("alpha") == std::string::npos && version.find("beta") == std::string::npos;
        const bool separate =
            served.gv.text() == group_version_of_pod_groups() || served.gv.text() == kGroupVersionOfComposites;
        if (!stable && !separate && std::find(added.begin(), added.end(), served.gv.text()) == added.end())
          kinds.withdraw(served.gv.text());
      }
  }

  // Stored PodGroups are of the version that the release serves: disruptionMode is a text in v1alpha2, and an object in
  // v1beta1. Upstream, too, wants them deleted before the upgrade (or the way back).
  Result<void> check_stored_groups() const {
    const bool old = served_release() < 37;
    for (const auto& [key, stored] : store.objects("scheduling.k8s.io/podgroups")) {
      const std::shared_ptr<const Json> document = stored->document();
      const Json& mode = member(member(*document, "spec"), "disruptionMode");
      if (mode.is_null() || mode.is_string() == old) continue;
      return fail(Code::kInvalidArgument,
                  "PodGroup " + key + " in the data directory is of another version of scheduling.k8s.io than " +
                      version_of_pod_groups() + ", which " + served_version() +
                      " serves; delete the PodGroups with a server of the release that made them");
    }
    return {};
  }

  // After a restore, existing objects stay.
  void begin() {
    for (const char* name : {"default", "kube-node-lease", "kube-public", "kube-system"}) {
      if (!store.get("/namespaces", name)) add_namespace(name);
    }
    add_priority_class("system-cluster-critical", 2'000'000'000,
                       "Used for system critical pods that must run in the cluster, but can be moved to another node "
                       "if necessary.");
    add_priority_class("system-node-critical", 2'000'001'000,
                       "Used for system critical pods that must not be moved from their current node.");
    if (options.authorization == AuthorizationMode::kRbac) add_bootstrap_policy();
    if (options.housekeeping) {
      housekeeper = std::make_unique<Housekeeper>(env);
      quota_keeper = std::make_unique<QuotaKeeper>(env.reactor, store, reader, kinds);
      budget_keeper = std::make_unique<BudgetKeeper>(env.reactor, store, reader, kinds);
    }
  }

  void add_namespace(const std::string& name) {
    Json ns = {{"metadata",
                {{"name", name},
                 {"uid", env.random.uuid()},
                 {"creationTimestamp", format_rfc3339(env.reactor.clock().wall_now())},
                 {"labels", {{"kubernetes.io/metadata.name", name}}}}},
               {"spec", {{"finalizers", {"kubernetes"}}}},
               {"status", {{"phase", "Active"}}}};
    store.put("/namespaces", name, std::move(ns));
  }

  void add_priority_class(const std::string& name, int64_t value, const std::string& description) {
    constexpr const char* kTable = "scheduling.k8s.io/priorityclasses";
    if (store.get(kTable, name)) return;
    Json priority_class = {{"metadata",
                            {{"name", name},
                             {"uid", env.random.uuid()},
                             {"generation", 1},
                             {"creationTimestamp", format_rfc3339(env.reactor.clock().wall_now())}}},
                           {"value", value},
                           {"description", description},
                           {"preemptionPolicy", "PreemptLowerPriority"}};
    store.put(kTable, name, std::move(priority_class));
  }

  void add_bootstrap_policy() {
    for (auto& [table, object] : bootstrap_policy()) {
      const std::string name = object["metadata"]["name"];
      if (store.get(table, name)) continue;
      object["metadata"]["uid"] = env.random.uuid();
      object["metadata"]["creationTimestamp"] = format_rfc3339(env.reactor.clock().wall_now());
      store.put(table, name, std::move(object));
    }
  }

  void handle(const CallPtr& call) {
    Call& c = *call;
    const size_t question = c.request.target.find('?');
    if (question != std::string::npos) c.query = Query::parse(std::string_view(c.request.target).substr(question + 1));
    if (!parse_path(std::string_view(c.request.target).substr(0, question), c.path)) {
      return send_text(c, 400, "text/plain; charset=utf-8",
                       "400 Bad Request: the path is not percent-encoded properly\n");
    }
    c.verb = request_verb(c);
    if (auto ok = check_timeout(c); !ok) return send_status(c, ok.error());
    if (auto ok = authenticate(env, c); !ok) return send_status(c, ok.error());
    if (auto ok = authorize(env, c); !ok) return send_status(c, ok.error());
    if (handle_discovery(env, c)) return;
    if (handle_openapi(env, c)) return;
    if (!c.path.is_resource) return send_text(c, 404, "text/plain; charset=utf-8", "404 page not found\n");
    resource(call);
  }

  void resource(const CallPtr& call) {
    Call& c = *call;
    if (handle_create_only(env, call)) return;
    c.kind = kinds.find(c.path.gv, c.path.resource);
    if (c.kind == nullptr || c.path.too_deep) return unknown(c);
    const KindInfo& info = c.kind->info();
    c.version = info.find_version(c.path.gv);
    if (!info.namespaced && !c.path.namespace_.empty()) return unknown(c);
    const bool item = !c.path.name.empty() && !c.path.old_watch;
    if (info.namespaced && c.path.namespace_.empty() && item) return unknown(c);
    if (!c.version->deprecation.empty()) c.warnings.push_back(c.version->deprecation);

    const bool collection_get = !item && c.request.method == "GET";
    const bool known_method = c.request.method != "HEAD" && !c.verb.empty() && (c.verb != "watch" || collection_get);
    auto form = negotiate_output(c.request.headers.get("Accept"), collection_get);
    if (!c.path.subresource.empty()) {
      const auto sub = std::find_if(info.subresources.begin(), info.subresources.end(),
                                    [&](const auto& s) { return s.name == c.path.subresource; });
      if (sub == info.subresources.end()) return unknown(c);
      if (!known_method || !has_verb(sub->verbs, c.verb)) return send_status(c, method_not_allowed());
      if (!form) return send_status(c, form.error());
      c.form = *form;
      return handle_subresource(env, call);
    }
    const std::string& verb = c.verb;
    const bool fits = item == (verb == "get" || verb == "update" || verb == "patch" || verb == "delete");
    const bool all_namespaces = info.namespaced && c.path.namespace_.empty();
    if (!known_method || !has_verb(info.verbs, verb) || !fits ||
        (all_namespaces && verb != "list" && verb != "watch")) {
      return send_status(c, method_not_allowed());
    }
    if (!form) return send_status(c, form.error());
    c.form = *form;
    if (verb == "get") return handle_get(env, call);
    if (verb == "list" || verb == "watch") return handle_list(env, call);
    if (verb == "create") return handle_create(env, call);
    if (verb == "update") return handle_update(env, call);
    if (verb == "patch") return handle_patch(env, call);
    if (verb == "delete") return handle_delete(env, call);
    handle_delete_collection(env, call);
  }

  void unknown(Call& c) {
    if (kinds.has_group(c.path.gv.group)) return send_status(c, unknown_resource());
    send_text(c, 404, "text/plain; charset=utf-8", "404 page not found\n");
  }

  ServerOptions options;
  KindRegistry kinds;
  Store store;
  StoreReader reader;
  WatchHub watches;
  Authorizer authorizer;
  LargeRequests large_requests;
  Env env;
  std::unique_ptr<SqliteStore> persistence;
  std::unique_ptr<Housekeeper> housekeeper;
  std::unique_ptr<QuotaKeeper> quota_keeper;
  std::unique_ptr<BudgetKeeper> budget_keeper;
};

std::map<std::string, UserInfo> admin_token(const std::string& token) {
  return {{token, {"admin", "1", {"system:masters", "system:authenticated"}}}};
}

Server::Server(Reactor& reactor, Random& random, ServerOptions options)
    : impl_(std::make_unique<Impl>(reactor, random, std::move(options))) {
  impl_->begin();
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<Server>> Server::create(Reactor& reactor, Random& random, ServerOptions options) {
  auto impl = std::make_unique<Impl>(reactor, random, std::move(options));
  if (!impl->options.data_dir.empty()) {
    auto opened = SqliteStore::open(impl->options.data_dir, impl->store);
    if (!opened) return fail(opened.error());
    impl->persistence = std::move(*opened);
    impl->store.set_persistence(impl->persistence.get());
    if (auto readable = impl->check_stored_groups(); !readable) return fail(readable.error());
  }
  impl->begin();
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Server::~Server() = default;

void Server::handle(http::Request request, std::shared_ptr<http::Responder> responder) {
  auto call = std::make_shared<Call>();
  call->request = std::move(request);
  call->responder = std::move(responder);
  try {
    impl_->handle(call);
  } catch (const std::exception& e) {
    send_status(*call, internal_error(e.what()));  // the request fails; the server keeps running
  }
}

Store& Server::store() {
  return impl_->store;
}
const KindRegistry& Server::kinds() const {
  return impl_->kinds;
}
size_t Server::watches() const {
  return impl_->watches.size();
}
void Server::end_watches() {
  impl_->watches.end_all();
}

}  // namespace dra::apiserver
