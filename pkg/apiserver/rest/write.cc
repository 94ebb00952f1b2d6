// POST, PUT and PATCH of objects and their status: the life of a write, as kind.h describes it.
#include "pkg/apiserver/rest/write.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "pkg/apiserver/auth/authorizer.h"
#include "pkg/apiserver/codec/codec.h"
#include "pkg/apiserver/kinds/folders.h"
#include "pkg/apiserver/kinds/quota/quota.h"
#include "pkg/apiserver/model/metadata.h"
#include "pkg/apiserver/rest/auth.h"
#include "pkg/apiserver/rest/body.h"
#include "pkg/apiserver/rest/patch_body.h"
#include "pkg/apiserver/rest/stored_size.h"
#include "pkg/base/strings.h"
#include "pkg/base/timestamp.h"

namespace dra::apiserver {

ManagerTag manager_tag(const Env& env, const Call& call) {
  ManagerTag tag;
  tag.manager = call.manager();
  tag.subresource = call.path.subresource;
  tag.api_version = call.gv().text();
  tag.time = format_rfc3339(env.reactor.clock().wall_now());
  return tag;
}

namespace {

constexpr int kNameAttempts = 8;  // for generated names that are taken

void append_errors(FieldErrors& to, FieldErrors more) {
  to.insert(to.end(), more.begin(), more.end());
}

StatusOr<void> check_namespace(const Env& env, const Call& call, const std::string& name) {
  const KindInfo& info = call.kind->info();
  if (!info.namespaced) return {};
  const auto ns = env.reader.find("", "namespaces", "", call.path.namespace_);
  if (!ns) return fail_status(not_found({"", "namespaces"}, call.path.namespace_));
  if (ns->at("metadata").contains("deletionTimestamp")) {
    Status s = forbidden_status(
        info.group_resource_of(call.gv()), name,
        "unable to create new content in namespace " + call.path.namespace_ + " because it is being terminated");
    s.causes.push_back(
        {"NamespaceTerminating", "namespace " + call.path.namespace_ + " is being terminated", "metadata.namespace"});
    return fail_status(s);
  }
  return {};
}

// Checks the body's name and namespace against the URL's.
StatusOr<void> check_identity(const Call& call, Json& meta, bool create) {
  const KindInfo& info = call.kind->info();
  std::string ns = meta.value("namespace", "");
  if (info.namespaced) {
    if (ns.empty()) {
      meta["namespace"] = call.path.namespace_;
    } else if (ns != call.path.namespace_) {
      return fail_status(
          bad_request("the namespace of the provided object does not match the namespace sent on the request"));
    }
  }
  if (create) return {};
  const std::string name = meta.value("name", "");
  if (name.empty()) {
    return fail_status(bad_request("the name of the object (" + call.path.name +
                                   " based on URL) was undeterminable: name must be provided"));
  }
  if (name != call.path.name) {
    return fail_status(bad_request("the name of the object (" + name + ") does not match the name on the URL (" +
                                   call.path.name + ")"));
  }
  return {};
}

// The members apart from `except` are equal.
bool same_members(const Json& a, const Json& b, const char* except) {
  const auto counted = [&](const Json& object) { return object.size() - object.count(except); };
  if (counted(a) != counted(b)) return false;
  for (const auto& [name, value] : a.items()) {
    if (name == except) continue;
    const auto other = b.find(name);
    if (other == b.end() || *other != value) return false;
  }
  return true;
}

// True if only the timestamps of managedFields differ. Compares in place: objects may be large.
bool same_object(const Json& a, const Json& b) {
  if (!same_members(a, b, "metadata")) return false;
  const Json& meta = a.at("metadata");
  const Json& other = b.at("metadata");
  if (!same_members(meta, other, "managedFields")) return false;
  const auto managed = meta.find("managedFields"), others = other.find("managedFields");
  if (managed == meta.end() || others == other.end()) return managed == meta.end() && others == other.end();
  return std::equal(managed->begin(), managed->end(), others->begin(), others->end(),
                    [](const Json& x, const Json& y) { return same_members(x, y, "time"); });
}

void keep_member(Json& object, const Json& old, const char* name) {
  auto it = old.find(name);
  if (it == old.end()) {
    object.erase(name);
  } else {
    object[name] = *it;
  }
}

// A status write: everything except the status and the metadata that this kind permits is the old object's.
void reset_for_status(const KindInfo& info, Json& object, const Json& old) {
  Json meta = old.at("metadata");
  const Json& sent = object.at("metadata");
  auto take = [&](const char* field) { keep_member(meta, sent, field); };
  take("uid");  // kept, so that another object's uid is refused
  take("resourceVersion");
  take("managedFields");
  take("generateName");
  if (!info.status_keeps_labels) take("labels");
  if (!info.status_keeps_finalizers) {
    take("annotations");
    take("finalizers");
  }
  if (!info.status_keeps_owner_references) take("ownerReferences");
  Json status = object.contains("status") ? std::move(object["status"]) : Json();
  object = old;
  object["metadata"] = std::move(meta);
  if (status.is_null()) {
    object.erase("status");
  } else {
    object["status"] = std::move(status);
  }
}

// Validation distinguishes empty lists from absent ones; storage does not.
void settle_empty_lists(const Kind& kind, Json& object) {
  const ObjectType* type = managed_type(kind, kind.info().hub);
  if (type != nullptr) null_empty_lists(*type, object);
}

// The texts of RawExtension fields to store with `object`.
RawTexts new_raw_texts(const Call& call, const UpdateRules& rules, const StoredObject& stored, const Json& object) {
  const RawTexts& old = stored.raw_texts();
  RawTexts sent;
  if (rules.is_put) {
    sent = call.raw_texts;
  } else if (rules.keeps_key_order && !old.empty()) {
    sent = raw_texts_after_patch(old, *stored.document(), object);
  }
  return raw_texts_after_write(std::move(sent), old, rules.subresource == "status");
}

StatusOr<uint64_t> parse_object_revision(const std::string& text) {
  uint64_t out = 0;
  if (text.empty()) return out;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (ec != std::errc() || end != text.data() + text.size()) {
    return fail_status(plain_error("strconv.ParseUint: parsing " + quote(text) + ": invalid syntax"));
  }
  return out;
}

// An object that is created by PUT or apply may name a version, but no uid: that is one of an object that is gone.
StatusOr<void> check_absent(const Call& call, const std::string& name, const std::string& key, const UpdateRules& rules,
                            const Json& meta) {
  const KindInfo& info = call.kind->info();
  const std::string uid = meta.value("uid", "");
  if (!uid.empty())
    return fail_status(conflict(
        info.group_resource_of(call.gv()), name,
        rules.is_put
            ? "StorageError: invalid object, Code: 4, Key: /registry/" + registry_path(info) + key +
                  ", ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in "
                  "precondition: " +
                  uid + ", UID in object meta: "
            : "uid mismatch: the provided object specified uid " + uid + ", and no existing object was found"));
  if (auto revision = parse_object_revision(meta.value("resourceVersion", "")); !revision)
    return fail_status(revision.error());
  return {};
}

}  // namespace

WriteContext write_context(const Env& env, Call& call) {
  WriteContext ctx;
  ctx.reader = &env.reader;
  ctx.clock = &env.reactor.clock();
  ctx.random = &env.random;
  ctx.request_version = call.gv();
  ctx.namespace_ = call.path.namespace_;
  ctx.subresource = call.path.subresource;
  ctx.verb = call.verb;
  ctx.user = call.user.name;
  const auto nodes = call.user.extra.find("authentication.kubernetes.io/node-name");
  if (nodes != call.user.extra.end() && nodes->second.size() == 1) ctx.user_node = nodes->second.front();
  ctx.authorize = [&env, &call](const AccessAttributes& what) { return env.authorizer.decide(call.user, what); };
  ctx.field_manager = call.manager();
  ctx.dry_run = call.dry_run();
  ctx.pod_groups = env.options.pod_groups;
  ctx.warnings = &call.warnings;
  return ctx;
}

StatusOr<StoredPtr> create_object(const Env& env, Call& call, Json object, const ManagerTag& manager) {
  const KindInfo& info = call.kind->info();
  const WriteContext ctx = write_context(env, call);
  RawTexts raw_texts = raw_texts_after_write(call.raw_texts, {}, false);
  if (!object["metadata"].value("resourceVersion", "").empty()) {
    return fail_status(plain_error("resourceVersion should not be set on objects to be created"));
  }
  convert_document(*call.kind, object, call.gv(), info.hub);
  call.kind->set_defaults(object);
  deduplicate_owner_references(call, object["metadata"]);
  init_create_metadata(info, ctx, object["metadata"]);
  if (manager.track) track_update(managed_type(*call.kind, call.gv()), nullptr, object, manager);
  if (info.has_status && !(info.keeps_status_on_create && object.contains("status"))) reset_status(*call.kind, object);
  if (info.has_generation) object["metadata"]["generation"] = 1;
  call.kind->prepare_for_create(ctx, object);
  if (auto admitted = call.kind->admit_create(ctx, object); !admitted) return fail_status(admitted.error());
  FieldErrors errors = call.kind->validate_before_metadata(ctx, object);
  append_errors(errors, validate_object_meta(object["metadata"], info, FieldPath("metadata")));
  FieldErrors of_kind = call.kind->validate_create(ctx, object);
  if (!of_kind.empty() && !call.kind->validates_metadata(ctx)) errors.clear();
  append_errors(errors, std::move(of_kind));
  check_raw_sizes(errors, raw_texts, {});
  const std::string name = object["metadata"].value("name", "");
  if (!errors.empty()) return fail_status(invalid_status(error_kind(call), name, errors));

  if (auto admitted = admit_by_quota(ctx, info, object); !admitted) return fail_status(admitted.error());
  settle_empty_lists(*call.kind, object);
  std::string key = key_of(info, object);
  StoredPtr existing = env.store.get(call.table(), key);
  const std::string prefix = object["metadata"].value("generateName", "");
  const bool generated = !prefix.empty() && name != prefix && name.starts_with(prefix.substr(0, 58));
  for (int i = 1; existing && generated && i < kNameAttempts; ++i) {
    object["metadata"]["name"] = generate_name(prefix, env.random);
    key = key_of(info, object);
    existing = env.store.get(call.table(), key);
  }
  if (existing) {
    Status s = already_exists(info.group_resource_of(call.gv()), object["metadata"].value("name", ""));
    if (existing->document()->at("metadata").contains("deletionTimestamp")) {
      s.message = "object is being deleted: " + s.message;
    }
    return fail_status(s);
  }
  if (ctx.dry_run) return std::make_shared<const StoredObject>(0, std::move(object));
  if (auto ok = fit_into_storage(*call.kind, key, object); !ok) return fail_status(ok.error());
  return env.store.put(call.table(), key, std::move(object), std::move(raw_texts));
}

StatusOr<WriteResult> update_object(const Env& env, Call& call, const std::string& name, const UpdateRules& rules,
                                    const Mutation& mutate) {
  const KindInfo& info = call.kind->info();
  const std::string key = call.key(name);
  StoredPtr stored = env.store.get(call.table(), key);
  if (!stored) {
    if (!rules.may_create) return fail_status(not_found(info.group_resource_of(call.gv()), name));
    if (auto ok = authorize_create(env, call, name); !ok) return fail_status(ok.error());
    auto fresh = mutate(nullptr);
    if (!fresh) return fail_status(fresh.error());
    if (auto ok = check_identity(call, (*fresh)["metadata"], false); !ok) return fail_status(ok.error());
    if (auto ok = check_namespace(env, call, name); !ok) return fail_status(ok.error());
    if (auto ok = check_absent(call, name, key, rules, (*fresh)["metadata"]); !ok) return fail_status(ok.error());
    (*fresh)["metadata"].erase("resourceVersion");
    auto created = create_object(env, call, std::move(*fresh), rules.manager);
    if (!created) return fail_status(created.error());
    return WriteResult{*created, true};
  }
  const auto old_document = stored->document();
  const Json& old = *old_document;
  const WriteContext ctx = write_context(env, call);

  Json current = old;
  convert_document(*call.kind, current, info.hub, call.gv());
  auto changed = mutate(&current);
  if (!changed) return fail_status(changed.error());
  Json object = std::move(*changed);
  if (auto ok = check_identity(call, object["metadata"], false); !ok) return fail_status(ok.error());
  convert_document(*call.kind, object, call.gv(), info.hub);
  call.kind->set_defaults(object);

  Json& meta = object["metadata"];
  const std::string revision_text = meta.value("resourceVersion", "");
  auto revision = parse_object_revision(revision_text);
  if (!revision) return fail_status(revision.error());
  if (rules.is_put) {
    const std::string uid = meta.value("uid", "");
    const std::string stored_uid = old.at("metadata").value("uid", "");
    if (!uid.empty() && uid != stored_uid) {
      return fail_status(conflict(info.group_resource_of(call.gv()), name,
                                  "StorageError: invalid object, Code: 4, Key: /registry/" + registry_path(info) + key +
                                      ", ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in "
                                      "precondition: " +
                                      uid + ", UID in object meta: " + stored_uid));
    }
    if (*revision == 0 && !info.allow_unconditional_update) {
      FieldErrors errors{invalid_value(FieldPath("metadata.resourceVersion"), 0, "must be specified for an update")};
      Status s = invalid_status({call.gv().group, info.plural}, name, errors);
      return fail_status(s);
    }
  }
  if (*revision != 0 && *revision != stored->revision()) {
    return fail_status(modified(info.group_resource_of(call.gv()), name));
  }
  meta["resourceVersion"] = old.at("metadata").at("resourceVersion");
  deduplicate_owner_references(call, meta);
  init_update_metadata(old.at("metadata"), meta);

  const bool status_write = rules.subresource == "status";
  // Ownership follows what was sent, without fields that this write may not change.
  if (status_write) {
    reset_for_status(info, object, old);
  } else if (info.has_status && rules.subresource.empty()) {
    keep_member(object, old, "status");
  }
  if (rules.manager.track) {
    const ObjectType* type = managed_type(*call.kind, call.gv());
    if (info.has_status && !status_write && !rules.subresource.empty()) {
      Json tracked = object;
      keep_member(tracked, old, "status");
      track_update(type, &old, tracked, rules.manager);
      keep_member(object["metadata"], tracked["metadata"], "managedFields");
    } else {
      track_update(type, &old, object, rules.manager);
    }
  }
  if (status_write) {
    call.kind->prepare_for_status_update(ctx, object, old);
  } else {
    call.kind->prepare_for_update(ctx, object, old);
  }
  if (auto admitted = call.kind->admit_update(ctx, object, old); !admitted) return fail_status(admitted.error());
  RawTexts raw_texts = new_raw_texts(call, rules, *stored, object);
  const bool same_raw_texts = raw_texts == stored->raw_texts();
  if (!status_write && info.has_generation && (!same_raw_texts || call.kind->bumps_generation(object, old))) {
    object["metadata"]["generation"] = old.at("metadata").value("generation", int64_t{0}) + 1;
  }

  // On updates upstream validates metadata twice: once for all kinds, once in the kind's own rules.
  FieldErrors errors = validate_object_meta(object["metadata"], info, FieldPath("metadata"));
  append_errors(errors, validate_object_meta_update(object["metadata"], old.at("metadata"), FieldPath("metadata")));
  append_errors(errors, FieldErrors(errors));
  append_errors(errors, status_write ? call.kind->validate_status_update(ctx, object, old)
                                     : call.kind->validate_update(ctx, object, old));
  check_raw_sizes(errors, raw_texts, stored->raw_texts());
  if (!errors.empty()) return fail_status(invalid_status(error_kind(call), name, errors));

  settle_empty_lists(*call.kind, object);
  if (same_raw_texts && same_object(object, old)) return WriteResult{stored, false};
  // The last finalizer of an object being deleted: the object is removed; the answer has the old resourceVersion.
  const Json& new_meta = object["metadata"];
  const bool unheld = new_meta.value("finalizers", Json::array()).empty() && spec_finalizers_empty(info, object);
  if (new_meta.contains("deletionTimestamp") && unheld && new_meta.value("deletionGracePeriodSeconds", 0) == 0 &&
      !(old.at("metadata").value("finalizers", Json::array()).empty() && spec_finalizers_empty(info, old))) {
    auto last = std::make_shared<const StoredObject>(stored->revision(), std::move(object));
    if (!ctx.dry_run) env.store.remove(call.table(), key);
    return WriteResult{last, false};
  }
  if (ctx.dry_run)
    return WriteResult{std::make_shared<const StoredObject>(stored->revision(), std::move(object)), false};
  if (auto ok = fit_into_storage(*call.kind, key, object); !ok) return fail_status(ok.error());
  return WriteResult{env.store.put(call.table(), key, std::move(object), std::move(raw_texts)), false};
}

GroupKind error_kind(const Call& call) {
  return {call.kind->info().group, call.kind->info().kind};
}

std::string registry_path(const KindInfo& info) {
  if (info.plural == "nodes") return "minions/";
  return (info.group.empty() || info.group == "apps" || info.group == "batch" ? "" : info.group + "/") + info.plural +
         "/";
}

bool spec_finalizers_empty(const KindInfo& info, const Json& object) {
  if (info.plural != "namespaces") return true;
  auto spec = object.find("spec");
  return spec == object.end() || spec->value("finalizers", Json::array()).empty();
}

void reset_status(const Kind& kind, Json& object) {
  object.erase("status");
  const ServedVersion* hub = kind.info().find_version(kind.info().hub);
  const ObjectType* type = builtin_schemas().find(hub->schema_package, kind.info().kind);
  const Field* status = type == nullptr ? nullptr : type->find("status");
  if (status == nullptr) {
    object["status"] = Json::object();
  } else if (status->value.object != nullptr && !status->value.pointer) {
    object["status"] = zero_object(*status->value.object);
  }
}

void deduplicate_owner_references(Call& call, Json& meta) {
  auto owners = meta.find("ownerReferences");
  if (owners == meta.end() || owners->size() < 2) return;
  Json kept = Json::array();
  std::vector<std::string> dropped;
  std::unordered_set<std::string> seen;
  for (auto& o : *owners) {
    if (seen.insert(o.dump()).second) {
      kept.push_back(o);
    } else {
      dropped.push_back(o.value("uid", ""));
    }
  }
  if (dropped.empty()) return;
  call.warnings.push_back(
      ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may "
      "reject "
      "such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: " +
      join(dropped, ", "));
  *owners = std::move(kept);
}

void handle_create(const Env& env, const CallPtr& call) {
  if (auto ok = check_write_options(*call, "CreateOptions"); !ok) return send_status(*call, ok.error());
  auto object = decode_body(*call, body_kind(*call));
  if (!object) return send_status(*call, object.error());
  Json& meta = (*object)["metadata"];
  if (auto ok = check_identity(*call, meta, true); !ok) return send_status(*call, ok.error());
  if (auto ok = check_namespace(env, *call, meta.value("name", "")); !ok) return send_status(*call, ok.error());
  auto created = create_object(env, *call, std::move(*object), manager_tag(env, *call));
  if (!created) return send_status(*call, created.error());
  send_object(env, *call, 201, *created);
}

void handle_update(const Env& env, const CallPtr& call) {
  if (auto ok = check_write_options(*call, "UpdateOptions"); !ok) return send_status(*call, ok.error());
  auto object = decode_body(*call, body_kind(*call));
  if (!object) return send_status(*call, object.error());
  if (auto ok = check_identity(*call, (*object)["metadata"], false); !ok) return send_status(*call, ok.error());
  UpdateRules rules;
  rules.is_put = true;
  rules.subresource = call->path.subresource;
  rules.may_create = call->kind->info().allow_create_on_update && rules.subresource.empty();
  rules.manager = manager_tag(env, *call);
  auto result =
      update_object(env, *call, call->path.name, rules, [&](const Json*) -> StatusOr<Json> { return *object; });
  if (!result) return send_status(*call, result.error());
  send_object(env, *call, result->created ? 201 : 200, result->object);
}

void handle_patch(const Env& env, const CallPtr& call) {
  auto patch = Patch::parse(*call);
  if (!patch) return send_status(*call, patch.error());
  if (auto ok = check_write_options(*call, "PatchOptions"); !ok) return send_status(*call, ok.error());
  UpdateRules rules;
  rules.subresource = call->path.subresource;
  rules.manager = manager_tag(env, *call);
  rules.manager.track = !patch->is_apply();
  rules.keeps_key_order = patch->keeps_key_order();
  rules.may_create = patch->is_apply() && rules.subresource.empty();
  auto result = update_object(env, *call, call->path.name, rules,
                              [&](const Json* current) { return patch->run(env, *call, current); });
  if (!result) return send_status(*call, result.error());
  send_object(env, *call, result->created ? 201 : 200, result->object);
}

}  // namespace dra::apiserver
