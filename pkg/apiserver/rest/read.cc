// GET of one object and of collections.
#include <charconv>
#include <nlohmann/json.hpp>

#include "pkg/apiserver/codec/protobuf_answer.h"
#include "pkg/apiserver/guard.h"
#include "pkg/apiserver/json_text.h"
#include "pkg/apiserver/rest/call.h"
#include "pkg/apiserver/rest/continue_token.h"
#include "pkg/apiserver/rest/watch.h"
#include "pkg/base/go_duration.h"
#include "pkg/base/strings.h"

namespace dra::apiserver {

namespace {

constexpr std::chrono::milliseconds kFuturePoll{50};
constexpr std::chrono::seconds kFutureWait{3};

Status too_large_revision(uint64_t wanted, uint64_t current) {
  Status s;
  s.code = 504;
  s.reason = "Timeout";
  s.message =
      "Timeout: Too large resource version: " + std::to_string(wanted) + ", current: " + std::to_string(current);
  s.causes.push_back({"ResourceVersionTooLarge", "Too large resource version", ""});
  s.retry_after_seconds = 1;
  return s;
}

// Runs `go_on` when the store reaches the revision that the call wants; gives up after three seconds or the request's
// own time limit.
void when_reached(const Env& env, const CallPtr& call, uint64_t revision, std::function<void()> go_on) {
  if (revision <= env.store.revision()) {
    go_on();
    return;
  }
  const MonoTime start = env.reactor.clock().mono_now();
  const Duration own_limit = parse_go_duration(call->query.get("timeout")).value_or(Duration(0));
  auto timer = std::make_shared<Handle>();
  auto step = std::make_shared<std::function<void()>>();
  *step = [env, call, revision, go_on = std::move(go_on), start, own_limit, timer, step] {
    const Duration waited = env.reactor.clock().mono_now() - start;
    const bool own_over = own_limit > Duration(0) && waited >= own_limit;
    if (revision > env.store.revision() && waited < kFutureWait && !own_over) {
      *timer = env.reactor.after(kFuturePoll, [call, step] {
        if (run_guarded("a request that waited for a revision", [&] { (*step)(); })) return;
        Status s = plain_error("internal error");
        s.reason = "InternalError";
        send_status(*call, s);
        *step = nullptr;
      });
      return;
    }
    if (revision <= env.store.revision()) {
      go_on();
    } else if (own_over) {
      // Upstream's timeout filter sends this text with the wrong media type.
      send_text(*call, 504, "text/plain; charset=utf-8",
                R"({"metadata":{},"status":"Failure","message":")" + request_timeout().message +
                    R"(","reason":"Timeout","details":{},"code":504})" + "\n");
    } else {
      send_status(*call, too_large_revision(revision, env.store.revision()));
    }
    env.reactor.post([timer, step] {  // breaks the cycle of handle, task and itself
      timer->cancel();
      *step = nullptr;
    });
  };
  (*step)();
}

struct Page {
  std::vector<StoredPtr> items;
  uint64_t revision = 0;
  std::string next;  // continue token
  std::optional<size_t> remaining;
};

StatusOr<Page> read_page(const Env& env, const Call& call, const ListOptions& o) {
  Page page;
  page.revision = env.store.revision();
  std::string start;
  std::optional<Store::Objects> snapshot;
  if (!o.continue_token.empty()) {
    if (!o.resource_version.empty() && o.resource_version != "0") {
      return fail_status(bad_request("specifying resource version is not allowed when using continue"));
    }
    auto token = decode_continue(o.continue_token);
    if (!token) return fail_status(bad_request("invalid continue token: " + token.error().message()));
    start = token->start;
    if (token->revision > 0) {
      page.revision = static_cast<uint64_t>(token->revision);
      snapshot = env.store.objects_at(call.table(), page.revision);
      if (!snapshot) {
        Status s = gone(
            "The provided continue parameter is too old to display a consistent list result. You can start a new list "
            "without the continue parameter, or use the continue token in this response to retrieve the remainder of "
            "the results. Continuing with the provided token results in an inconsistent list - objects that were "
            "created, modified, or deleted between the time the first chunk was returned and now may show up in the "
            "list.");
        s.continue_token = encode_continue({-1, start});
        return fail_status(s);
      }
    }
  } else if (o.match == "Exact") {
    page.revision = o.revision;
    snapshot = env.store.objects_at(call.table(), o.revision);
    if (!snapshot) return fail_status(gone("The resourceVersion for the provided list is too old."));
  }
  const bool ignore_limit = o.resource_version == "0" && o.match.empty();
  const size_t limit = o.limit > 0 && !ignore_limit ? static_cast<size_t>(o.limit) : SIZE_MAX;
  const bool selecting = !o.labels.empty() || !o.fields.empty();
  size_t beyond = 0;
  std::string last;
  for_each_in_scope(call, snapshot ? *snapshot : env.store.objects(call.table()),
                    [&](const std::string& key, const StoredPtr& object) {
                      if (key < start || !list_matches(call, o, key, *object)) return true;
                      if (page.items.size() < limit) {
                        page.items.push_back(object);
                        last = key;
                        return true;
                      }
                      ++beyond;
                      return !selecting;
                    });
  if (beyond > 0) {
    page.next = encode_continue({static_cast<int64_t>(page.revision), last + std::string(1, '\0')});
    if (!selecting) page.remaining = beyond;
  }
  return page;
}

