// GET: of one object, and until when a request waits for a revision. Lists are in list.h.
#include <charconv>
#include <nlohmann/json.hpp>

#include "pkg/apiserver/model/guard.h"
#include "pkg/apiserver/rest/call.h"
#include "pkg/apiserver/rest/list.h"
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
        send_status(*call, internal_error());
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
  when_reached(env, call, wanted, [env, call, options = std::move(*options)] { answer_list(env, call, options); });
}

}  // namespace dra::apiserver
