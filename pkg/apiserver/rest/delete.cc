// DELETE of objects and collections: options, preconditions, finalizers, grace (registry/rest/delete.go).
#include "pkg/apiserver/rest/delete.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "pkg/apiserver/codec/codec.h"
#include "pkg/apiserver/codec/protobuf.h"
#include "pkg/apiserver/kinds/folders.h"
#include "pkg/apiserver/model/json_text.h"
#include "pkg/apiserver/rest/body.h"
#include "pkg/apiserver/rest/list.h"
#include "pkg/apiserver/rest/watch.h"
#include "pkg/apiserver/rest/write.h"
#include "pkg/base/strings.h"
#include "pkg/base/timestamp.h"
#include "pkg/yaml/yaml.h"

namespace dra::apiserver {

namespace {

// time.Duration(seconds) * time.Second, which wraps around beyond 292 years: such a pod was deleted long ago.
Duration go_seconds(int64_t seconds) {
  return Duration(static_cast<int64_t>(static_cast<uint64_t>(seconds) * 1'000'000'000));
}

StatusOr<Json> parse_delete_body(const Call& call) {
  if (call.request.body_too_large) return fail_status(too_large("Request entity too large: limit is 3145728"));
  const std::string& body = call.request.body;
  if (body.empty()) return Json::object();
  const std::string type = media_type(call.request.headers.get("Content-Type"));
  Json out;
  if (type == "application/vnd.kubernetes.protobuf") {
    const ObjectType* schema = builtin_schemas().find("meta/v1", "DeleteOptions");
    auto decoded = decode_protobuf_body(body, {{"", ""}, "DeleteOptions", schema});
    if (!decoded) return decoded;
    out = std::move(*decoded);
  } else if (type == "application/yaml") {
    auto parsed = yaml::parse(body, {.first_document_only = true});
    if (!parsed)
      return fail_status(bad_request("couldn't get version/kind; json parse error: " + parsed.error().message()));
    out = std::move(*parsed);
  } else if (type.empty() || type == "application/json") {
    std::vector<std::string> duplicates;
    std::string error;
    if (!parse_json(body, out, duplicates, error)) {
      return fail_status(bad_request("couldn't get version/kind; json parse error: " + error));
    }
  } else {
    return fail_status(unsupported_media_type(
        "the body of the request was in an unknown format - accepted media types include: application/json, "
        "application/yaml, application/vnd.kubernetes.protobuf"));
  }
  if (!out.is_object()) return fail_status(bad_request("couldn't get version/kind; json parse error: not an object"));
  const std::string kind = out.value("kind", "DeleteOptions");
  const std::string version = out.value("apiVersion", "v1");
  if (kind != "DeleteOptions") {
    return fail_status(
        bad_request("no kind " + quote(kind) + " is registered for version " + quote(version) +
                    " in scheme \"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27\""));
  }
  return out;
}

FieldErrors check_delete_options(const DeleteRequest& o, const Json& document) {
  FieldErrors errors;
  if (o.orphan_dependents && o.policy) {
    errors.push_back(invalid(FieldPath("propagationPolicy"), *o.policy,
                             "orphanDependents and deletionPropagation cannot be both set"));
  }
  if (o.policy && *o.policy != "Foreground" && *o.policy != "Background" && *o.policy != "Orphan") {
    errors.push_back(
        not_supported(FieldPath("propagationPolicy"), *o.policy, {"Foreground", "Background", "Orphan", "nil"}));
  }
  const Json dry_run = document.value("dryRun", Json::array());
  if (dry_run.is_array() && std::any_of(dry_run.begin(), dry_run.end(), [](const Json& v) { return v != "All"; })) {
    errors.push_back({"FieldValueNotSupported", "dryRun",
                      "Unsupported value: " + compact_text(dry_run) + ": supported values: \"All\""});
  }
  return errors;
}

// The finalizers that the policy adds and removes.
Json finalizers_for(const Json& meta, const std::string& policy) {
  Json out = Json::array();
  for (const auto& f : meta.value("finalizers", Json::array())) {
    if (f == "orphan" && policy != "Orphan") continue;
    if (f == "foregroundDeletion" && policy != "Foreground") continue;
    out.push_back(f);
  }
  auto add = [&](const char* name) {
    if (std::find(out.begin(), out.end(), Json(name)) == out.end()) out.push_back(name);
  };
  if (policy == "Orphan") add("orphan");
  if (policy == "Foreground") add("foregroundDeletion");
  return out;
}

}  // namespace

StatusOr<void> check_preconditions(const KindInfo& info, const Json& meta, const std::string& name,
                                   const DeleteRequest& o) {
  const std::string uid = meta.value("uid", "");
  const std::string revision = meta.value("resourceVersion", "");
  const GroupResource as_kind{info.group, info.kind};
  if (o.uid && *o.uid != uid) {
    return fail_status(conflict(as_kind, name,
                                "the UID in the precondition (" + *o.uid + ") does not match the UID in record (" +
                                    uid + "). The object might have been deleted and then recreated"));
  }
  if (o.resource_version && *o.resource_version != revision) {
    return fail_status(conflict(as_kind, name,
                                "the ResourceVersion in the precondition (" + *o.resource_version +
                                    ") does not match the ResourceVersion in record (" + revision +
                                    "). The object might have been modified"));
  }
  return {};
}

StatusOr<DeleteRequest> parse_delete_request(Call& call) {
  auto body = parse_delete_body(call);
  if (!body) return fail_status(body.error());
  Json document = std::move(*body);
  if (call.request.body.empty()) {
    // Without a body, the same options may come as query parameters.
    const Query& q = call.query;
    if (q.has("propagationPolicy")) document["propagationPolicy"] = q.get("propagationPolicy");
    if (q.has("orphanDependents")) document["orphanDependents"] = q.flag("orphanDependents");
    for (const auto& v : q.all("dryRun")) document["dryRun"].push_back(v);
    const std::string& grace = q.get("gracePeriodSeconds");
    if (!grace.empty()) {
      int64_t seconds = 0;
      const auto [end, ec] = std::from_chars(grace.data(), grace.data() + grace.size(), seconds);
      if (ec != std::errc() || end != grace.data() + grace.size()) {
        return fail_status(bad_request("strconv.ParseInt: parsing " + quote(grace) + ": invalid syntax"));
      }
      document["gracePeriodSeconds"] = seconds;
    }
  }
  Json typed = document;
  const DecodeReport report = decode_object(builtin_schemas().find("meta/v1", "DeleteOptions"), typed);
  if (!report.error.empty()) return fail_status(bad_request(report.error));
  DeleteRequest out;
  auto text = [](const Json& in, const char* name) -> std::optional<std::string> {
    auto it = in.find(name);
    return it == in.end() ? std::nullopt : std::optional(it->get<std::string>());
  };
  out.policy = text(typed, "propagationPolicy");
  if (typed.contains("orphanDependents")) out.orphan_dependents = typed["orphanDependents"].get<bool>();
  if (typed.contains("gracePeriodSeconds")) out.grace_seconds = typed["gracePeriodSeconds"].get<int64_t>();
  if (typed.contains("preconditions")) {
    out.uid = text(typed["preconditions"], "uid");
    out.resource_version = text(typed["preconditions"], "resourceVersion");
  }
  const Json dry_run = typed.value("dryRun", Json::array());
  out.dry_run = !dry_run.empty();
  const FieldErrors errors = check_delete_options(out, typed);
  if (!errors.empty()) return fail_status(invalid_status({"meta.k8s.io", "DeleteOptions"}, "", errors));
  return out;
}

StatusOr<DeleteResult> delete_object(const Env& env, Call& call, const std::string& name,
                                     const DeleteRequest& options) {
  const KindInfo& info = call.kind->info();
  const std::string key = call.key(name);
  const StoredPtr stored = env.store.get(call.table(), key);
  if (!stored) return fail_status(not_found(info.group_resource_of(call.gv()), name));
  const auto old_document = stored->document();
  const Json& old_meta = old_document->at("metadata");
  const WriteContext ctx = write_context(env, call);
  if (auto ok = call.kind->admit_delete(ctx, *old_document); !ok) return fail_status(ok.error());

  std::string policy = options.policy.value_or("");
  if (policy.empty() && options.orphan_dependents) policy = *options.orphan_dependents ? "Orphan" : "Background";
  if (policy.empty()) {
    const Json held = old_meta.value("finalizers", Json::array());
    const bool orphan = std::find(held.begin(), held.end(), Json("orphan")) != held.end();
    const bool foreground = std::find(held.begin(), held.end(), Json("foregroundDeletion")) != held.end();
    policy = orphan ? "Orphan" : foreground ? "Foreground" : call.kind->default_propagation(ctx);
  }
  if (auto ok = check_preconditions(info, old_meta, name, options); !ok) return fail_status(ok.error());
  const DeleteDecision decision = call.kind->decide_delete(*old_document, options.grace_seconds);
  const bool deleting = old_meta.contains("deletionTimestamp");

  Json next = *old_document;
  Json& meta = next["metadata"];
  const Json finalizers = finalizers_for(old_meta, policy);
  if (finalizers.empty()) {
    meta.erase("finalizers");
  } else {
    meta["finalizers"] = finalizers;
  }
  const bool held = !finalizers.empty() || !spec_finalizers_empty(info, next);
  const int64_t grace = decision.graceful ? decision.grace_seconds : 0;
  const bool had_grace = deleting && old_meta.contains("deletionGracePeriodSeconds");
  const int64_t old_grace = had_grace ? old_meta["deletionGracePeriodSeconds"].get<int64_t>() : 0;
  const bool mark = !deleting || grace < old_grace;
  const bool immediate = !held && grace == 0;
  if (mark && (!immediate || decision.mark_first)) {
    meta["deletionTimestamp"] = format_rfc3339(Timestamp(env.reactor.clock().wall_now()) + go_seconds(grace));
    meta["deletionGracePeriodSeconds"] = grace;
    if (info.has_generation && !deleting && meta.contains("generation")) {
      meta["generation"] = meta["generation"].get<int64_t>() + 1;
    }
  }
  call.kind->prepare_for_delete(ctx, next);
  if (!immediate) {
    if (next == *old_document) return DeleteResult{stored, false};
    if (options.dry_run)
      return DeleteResult{std::make_shared<const StoredObject>(stored->revision(), std::move(next)), false};
    return DeleteResult{env.store.put(call.table(), key, std::move(next)), false};
  }
  if (options.dry_run)
    return DeleteResult{std::make_shared<const StoredObject>(stored->revision(), std::move(next)), true};
  if (decision.mark_first && mark) env.store.put(call.table(), key, std::move(next));
  return DeleteResult{env.store.remove(call.table(), key), true};
}

void handle_delete(const Env& env, const CallPtr& call) {
  auto options = parse_delete_request(*call);
  if (!options) return send_status(*call, options.error());
  auto result = delete_object(env, *call, call->path.name, *options);
  if (!result) return send_status(*call, result.error());
  const KindInfo& info = call->kind->info();
  if (result->gone && !info.delete_returns_object) {
    Json details = {{"name", call->path.name}, {"kind", info.plural}};
    if (!call->gv().group.empty()) details["group"] = call->gv().group;
    details["uid"] = result->object->document()->at("metadata").value("uid", "");
    return send_success(*call, 200, details);
  }
  send_object(env, *call, 200, result->object);
}

namespace {

// A collection on its way: one object is deleted in a turn, so that others do not wait for all of them.
class CollectionDeletion {
 public:
  CollectionDeletion(const Env& env, CallPtr call, DeleteRequest options)
      : env_(env), call_(std::move(call)), options_(std::move(options)) {}

  void read(const ListOptions& list) {
    revision_ = env_.store.revision();
    for_each_in_scope(*call_, env_.store.objects(call_->table()), [&](const std::string& key, const StoredPtr& o) {
      if (list_matches(*call_, list, key, *o)) objects_.push_back(o);
      return true;
    });
  }

  bool go_on() {
    if (answer_) return answer_();
    if (next_ == objects_.size()) {
      call_->form.shape = OutputShape::kObject;
      answer_ = steps_to_answer(env_, call_, std::move(objects_), revision_);
      return true;
    }
    const auto document = objects_[next_++]->document();
    auto result = delete_object(env_, *call_, document->at("metadata").value("name", ""), options_);
    if (result || result.error().code == 404) return true;
    send_status(*call_, result.error());
    return false;
  }

 private:
  Env env_;
  CallPtr call_;
  DeleteRequest options_;
  std::vector<StoredPtr> objects_;  // as they were
  uint64_t revision_ = 0;
  size_t next_ = 0;
  std::function<bool()> answer_;
};

}  // namespace

void handle_delete_collection(const Env& env, const CallPtr& call) {
  auto list = parse_list_options(*call);
  if (!list) return send_status(*call, list.error());
  auto options = parse_delete_request(*call);
  if (!options) return send_status(*call, options.error());
  run_alone_in_turns(env, call, [env, call, list = std::move(*list), options = std::move(*options)] {
    const auto deletion = std::make_shared<CollectionDeletion>(env, call, options);
    deletion->read(list);
    return std::function<bool()>([deletion] { return deletion->go_on(); });
  });
}

}  // namespace dra::apiserver
