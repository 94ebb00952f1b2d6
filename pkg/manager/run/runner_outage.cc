// Says on pods that requests fail for which their keys wait (Outages::notify_waiting). Their keys do not run for it:
// the pace of what is tried again stays what it is.
#include "pkg/log/log.h"
#include "pkg/manager/run/runner_reconcile.h"
#include "pkg/protocol/pod_changes.h"
#include "pkg/protocol/writes.h"

namespace dra::manager {

using reconcile::Key;
using reconcile::Write;

namespace {

// Of "controller/key".
std::optional<Key> key_of_item(std::string_view item) {
  const size_t slash = item.find('/');
  return slash == std::string_view::npos ? std::nullopt : reconcile::parse_key(item.substr(slash + 1));
}

}  // namespace

std::vector<std::string> Runner::companions_of(const std::string& item) const {
  std::vector<std::string> items;
  const std::optional<Key> key = key_of_item(item);
  if (!running_ || !key) return items;
  const std::string controller = item.substr(0, item.find('/') + 1);
  for (const auto& one : controllers_)
    if (controller == std::string(one->parts.name) + "/")
      for (const Key& with : one->parts.events->wait_with(*key, view_, *one->parts.state))
        items.push_back(controller + reconcile::to_text(with));
  return items;
}

void Runner::say_outage(const std::string& item, const std::string& waits_for, const Failure& failure,
                        Duration lasted) {
  const std::optional<Key> key = key_of_item(item);
  const api::Pod* pod = key && key->kind == reconcile::Kind::kPod ? view_.pod(key->object) : nullptr;
  if (!running_ || pod == nullptr) return;
  // Meanwhile the other one has placed it.
  if (item != waits_for && !pod->node_name.empty()) return;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(lasted).count();
  const std::string sentence = "the pod waits because the API server has not done \"" + failure.what + "\" for " +
                               std::to_string(seconds) + " s: " + shortened(failure.error.message()) +
                               "; it is tried again at least every 8 s";
  emit({protocol::ref_of(*pod), true, "RequestsFail", "Write", sentence, failure.what});
  for (const auto& controller : controllers_)
    if (std::optional<Write> write =
            controller->parts.events->show_outage(*key, view_, *controller->parts.state, sentence)) {
      // The condition would fail for the same reason.
      if (what_of(*write) != failure.what) write_for_people(std::string(controller->parts.name), std::move(*write));
      return;
    }
}

void Runner::write_for_people(const std::string& controller, Write write) {
  const std::string lock = lock_name(write.object);
  // Busy or refused: the event has said it.
  if (refused_lately(write) || !locked_.try_emplace(lock).second) return;
  outage_shown_.put(write.object.uid, true);
  protocol::build_body(write);
  if (write_observer_) write_observer_(controller, write);
  const auto sent = std::make_shared<const Write>(std::move(write));
  sinks_.api.perform(*sent, [this, alive = alive_, lock, sent](Result<uint64_t> answer) {
    if (!*alive) return;
    sinks_.metrics.write_answered(sent->purpose, answer ? std::string_view("ok") : code_name(answer.error().code()));
    if (!answer) {
      outage_shown_.erase(sent->object.uid);
      log::v(4, "Writing a condition failed", {{"pod", sent->object.store_key()}, {"err", answer.error()}});
    }
    release(lock);
  });
}

bool Runner::is_own_word(const api::Pod* before, const api::Pod* after) {
  if (outage_shown_.size() == 0 || !before || !after || !outage_shown_.find(after->metadata.uid)) return false;
  if (!protocol::is_only_of_conditions(*before, *after)) return false;
  outage_shown_.erase(after->metadata.uid);
  return true;
}

}  // namespace dra::manager
