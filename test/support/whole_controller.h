// WholeController: a controller's parts with one state, as the runner holds them, under the names of what happens.
//
//   test::WholeController controller(lifecycle::parts(options, &inventory));
//   controller.on_pod(view, nullptr, &pod, enqueued);
//   Outcome outcome = controller.reconcile(view, reconcile::pod_key("default/p"));
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pkg/reconcile/parts.h"

namespace dra::test {

class WholeController {
 public:
  explicit WholeController(reconcile::Parts made) : parts_(std::move(made)) {}

  reconcile::ReconcileResult reconcile(const reconcile::View& view, const reconcile::Key& key) {
    return parts_.reconciler->reconcile(key, view, *parts_.state);
  }
  void changed(const reconcile::View& view, const reconcile::Change& change, reconcile::EnqueueRequests& out) {
    parts_.events->changed(change, view, *parts_.state, out);
  }
  template <typename T>
  void on(const reconcile::View& view, const T* before, const T* after, reconcile::EnqueueRequests& out) {
    changed(view, reconcile::Changed<T>{before, after}, out);
  }
  using Enqueue = reconcile::EnqueueRequests;
  using In = const reconcile::View&;
  void on_pod(In view, const api::Pod* before, const api::Pod* after, Enqueue& out) { on(view, before, after, out); }
  void on_claim(In view, const api::ResourceClaim* before, const api::ResourceClaim* after, Enqueue& out) {
    on(view, before, after, out);
  }
  void on_streamed_claim(In view, const api::ResourceClaim* before, const api::ResourceClaim* after, Enqueue& out) {
    changed(view, reconcile::StreamedClaim{before, after}, out);
  }
  void on_claim_template(In view, const api::ResourceClaimTemplate* before, const api::ResourceClaimTemplate* after,
                         Enqueue& out) {
    on(view, before, after, out);
  }
  void on_node(In view, const api::Node* before, const api::Node* after, Enqueue& out) { on(view, before, after, out); }
  void on_class(In view, const api::DeviceClass* before, const api::DeviceClass* after, Enqueue& out) {
    on(view, before, after, out);
  }
  void on_slice(In view, const api::ResourceSlice* before, const api::ResourceSlice* after, Enqueue& out) {
    on(view, before, after, out);
  }
  void on_group(In view, std::string_view group, Enqueue& out) { changed(view, reconcile::GroupChanged{group}, out); }
  void on_write_given_up(In view, const reconcile::Write& write, Enqueue& out) {
    changed(view, reconcile::WriteGivenUp{write}, out);
  }
  void on_capacity_released(In view, Enqueue& out) { changed(view, reconcile::CapacityReleased{}, out); }
  std::vector<reconcile::Key> wait_with(In view, const reconcile::Key& key) {
    return parts_.events->wait_with(key, view, *parts_.state);
  }
  std::optional<reconcile::Write> show_outage(In view, const reconcile::Key& key, const std::string& sentence) {
    return parts_.events->show_outage(key, view, *parts_.state, sentence);
  }
  void controllers_run(const std::set<std::string_view>& names) { parts_.state->controllers_run(names); }
  void events_end() { parts_.state->events_end(); }
  const reconcile::Parts& parts() const { return parts_; }

 private:
  reconcile::Parts parts_;
};

}  // namespace dra::test
