#include "pkg/apiserver/housekeeper.h"

#include <algorithm>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "pkg/apiserver/guard.h"
#include "pkg/apiserver/rest/delete.h"
#include "pkg/apiserver/rest/write.h"

namespace dra::apiserver {

namespace {

constexpr std::chrono::minutes kEventSweep{5};
constexpr std::chrono::hours kEventLife{1};

// Discards the answers to the housekeeper's own writes.
class NoResponder : public http::Responder {
 public:
  void send(http::Response) override {}
  void begin_stream(http::Response) override {}
  bool write(std::string_view) override { return false; }
  void end() override {}
  size_t buffered() const override { return 0; }
  void on_close(std::function<void()>) override {}
};

bool has_finalizer(const Json& meta, const char* name) {
  const Json all = meta.value("finalizers", Json::array());
  return std::find(all.begin(), all.end(), Json(name)) != all.end();
}

}  // namespace

struct Housekeeper::State : std::enable_shared_from_this<Housekeeper::State> {
  struct Ref {
    const Kind* kind;
    std::string key;
    bool operator<(const Ref& o) const { return std::tie(kind, key) < std::tie(o.kind, o.key); }
  };

  explicit State(const Env& env_in) : env(env_in) {}

  Env env;
  std::map<const Kind*, uint64_t> listeners;
  std::map<std::string, std::set<Ref>> dependents;  // by owner uid
  std::set<std::string> live;                       // uids of all objects
  std::deque<std::function<void()>> tasks;
  bool scheduled = false;
  bool stopped = false;
  Handle sweep;

  void start() {
    for (const auto& k : env.kinds.kinds()) {
      const Kind* kind = k.get();
      for (const auto& [key, object] : env.store.objects(table_of(kind->info()))) note(kind, key, object);
    }
    for (const auto& k : env.kinds.kinds()) {
      const Kind* kind = k.get();
      for (const auto& [key, object] : env.store.objects(table_of(kind->info()))) look_at(kind, key);
      listeners[kind] =
          env.store.listen(table_of(kind->info()), [this, kind](const ChangePtr& c) { changed(kind, *c); });
    }
    schedule_sweep();
  }

  void stop() {
    stopped = true;
    sweep.cancel();
    for (const auto& [kind, id] : listeners) env.store.unlisten(table_of(kind->info()), id);
    listeners.clear();
    tasks.clear();
  }

  // Bookkeeping; runs inside the store's change, so it must not write.
  void note(const Kind* kind, const std::string& key, const StoredPtr& object) {
    const auto document = object->document();
    const Json& meta = document->at("metadata");
    live.insert(meta.value("uid", ""));
    for (const auto& o : meta.value("ownerReferences", Json::array()))
      dependents[o.value("uid", "")].insert({kind, key});
  }

  void forget(const Kind* kind, const std::string& key, const StoredPtr& object, bool gone) {
    const auto document = object->document();
    const Json& meta = document->at("metadata");
    for (const auto& o : meta.value("ownerReferences", Json::array())) {
      auto it = dependents.find(o.value("uid", ""));
      if (it == dependents.end()) continue;
      it->second.erase({kind, key});
      if (it->second.empty()) dependents.erase(it);
    }
    if (gone) live.erase(meta.value("uid", ""));
  }

  void changed(const Kind* kind, const Change& c) {
    if (c.previous) forget(kind, c.key, c.previous, c.type == ChangeType::kDeleted);
    if (c.type != ChangeType::kDeleted) {
      note(kind, c.key, c.object);
      later([this, kind, key = c.key] { look_at(kind, key); });
      return;
    }
    const auto document = c.object->document();
    const Json& meta = document->at("metadata");
    auto it = dependents.find(meta.value("uid", ""));
    if (it != dependents.end()) {
      for (const Ref& r : it->second) later([this, r] { look_at(r.kind, r.key); });
    }
    for (const auto& o : meta.value("ownerReferences", Json::array())) look_at_owner(o, meta.value("namespace", ""));
    if (kind->info().namespaced) later([this, ns = meta.value("namespace", "")] { look_at_namespace(ns); });
  }

  void later(std::function<void()> task) {
    if (stopped) return;
    tasks.push_back(std::move(task));
    if (std::exchange(scheduled, true)) return;
    env.reactor.post([self = shared_from_this()] { self->run_one(); });
  }

