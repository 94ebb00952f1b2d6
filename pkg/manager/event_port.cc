#include "pkg/manager/event_port.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "client/rest/resource_path.h"
#include "client/rest/status.h"
#include "pkg/log/log.h"

namespace dra::manager {

namespace {

// Cut at a character's beginning, so that the text stays UTF-8.
std::string cut(const std::string& text, size_t limit) {
  if (text.size() <= limit) return text;
  size_t end = limit - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

std::string api_version_of(reconcile::Kind kind) {
  const bool core = kind == reconcile::Kind::kPod || kind == reconcile::Kind::kNode;
  return core ? "v1" : "resource.k8s.io/v1";
}

}  // namespace

void EventPort::emit(const reconcile::Event& event) {
  log::v(3, "Event",
         {{"object", log::ObjectRef{event.regarding.ns, event.regarding.name}},
          {"reason", event.reason},
          {"note", event.note}});
  if (calls_.size() >= kMaxInFlight) {
    ++dropped_;
    return;
  }
  const std::string ns = event.regarding.ns.empty() ? "default" : event.regarding.ns;
  const WallTime now = reactor_.clock().wall_now();
  char suffix[40];
  std::snprintf(suffix, sizeof(suffix), ".%llx.%llx", static_cast<unsigned long long>(now.time_since_epoch().count()),
                static_cast<unsigned long long>(next_));
  const nlohmann::json body{{"apiVersion", "events.k8s.io/v1"},
                            {"kind", "Event"},
                            {"metadata", {{"name", cut(event.regarding.name, 200) + suffix}, {"namespace", ns}}},
                            {"eventTime", format_rfc3339_micro(now)},
                            {"reportingController", "dra-controller-manager"},
                            {"reportingInstance", cut(instance_, 128)},
                            {"action", event.action},
                            {"reason", event.reason},
                            {"type", event.warning ? "Warning" : "Normal"},
                            {"note", cut(event.note, kMaxNote)},
                            {"regarding",
                             {{"apiVersion", api_version_of(event.regarding.kind)},
                              {"kind", reconcile::kind_name(event.regarding.kind)},
                              {"name", event.regarding.name},
                              {"namespace", event.regarding.ns},
                              {"uid", event.regarding.uid}}}};
  client::Request request;
  request.method = "POST";
  request.target = client::collection_path({"events.k8s.io", "v1", "events", "Event", true}, ns);
  request.content_type = "application/json";
  request.body = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const uint64_t id = next_++;
  calls_[id] = transport_.send(std::move(request), [this, id](Result<client::Response> answer) {
    auto handle = calls_.extract(id);
    if (answer && answer->ok()) return;
    ++dropped_;
    log::v(4, "An event was not written",
           {{"err", answer ? client::error_from_response(*answer, "POST event") : answer.error()}});
  });
}

}  // namespace dra::manager
