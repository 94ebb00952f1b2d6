#include "pkg/manager/run/resync.h"

namespace dra::manager {

void Resync::start() {
  ++number_;
  last_pod_.clear();
  last_claim_.clear();
  pods_done_ = false;
  for (const api::DeviceTaintRule* rule : view_.taint_rules())
    runner_.changed(reconcile::Changed<api::DeviceTaintRule>{nullptr, rule});
  runner_.gather(true);
  one_portion();
}

void Resync::one_portion() {
  const auto pods =
      pods_done_ ? std::vector<client::ObjectPtr<api::Pod>>{} : stores_.pods->list_stream_after(last_pod_, kPortion);
  for (const auto& in_stream : pods) {
    last_pod_ = in_stream->metadata.key();
    const auto pod = stores_.pods->get(last_pod_);  // as our own writes have left it
    if (!pod) continue;
    before_(*pod);
    runner_.changed(reconcile::Changed<api::Pod>{nullptr, pod.get()});
  }
  pods_done_ = pods.size() < kPortion;
  const auto claims = stores_.claims->list_stream_after(last_claim_, kPortion - pods.size());
  for (const auto& in_stream : claims) {
    last_claim_ = in_stream->metadata.key();
    if (const auto claim = stores_.claims->get(last_claim_))
      runner_.changed(reconcile::Changed<api::ResourceClaim>{nullptr, claim.get()});
  }
  if (pods.size() + claims.size() < kPortion) return runner_.gather(false);
  reactor_.post([this, number = number_, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired() && number == number_ && runner_.running()) one_portion();
  });
}

}  // namespace dra::manager