  void run_one() {
    scheduled = false;
    if (stopped || tasks.empty()) return;
    auto task = std::move(tasks.front());
    tasks.pop_front();
    run_guarded("housekeeping", task);
    if (tasks.empty() || std::exchange(scheduled, true)) return;
    env.reactor.post([self = shared_from_this()] { self->run_one(); });
  }

  Call make_call(const Kind* kind, const std::string& ns, const std::string& name) {
    Call call;
    call.responder = std::make_shared<NoResponder>();
    call.kind = kind;
    call.version = kind->info().find_version(kind->info().hub);
    call.path.gv = kind->info().hub;
    call.path.namespace_ = ns;
    call.path.resource = kind->info().plural;
    call.path.name = name;
    call.user = {"system:serviceaccount:kube-system:generic-garbage-collector", "", {"system:masters"}};
    call.request.headers.add("User-Agent", "housekeeper");
    return call;
  }

  void erase_object(const Kind* kind, const Json& meta) {
    Call call = make_call(kind, meta.value("namespace", ""), meta.value("name", ""));
    DeleteRequest request;
    request.policy = "Background";
    request.uid = meta.value("uid", "");
    (void)delete_object(env, call, meta.value("name", ""), request);  // refused or gone: nothing to do
  }

  void patch_metadata(const Kind* kind, const Json& meta, const std::function<void(Json&)>& change) {
    Call call = make_call(kind, meta.value("namespace", ""), meta.value("name", ""));
    UpdateRules rules;
    rules.manager.track = false;
    (void)update_object(env, call, meta.value("name", ""), rules, [&](const Json* current) -> StatusOr<Json> {
      Json out = *current;
      change(out["metadata"]);
      return out;
    });
  }

  static void drop_finalizer(Json& meta, const char* name) {
    Json& all = meta["finalizers"];
    if (!all.is_array()) all = Json::array();
    all.erase(std::remove(all.begin(), all.end(), Json(name)), all.end());
    if (all.empty()) meta.erase("finalizers");
  }

  void look_at(const Kind* kind, const std::string& key) {
    const StoredPtr stored = env.store.get(table_of(kind->info()), key);
    if (!stored) return;
    const auto document = stored->document();
    const Json& meta = document->at("metadata");
    const bool deleting = meta.contains("deletionTimestamp");
    if (kind->info().plural == "namespaces" && kind->info().group.empty()) {
      if (deleting) return look_at_namespace(key);
      add_default_account(key);
    }
    if (deleting) return finish_deletion(kind, meta);
    const Json owners = meta.value("ownerReferences", Json::array());
    if (owners.empty()) return;
    if (std::none_of(owners.begin(), owners.end(), [&](const Json& o) { return owner_lives(o); }))
      erase_object(kind, meta);
  }

  // Owners of unserved kinds cannot be judged and count as alive.
  bool owner_lives(const Json& owner) const {
    const std::string version = owner.value("apiVersion", "");
    const size_t slash = version.find('/');
    const GroupVersion gv = slash == std::string::npos
                                ? GroupVersion{"", version}
                                : GroupVersion{version.substr(0, slash), version.substr(slash + 1)};
    return env.kinds.find_by_kind(gv, owner.value("kind", "")) == nullptr || live.contains(owner.value("uid", ""));
  }

  // Orphaning and foreground deletion: first what this object's dependents still need, then removes its finalizer.
  void finish_deletion(const Kind* kind, const Json& meta) {
    const std::string uid = meta.value("uid", "");
    std::set<Ref> children;
    if (auto it = dependents.find(uid); it != dependents.end()) children = it->second;
    if (has_finalizer(meta, "orphan")) {
      for (const Ref& r : children) orphan(r, uid);
      patch_metadata(kind, meta, [](Json& m) { drop_finalizer(m, "orphan"); });
      return;
    }
    if (!has_finalizer(meta, "foregroundDeletion")) return;
    bool blocked = false;
    for (const Ref& r : children) {
      const StoredPtr child = env.store.get(table_of(r.kind->info()), r.key);
      if (!child) continue;
      const auto document = child->document();
      const Json& child_meta = document->at("metadata");
      if (!child_meta.contains("deletionTimestamp")) erase_object(r.kind, child_meta);
      if (env.store.get(table_of(r.kind->info()), r.key)) blocked = blocked || blocks(child_meta, uid);
    }
    if (!blocked) patch_metadata(kind, meta, [](Json& m) { drop_finalizer(m, "foregroundDeletion"); });
  }

