#include "pkg/apiserver/housekeeper.h"

#include <algorithm>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "pkg/apiserver/model/guard.h"
#include "pkg/apiserver/rest/delete.h"
#include "pkg/apiserver/rest/write.h"
#include "pkg/base/timestamp.h"

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

  // What names an object as its owner.
  struct Dependents {
    std::set<Ref> all;
    std::set<Ref> blocking;  // those of them that a foreground deletion waits for
  };

  Env env;
  std::map<const Kind*, uint64_t> listeners;
  std::map<std::string, Dependents> dependents;  // by owner uid
  std::set<std::string> live;                    // uids of all objects
  std::set<std::string> waiting;                 // those of them that wait for the deletion of their dependents
  std::set<std::string> visited;                 // those of them whose dependents were queued: once is enough
  std::set<std::string> orphaning;               // those whose dependents are being orphaned
  std::set<std::string> ending;                  // namespaces being deleted
  std::set<std::string> emptying;                // those of them whose objects are being deleted, one by one
  std::set<std::string> to_check;                // those of them that may be empty
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
      listeners[kind] =
          env.store.listen(table_of(kind->info()), [this, kind](const ChangePtr& c) { changed(kind, *c); });
      for (const auto& [key, object] : env.store.objects(table_of(kind->info()))) consider(kind, key, object);
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

  static bool is_namespace(const Kind* kind) {
    return kind->info().plural == "namespaces" && kind->info().group.empty();
  }

  // Bookkeeping; runs inside the store's change, so it must not write.
  void note(const Kind* kind, const std::string& key, const StoredPtr& object) {
    const auto document = object->document();
    const Json& meta = document->at("metadata");
    const std::string uid = meta.value("uid", "");
    live.insert(uid);
    if (meta.contains("deletionTimestamp")) {
      if (is_namespace(kind)) ending.insert(key);
      if (has_finalizer(meta, "foregroundDeletion")) waiting.insert(uid);
    }
    const auto owners = meta.find("ownerReferences");
    if (owners == meta.end()) return;
    for (const auto& o : *owners) {
      Dependents& d = dependents[o.value("uid", "")];
      d.all.insert({kind, key});
      if (o.value("blockOwnerDeletion", Json()) == true) d.blocking.insert({kind, key});
    }
  }

  void forget(const Kind* kind, const std::string& key, const StoredPtr& object, bool gone) {
    const auto document = object->document();
    const Json& meta = document->at("metadata");
    if (const auto owners = meta.find("ownerReferences"); owners != meta.end()) {
      for (const auto& o : *owners) {
        const auto it = dependents.find(o.value("uid", ""));
        if (it == dependents.end()) continue;
        it->second.all.erase({kind, key});
        it->second.blocking.erase({kind, key});
        if (it->second.all.empty()) dependents.erase(it);
      }
    }
    const std::string uid = meta.value("uid", "");
    waiting.erase(uid);
    if (!gone) return;
    live.erase(uid);
    visited.erase(uid);
    if (is_namespace(kind)) ending.erase(key);
  }

  void changed(const Kind* kind, const Change& c) {
    if (c.previous) forget(kind, c.key, c.previous, c.type == ChangeType::kDeleted);
    if (c.type != ChangeType::kDeleted) {
      note(kind, c.key, c.object);
      consider(kind, c.key, c.object);
      return;
    }
    const auto document = c.object->document();
    const Json& meta = document->at("metadata");
    if (const auto it = dependents.find(meta.value("uid", "")); it != dependents.end()) look_later(it->second.all);
    if (const auto owners = meta.find("ownerReferences"); owners != meta.end()) {
      for (const auto& o : *owners)
        if (waiting.contains(o.value("uid", ""))) check_owner(o, meta.value("namespace", ""));
    }
    if (kind->info().namespaced) check_later(meta.value("namespace", ""));
  }

  // Looks at it later, if there may be something to do.
  void consider(const Kind* kind, const std::string& key, const StoredPtr& object) {
    const auto document = object->document();
    const Json& meta = document->at("metadata");
    if (!meta.contains("deletionTimestamp") && !meta.contains("ownerReferences") && !is_namespace(kind)) return;
    later([this, kind, key] { check(kind, key); });
  }

  void later(std::function<void()> task) {
    if (stopped) return;
    tasks.push_back(std::move(task));
    schedule();
  }

  void schedule() {
    if (tasks.empty() || std::exchange(scheduled, true)) return;
    auto run = [self = shared_from_this()] { self->run_one(); };
    if (env.options.in_turn) {
      env.options.in_turn(std::move(run));
    } else {
      env.reactor.post(std::move(run));
    }
  }

  void run_one() {
    scheduled = false;
    if (stopped || tasks.empty()) return;
    auto task = std::move(tasks.front());
    tasks.pop_front();
    run_guarded("housekeeping", task);
    schedule();
  }

  void look_later(const std::set<Ref>& refs) {
    for (const Ref& r : refs) later([this, r] { check(r.kind, r.key); });
  }

  void check_later(const std::string& ns) {
    if (!ending.contains(ns) || emptying.contains(ns) || !to_check.insert(ns).second) return;
    later([this, ns] {
      to_check.erase(ns);
      finish_namespace(ns);
    });
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

  void erase_object(const Kind* kind, const Json& meta, const char* policy = "Background") {
    Call call = make_call(kind, meta.value("namespace", ""), meta.value("name", ""));
    DeleteRequest request;
    request.policy = policy;
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

  void check(const Kind* kind, const std::string& key) {
    const StoredPtr stored = env.store.get(table_of(kind->info()), key);
    if (!stored) return;
    const auto document = stored->document();
    const Json& meta = document->at("metadata");
    const bool deleting = meta.contains("deletionTimestamp");
    if (is_namespace(kind)) {
      if (deleting) return empty_namespace(key);
      add_default_account(key);
    }
    if (deleting) return finish_deletion(kind, meta);
    judge_by_owners(kind, meta);
  }

  // An object goes with the last of its owners; those that wait for it do not keep it. References to owners that are
  // gone, or wait, are removed while another owner lives.
  void judge_by_owners(const Kind* kind, const Json& meta) {
    const auto owners = meta.find("ownerReferences");
    if (owners == meta.end() || owners->empty()) return;
    std::set<std::string> no_keepers;
    bool awaited = false;
    for (const Json& o : *owners) {
      const std::string uid = o.value("uid", "");
      const bool waits = waiting.contains(uid);
      awaited = awaited || waits;
      if (waits || !owner_lives(o)) no_keepers.insert(uid);
    }
    if (no_keepers.empty()) return;
    const auto keeps = [&](const Json& o) { return !no_keepers.contains(o.value("uid", "")); };
    if (std::any_of(owners->begin(), owners->end(), keeps)) {
      return patch_metadata(kind, meta, [&](Json& m) { drop_owners(m, no_keepers); });
    }
    const bool has_dependents = dependents.contains(meta.value("uid", ""));
    erase_object(kind, meta, awaited && has_dependents ? "Foreground" : "Background");
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

  static void drop_owners(Json& meta, const std::set<std::string>& uids) {
    Json& owners = meta["ownerReferences"];
    if (!owners.is_array()) owners = Json::array();
    owners.erase(
        std::remove_if(owners.begin(), owners.end(), [&](const Json& o) { return uids.contains(o.value("uid", "")); }),
        owners.end());
    if (owners.empty()) meta.erase("ownerReferences");
  }

  // Orphaning and foreground deletion: first what this object's dependents still need, then removes its finalizer.
  void finish_deletion(const Kind* kind, const Json& meta) {
    const std::string uid = meta.value("uid", "");
    const auto found = dependents.find(uid);
    if (has_finalizer(meta, "orphan")) {
      if (!orphaning.insert(uid).second) return;
      if (found != dependents.end()) {
        for (const Ref& r : found->second.all) later([this, r, uid] { orphan(r, uid); });
      }
      later([this, kind, meta, uid] {
        orphaning.erase(uid);
        patch_metadata(kind, meta, [](Json& m) { drop_finalizer(m, "orphan"); });
      });
      return;
    }
    if (!has_finalizer(meta, "foregroundDeletion")) return;
    if (found == dependents.end() || found->second.blocking.empty()) {
      return patch_metadata(kind, meta, [](Json& m) { drop_finalizer(m, "foregroundDeletion"); });
    }
    if (visited.insert(uid).second) look_later(found->second.all);
  }

  void orphan(const Ref& r, const std::string& uid) {
    const StoredPtr child = env.store.get(table_of(r.kind->info()), r.key);
    if (!child) return;
    patch_metadata(r.kind, child->document()->at("metadata"), [&](Json& m) { drop_owners(m, {uid}); });
  }

  void check_owner(const Json& owner, const std::string& ns) {
    for (const auto& k : env.kinds.kinds()) {
      if (k->info().kind != owner.value("kind", "")) continue;
      const std::string name = owner.value("name", "");
      later([this, kind = k.get(), key = k->info().namespaced ? ns + "/" + name : name] { check(kind, key); });
    }
  }

  void empty_namespace(const std::string& ns) {
    if (emptying.insert(ns).second) erase_next(ns, 0, "");
  }

  // Deletes the first object of the namespace after a key, in the table of this kind or a later one, and goes on later.
  void erase_next(const std::string& ns, size_t index, const std::string& after) {
    const auto& kinds = env.kinds.kinds();
    for (std::string last = after; index < kinds.size(); ++index, last.clear()) {
      const Kind* kind = kinds[index].get();
      if (!kind->info().namespaced) continue;
      const auto& objects = env.store.objects(table_of(kind->info()));
      const auto it = last.empty() ? objects.lower_bound(ns + "/") : objects.upper_bound(last);
      if (it == objects.end() || !it->first.starts_with(ns + "/")) continue;
      later([this, ns, index, key = it->first] { erase_next(ns, index, key); });
      const auto document = it->second->document();
      const Json& meta = document->at("metadata");
      if (!meta.contains("deletionTimestamp")) erase_object(kind, meta);
      return;
    }
    emptying.erase(ns);
    check_later(ns);
  }

  bool is_empty(const std::string& ns) const {
    for (const auto& kind : env.kinds.kinds()) {
      if (!kind->info().namespaced) continue;
      const auto& objects = env.store.objects(table_of(kind->info()));
      const auto it = objects.lower_bound(ns + "/");
      if (it != objects.end() && it->first.starts_with(ns + "/")) return false;
    }
    return true;
  }

  void finish_namespace(const std::string& ns) {
    if (!ending.contains(ns) || !is_empty(ns)) return;  // the last deletion leads here again
    const Kind* kind = env.kinds.find({"", "v1"}, "namespaces");
    Call call = make_call(kind, "", ns);
    call.path.subresource = "finalize";
    UpdateRules rules;
    rules.subresource = "finalize";
    rules.manager.track = false;
    (void)update_object(env, call, ns, rules, [](const Json* current) -> StatusOr<Json> {
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
      Timestamp t;
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