Json list_metadata(const Page& page) {
  Json meta = {{"resourceVersion", std::to_string(page.revision)}};
  if (!page.next.empty()) meta["continue"] = page.next;
  if (page.remaining) meta["remainingItemCount"] = *page.remaining;
  return meta;
}

std::string item_text(const Call& call, const StoredObject& object) {
  if (call.form.shape == OutputShape::kObject) return object_text(*call.kind, call.gv(), object, false);
  return compact_text(partial_object(object.document()->at("metadata"), call.form.shape_version));
}

// False if no schema table has the kind: the answer is then JSON.
bool send_protobuf_page(Call& call, const Page& page, const Json& metadata, const std::string& api_version,
                        const std::string& kind) {
  const bool partial = call.form.shape == OutputShape::kPartialObjectMetadata;
  const std::string item_kind = kind.substr(0, kind.size() - std::string_view("List").size());
  const ObjectType* type = find_message_type(api_version, item_kind);
  if (type == nullptr) return false;
  ProtobufList list(metadata);
  for (const StoredPtr& o : page.items) {
    list.add(*type, partial ? partial_object(o->document()->at("metadata"), call.form.shape_version)
                            : object_document(*call.kind, call.gv(), *o));
  }
  send_protobuf(call, 200, protobuf_envelope(api_version, kind, list.message()));
  return true;
}

void send_page(const Env& env, Call& call, const Page& page) {
  if (call.form.shape == OutputShape::kPartialObjectMetadata && !call.form.partial_list) {
    send_status(call, not_acceptable("you requested PartialObjectMetadata, but the requested object is a list (*" +
                                     call.kind->info().internal_type() + "List)"));
    return;
  }
  const Json metadata = list_metadata(page);
  if (call.form.shape == OutputShape::kTable) {
    auto table = make_table(
        env, {*call.kind, call.gv(), call.form.shape_version, call.query.get("includeObject"), true}, page.items);
    if (!table) {
      send_status(call, table.error());
      return;
    }
    (*table)["metadata"] = metadata;
    send_document(call, 200, *table);
    return;
  }
  std::string kind = call.kind->info().kind + "List";
  std::string api_version = call.gv().text();
  const bool partial = call.form.shape == OutputShape::kPartialObjectMetadata;
  if (partial) {
    kind = "PartialObjectMetadataList";
    api_version = "meta.k8s.io/" + call.form.shape_version;
  }
  if (call.form.protobuf && send_protobuf_page(call, page, metadata, api_version, kind)) return;
  std::string text = R"({"kind":")" + kind + R"(","apiVersion":")" + api_version + R"(","metadata":)" +
                     compact_text(metadata) + R"(,"items":[)";
  bool first = true;
  for (const StoredPtr& o : page.items) {
    if (!first) text += ',';
    first = false;
    text += item_text(call, *o);
  }
  text += "]}";
  // In upstream an empty metadata-only list has no array at all.
  if (partial && page.items.empty()) text.replace(text.size() - 3, 2, "null");
  send_json(call, 200, std::move(text));
}

}  // namespace

void handle_get(const Env& env, const CallPtr& call) {
  if (call->query.flag("export")) {
    send_status(*call, bad_request("the export parameter, deprecated since v1.14, is no longer supported"));
    return;
  }
  const std::string& rv = call->query.get("resourceVersion");
  uint64_t revision = 0;
  if (!rv.empty()) {
    const auto [end, ec] = std::from_chars(rv.data(), rv.data() + rv.size(), revision);
    if (ec != std::errc() || end != rv.data() + rv.size()) {
      send_status(*call, plain_error("resourceVersion: Invalid value: " + quote(rv) + ": strconv.ParseUint: parsing " +
                                     quote(rv) + ": invalid syntax"));
      return;
    }
  }
  when_reached(env, call, revision, [env, call] {
    StoredPtr object = env.store.get(call->table(), call->key(call->path.name));
    if (object) {
      send_object(env, *call, 200, object);
    } else {
      send_status(*call, not_found(call->kind->info().group_resource_of(call->gv()), call->path.name));
    }
  });
}

void handle_list(const Env& env, const CallPtr& call) {
  auto options = parse_list_options(*call);
  if (!options) {
    send_status(*call, options.error());
    return;
  }
  if (options->watch) {
    begin_watch(env, call, std::move(*options));
    return;
  }
  const uint64_t wanted = options->revision;
  when_reached(env, call, wanted, [env, call, options = std::move(*options)] {
    auto page = read_page(env, *call, options);
    if (page) {
      send_page(env, *call, *page);
    } else {
      send_status(*call, page.error());
    }
  });
}

}  // namespace dra::apiserver