  static bool blocks(const Json& child_meta, const std::string& uid) {
    const Json owners = child_meta.value("ownerReferences", Json::array());
    return std::any_of(owners.begin(), owners.end(), [&](const Json& o) {
      return o.value("uid", "") == uid && o.value("blockOwnerDeletion", Json()) == true;
    });
  }

  void orphan(const Ref& r, const std::string& uid) {
    const StoredPtr child = env.store.get(table_of(r.kind->info()), r.key);
    if (!child) return;
    patch_metadata(r.kind, child->document()->at("metadata"), [&](Json& m) {
      Json& owners = m["ownerReferences"];
      if (!owners.is_array()) owners = Json::array();
      owners.erase(
          std::remove_if(owners.begin(), owners.end(), [&](const Json& o) { return o.value("uid", "") == uid; }),
          owners.end());
      if (owners.empty()) m.erase("ownerReferences");
    });
  }

  void look_at_owner(const Json& owner, const std::string& ns) {
    for (const auto& k : env.kinds.kinds()) {
      if (k->info().kind != owner.value("kind", "")) continue;
      const std::string name = owner.value("name", "");
      later([this, kind = k.get(), key = k->info().namespaced ? ns + "/" + name : name] { look_at(kind, key); });
    }
  }

  void look_at_namespace(const std::string& name) {
    const StoredPtr stored = env.store.get("/namespaces", name);
    if (!stored) return;
    const auto document = stored->document();
    if (!document->at("metadata").contains("deletionTimestamp")) return;
    bool empty = true;
    for (const auto& k : env.kinds.kinds()) {
      if (!k->info().namespaced) continue;
      const auto& objects = env.store.objects(table_of(k->info()));
      const std::string prefix = name + "/";
      std::vector<StoredPtr> inside;
      for (auto it = objects.lower_bound(prefix); it != objects.end() && it->first.starts_with(prefix); ++it) {
        inside.push_back(it->second);
      }
      for (const auto& object : inside) {
        empty = false;
        const auto doc = object->document();
        if (!doc->at("metadata").contains("deletionTimestamp")) erase_object(k.get(), doc->at("metadata"));
      }
    }
    if (!empty) return;  // the last deletion enqueues this again
    const Kind* kind = env.kinds.find({"", "v1"}, "namespaces");
    Call call = make_call(kind, "", name);
    call.path.subresource = "finalize";
    UpdateRules rules;
    rules.subresource = "finalize";
    rules.manager.track = false;
    (void)update_object(env, call, name, rules, [](const Json* current) -> StatusOr<Json> {
      Json out = *current;
      out["spec"].erase("finalizers");
      return out;
    });
  }

  void add_default_account(const std::string& ns) {
    if (env.store.get("/serviceaccounts", ns + "/default")) return;
    const Kind* kind = env.kinds.find({"", "v1"}, "serviceaccounts");
    if (kind == nullptr) return;
    Call call = make_call(kind, ns, "default");
    ManagerTag manager;
    manager.track = false;
    (void)create_object(env, call, Json{{"metadata", {{"name", "default"}, {"namespace", ns}}}}, manager);
  }

  void schedule_sweep() {
    sweep = env.reactor.after(kEventSweep, [this] {
      run_guarded("the sweep of old events", [this] { sweep_events(); });
      schedule_sweep();
    });
  }

  void sweep_events() {
    const WallTime oldest = env.reactor.clock().wall_now() - kEventLife;
    std::vector<std::string> dead;
    for (const auto& [key, object] : env.store.objects("/events")) {
      const auto document = object->document();
      WallTime t;
      const Json last = document->value("lastTimestamp", Json());
      const Json created = document->at("metadata").value("creationTimestamp", Json());
      const Json& when = last.is_string() ? last : created;
      if (when.is_string() && parse_rfc3339(when.get<std::string>(), t) && t < oldest) dead.push_back(key);
    }
    for (const auto& key : dead) env.store.remove("/events", key);
  }
};

Housekeeper::Housekeeper(const Env& env) : state_(std::make_shared<State>(env)) {
  state_->start();
}
Housekeeper::~Housekeeper() {
  state_->stop();
}

}  // namespace dra::apiserver
