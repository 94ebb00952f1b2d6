#include "client/election/elector.h"

#include <algorithm>
#include <utility>

#include "pkg/base/check.h"
#include "pkg/base/timestamp.h"
#include "pkg/log/log.h"

namespace dra::client {

Elector::Elector(Reactor& reactor, RestClient& client, Random& random, ElectorOptions options,
                 ElectorCallbacks callbacks)
    : reactor_(reactor),
      client_(client),
      random_(random),
      options_(std::move(options)),
      callbacks_(std::move(callbacks)) {
  DRA_CHECK(!options_.identity.empty());
  DRA_CHECK(validate(options_.times).has_value());
}

Elector::~Elector() = default;

ObjectPath Elector::path() const {
  static const Resource leases{"coordination.k8s.io", "v1", "leases", "Lease", true};
  return {leases, options_.ns, options_.name, ""};
}

std::string Elector::micro_now() const {
  return format_rfc3339_micro(reactor_.clock().wall_now());
}

void Elector::start() {
  if (running_) return;
  running_ = true;
  must_look_ = true;
  schedule(Duration::zero());
}

void Elector::schedule(Duration delay) {
  timer_ = reactor_.after(delay, [this] { attempt(); });
}

// One attempt. The handler of its answer schedules the next one.
void Elector::attempt() {
  if (!running_) return;
  must_look_ ? look() : try_update();
}

void Elector::look() {
  if (leading_ && callbacks_.on_slow_path) callbacks_.on_slow_path();
  call_ = client_.get(
      path(), [this](Result<std::string> answer) { looked(std::move(answer)); }, request_timeout());
}

void Elector::looked(Result<std::string> answer) {
  Duration retry = options_.times.retry_period;
  // Spreads campaigners over 1 to 2.2 retry periods, as upstream does.
  Duration later =
      leading_ ? retry
               : retry + Duration(static_cast<int64_t>(static_cast<double>(retry.count()) * 1.2 * random_.unit()));
  if (!answer && answer.error().code() == Code::kNotFound && answer.error().reason() == "NotFound") {
    if (leading_) {
      lose("the lease was deleted");
      if (!running_) return;
    }
    try_create();
    return;
  }
  if (!answer) {
    log::warning("Cannot read the lease",
                 {{"lease", log::ObjectRef{options_.ns, options_.name}}, {"err", answer.error()}});
    schedule(later);
    return;
  }
  auto record = parse_lease(*answer);
  if (!record) {
    log::error(record.error(), "Cannot read the lease");
    schedule(later);
    return;
  }
  const std::map<std::string, std::string> ours = observed_.annotations;
  observe(std::move(*record));
  if (!running_) return;
  if (leading_ && observed_.holder == options_.identity && observed_.annotations != ours &&
      callbacks_.on_annotations_changed)
    callbacks_.on_annotations_changed(ours, observed_.annotations);
  if (leading_ && observed_.holder != options_.identity) {
    lose("the lease is held by \"" + observed_.holder + "\" now");
    if (!running_) return;
  }
  if (foreign_and_valid()) {
    schedule(later);
    return;
  }
  must_look_ = false;
  try_update();
}

// Stores the record, and the time at which it was first seen in this form.
void Elector::observe(LeaseRecord record) {
  bool changed = !have_observed_ || record.fingerprint() != observed_.fingerprint();
  bool new_holder = !have_observed_ || record.holder != observed_.holder;
  observed_ = std::move(record);
  have_observed_ = true;
  if (changed) observed_at_ = reactor_.clock().mono_now();
  if (new_holder && callbacks_.on_new_leader) callbacks_.on_new_leader(observed_.holder);
}

bool Elector::foreign_and_valid() const {
  if (observed_.holder.empty() || observed_.holder == options_.identity) return false;
  // A record without a duration is treated as having ours.
  Duration term = observed_.duration_seconds > 0 ? Duration(std::chrono::seconds(observed_.duration_seconds))
                                                 : options_.times.lease_duration;
  return reactor_.clock().mono_now() < observed_at_ + term;
}

LeaseRecord Elector::own_record() const {
  LeaseRecord record;
  record.holder = options_.identity;
  record.duration_seconds =
      static_cast<int>(std::chrono::duration_cast<std::chrono::seconds>(options_.times.lease_duration).count());
  record.renew_time = micro_now();
  bool renewing = have_observed_ && observed_.holder == options_.identity;
  record.acquire_time = renewing ? observed_.acquire_time : record.renew_time;
  record.transitions = observed_.transitions + (renewing || !have_observed_ ? 0 : 1);
  record.resource_version = observed_.resource_version;
  record.labels = observed_.labels;
  for (const auto& [key, value] : options_.labels) record.labels[key] = value;
  record.annotations = observed_.annotations;
  if (options_.annotations)
    for (const auto& [key, value] : options_.annotations()) {
      if (value.empty())
        record.annotations.erase(key);
      else
        record.annotations[key] = value;
    }
  return record;
}

void Elector::try_create() {
  LeaseRecord record = own_record();
  record.acquire_time = record.renew_time;
  record.transitions = 0;
  record.resource_version.clear();
  MonoTime sent = reactor_.clock().mono_now();
  call_ = client_.create(
      path(), lease_json(record, options_.ns, options_.name), {},
      [this, sent](Result<std::string> answer) { wrote(std::move(answer), sent); }, request_timeout());
}

void Elector::try_update() {
  if (!leading_ && callbacks_.on_taking) callbacks_.on_taking(observed_.annotations);
  MonoTime sent = reactor_.clock().mono_now();
  call_ = client_.update(
      path(), lease_json(own_record(), options_.ns, options_.name), {},
      [this, sent](Result<std::string> answer) { wrote(std::move(answer), sent); }, request_timeout());
}

void Elector::wrote(Result<std::string> answer, MonoTime sent) {
  if (!answer) {
    // Whatever the error, read the lease before the next write: another may hold it, or our write did arrive.
    must_look_ = true;
    log::v(2, "Cannot write the lease",
           {{"lease", log::ObjectRef{options_.ns, options_.name}}, {"err", answer.error()}});
    bool lost_race = answer.error().code() == Code::kConflict || answer.error().code() == Code::kAlreadyExists;
    // A leader needs to know at once who won.
    schedule(leading_ && lost_race ? Duration::zero() : options_.times.retry_period);
    return;
  }
  auto record = parse_lease(*answer);
  if (!record || record->holder != options_.identity || record->resource_version.empty()) {
    must_look_ = true;
    schedule(options_.times.retry_period);
    return;
  }
  observe(std::move(*record));
  if (!running_) return;
  must_look_ = false;
  lead(sent);
  if (running_) schedule(options_.times.retry_period);
}

void Elector::lead(MonoTime since) {
  MonoTime now = reactor_.clock().mono_now();
  if (now - since >= options_.times.renew_deadline) {
    // The answer came too late to count.
    must_look_ = true;
    return;
  }
  renewed_at_ = since;
  arm_deadline();
  if (leading_) return;
  leading_ = true;
  log::info("Became leader", {{"lease", log::ObjectRef{options_.ns, options_.name}}, {"identity", options_.identity}});
  if (callbacks_.on_started) callbacks_.on_started();
}

void Elector::arm_deadline() {
  deadline_ = reactor_.after(renewed_at_ + options_.times.renew_deadline - reactor_.clock().mono_now(),
                             [this] { lose("the lease could not be renewed in time"); });
}

// Ends the term. The campaign continues unless the callback stops it.
void Elector::lose(const std::string& why) {
  if (!leading_) return;
  leading_ = false;
  deadline_.cancel();
  must_look_ = true;
  log::warning("Stopped leading", {{"lease", log::ObjectRef{options_.ns, options_.name}}, {"why", why}});
  if (callbacks_.on_stopped) callbacks_.on_stopped(why);
}

bool Elector::healthy() const {
  return !leading_ ||
         reactor_.clock().mono_now() - renewed_at_ <= options_.times.lease_duration + std::chrono::seconds(20);
}

void Elector::stop(std::function<void()> done) {
  if (!running_) {
    reactor_.post(std::move(done));
    return;
  }
  running_ = false;
  stopped_ = std::move(done);
  timer_.cancel();
  bool held = leading_;
  lose("stopping");
  // A renewal may be in flight, which makes the resourceVersion unknown: read the lease first.
  call_.cancel();
  if (!held) {
    reactor_.post([this] { end_stop(); });
    return;
  }
  timer_ = reactor_.after(options_.times.retry_period, [this] { end_stop(); });
  release();
}

void Elector::release() {
  call_ = client_.get(
      path(),
      [this](Result<std::string> answer) {
        auto record = answer ? parse_lease(*answer) : Result<LeaseRecord>(fail(answer.error()));
        if (!record || record->holder != options_.identity) {
          end_stop();
          return;
        }
        observed_ = std::move(*record);
        send_release();
      },
      options_.times.retry_period);
}

// As in client-go: no holder and a duration of one second, so that a candidate can take the lease at once.
void Elector::send_release() {
  LeaseRecord record = observed_;
  record.holder.clear();
  record.duration_seconds = 1;
  record.acquire_time = record.renew_time = micro_now();
  call_ = client_.update(
      path(), lease_json(record, options_.ns, options_.name), {},
      [this](Result<std::string> answer) {
        if (!answer) log::v(2, "Could not release the lease", {{"err", answer.error()}});
        end_stop();
      },
      options_.times.retry_period);
}

void Elector::end_stop() {
  timer_.cancel();
  call_.cancel();
  if (auto done = std::exchange(stopped_, nullptr)) done();
}

}  // namespace dra::client
