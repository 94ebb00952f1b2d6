#include "pkg/manager/report/usage_reporter.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "pkg/base/strings.h"
#include "pkg/inventory/device_index.h"
#include "pkg/log/log.h"

namespace dra::manager {

namespace {

using usage::Ledger;

constexpr const char* kRecordKey = "usage.json";
const client::Resource kConfigMaps{"", "v1", "configmaps", "ConfigMap", true};

client::ObjectPath object_of(const ManagerOptions& options) {
  return {kConfigMaps, options.usage->ns, options.usage->name, ""};
}

nlohmann::json parsed(const std::string& text) {
  return nlohmann::json::parse(text, nullptr, false);
}

std::string text_at(const nlohmann::json& object, const char* part, const char* key) {
  const auto found = object.is_object() ? object.find(part) : object.end();
  if (found == object.end() || !found->is_object()) return "";
  const auto text = found->find(key);
  return text != found->end() && text->is_string() ? text->get<std::string>() : "";
}

metrics::LabelValues labels_of(const usage::Labels& labels) {
  return {labels.ns, labels.device_class, labels.driver, labels.owner};
}

bool same_series(const usage::Record& a, const usage::Record& b) {
  const auto same_shares = [](const usage::ShareTotal& x, const usage::ShareTotal& y) { return x.name == y.name; };
  return std::equal(a.groups.begin(), a.groups.end(), b.groups.begin(), b.groups.end(),
                    [&](const usage::GroupTotal& x, const usage::GroupTotal& y) {
                      return x.labels == y.labels && std::equal(x.shares.begin(), x.shares.end(), y.shares.begin(),
                                                                y.shares.end(), same_shares);
                    });
}

double in_cards(int64_t nanos) {
  return static_cast<double>(nanos) / static_cast<double>(usage::kWholeCard);
}

}  // namespace

// ---- metrics

UsageMetrics::UsageMetrics(metrics::Registry& r)
    : device_seconds_(
          r.counter_table("dra_usage_device_seconds_total",
                          "[ALPHA] Seconds for which claims held devices, each device by itself, from allocation to "
                          "release; as the leader wrote them last, at most a minute ago.",
                          {"claim_namespace", "class", "driver", "owner_kind"})),
      card_seconds_(r.counter_table("dra_usage_card_seconds_total",
                                    "[ALPHA] The same, where a partition or a share counts as its part of the card.",
                                    {"claim_namespace", "class", "driver", "owner_kind"})),
      share_seconds_(r.counter_table("dra_usage_share_seconds_total",
                                     "[ALPHA] The same for each counter and each capacity by itself: seconds times "
                                     "what was taken of the card's.",
                                     {"claim_namespace", "class", "driver", "owner_kind", "share"})),
      devices_(r.gauge_table("dra_usage_devices", "[ALPHA] Devices that claims hold now.",
                             {"claim_namespace", "class", "driver", "owner_kind"})),
      cards_(r.gauge_table("dra_usage_cards",
                           "[ALPHA] Cards that claims hold now, a partition or a share as its part of the card.",
                           {"claim_namespace", "class", "driver", "owner_kind"})),
      as_of_(r.gauge_table("dra_usage_as_of_timestamp_seconds",
                           "[ALPHA] The time up to which the totals of usage count, as Unix time; absent where nothing "
                           "is counted.",
                           {})) {}

void UsageMetrics::serve_totals(const usage::Record& record) {
  written_ = record;
  shown_ = record;
  serve(nullptr);
}

void UsageMetrics::serve(const usage::Record* now) {
  std::map<metrics::LabelValues, double> devices, cards, shares;
  const auto add = [&](const usage::Record& record, bool written) {
    for (const usage::GroupTotal& group : record.groups) {
      metrics::LabelValues labels = labels_of(group.labels);
      devices.try_emplace(labels, written ? group.device_seconds : 0);
      cards.try_emplace(labels, written ? group.card_seconds : 0);
      labels.emplace_back();
      for (const usage::ShareTotal& share : group.shares) {
        labels.back() = share.name;
        shares.try_emplace(labels, written ? share.seconds : 0);
      }
    }
  };
  add(*written_, true);
  if (now != nullptr) add(*now, false);
  device_seconds_.replace(std::move(devices));
  card_seconds_.replace(std::move(cards));
  share_seconds_.replace(std::move(shares));
  as_of_.replace({{{}, static_cast<double>(written_->as_of.seconds()) + written_->as_of.nanos() * 1e-9}});
}

void UsageMetrics::serve_held(const usage::Record& record) {
  if (written_ && !same_series(shown_, record)) {
    serve(&record);
    shown_ = record;
  }
  std::map<metrics::LabelValues, double> devices, cards;
  for (const usage::GroupTotal& group : record.groups) {
    devices[labels_of(group.labels)] = static_cast<double>(group.devices);
    cards[labels_of(group.labels)] = in_cards(group.cards);
  }
  devices_.replace(std::move(devices));
  cards_.replace(std::move(cards));
}

void UsageMetrics::clear() {
  written_.reset();
  for (metrics::Table* table : {&device_seconds_, &card_seconds_, &share_seconds_, &devices_, &cards_, &as_of_})
    table->replace({});
}

// ---- a term

UsageReporter::UsageReporter(Reactor& reactor, client::RestClient& client, metrics::Registry& registry,
                             const inventory::Inventory& inventory, const reconcile::View& view,
                             const ManagerOptions& options, std::function<std::string()> why_not)
    : reactor_(reactor),
      client_(client),
      inventory_(inventory),
      view_(view),
      options_(options),
      why_not_(std::move(why_not)),
      metrics_(registry),
      weigher_(inventory.device_index()) {
  facts_.find_class = [this](std::string_view name) { return view_.device_class(name); };
  facts_.find_pod = [this](std::string_view uid, const std::string& key) -> const api::Pod* {
    const api::Pod* pod = view_.pod(key);
    return pod != nullptr && pod->metadata.uid == uid ? pod : nullptr;
  };
}

int64_t UsageReporter::now() const {
  return (begun_at_.time_since_epoch() + (reactor_.clock().mono_now() - begun_mono_)).count();
}

// The time on the ledger's line, not after now.
int64_t UsageReporter::at(Timestamp time) const {
  const Duration ago = Timestamp(reactor_.clock().wall_now()) - time;
  return now() - std::clamp<int64_t>(ago.count(), 0, now());
}

void UsageReporter::later(Duration delay, void (UsageReporter::*step)()) {
  if (!running_) return;
  timer_ = reactor_.after(delay, [this, step] { (this->*step)(); });
}

void UsageReporter::start() {
  if (!options_.usage || running_) return;
  running_ = true;
  begun_at_ = reactor_.clock().wall_now();
  begun_mono_ = reactor_.clock().mono_now();
  begin();
}

void UsageReporter::stop() {
  running_ = false;
  timer_.cancel();
  call_.cancel();
  ledger_.reset();
  trouble_.clear();
  metrics_.clear();
}

void UsageReporter::finish() {
  if (!running_ || !ledger_ || !ledger_->begun() || call_) return;
  last_write_under_way_ = true;
  send([this](Result<std::string> answer) {
    last_write_under_way_ = false;
    if (!answer) log::warning("The totals of usage were not written at the end", {{"err", answer.error()}});
  });
  last_call_ = std::move(call_);
}

void UsageReporter::begin() {
  ledger_.reset();
  const std::string why = why_not_();
  if (why.empty()) return read();
  complain(Error(Code::kPermissionDenied, why), "Usage is not counted");
  later(kPeriod, &UsageReporter::begin);
}

void UsageReporter::read() {
  call_ = client_.get(object_of(options_), [this](Result<std::string> answer) {
    const Handle ended = std::move(call_);
    read_answered(std::move(answer));
  });
}

void UsageReporter::read_answered(Result<std::string> answer) {
  const auto clock = [this] { return Timestamp(reactor_.clock().wall_now()); };
  if (answer) return restore(*answer);
  if (answer.error().code() != Code::kNotFound) {
    complain(answer.error(), "The totals of usage cannot be read");
    return later(answer.error().code() == Code::kPermissionDenied ? kPeriod : kRetry, &UsageReporter::begin);
  }
  version_.clear();
  since_ = clock();
  ledger_ = std::make_unique<Ledger>(now());
  walked_.clear();
  walk();
}

void UsageReporter::restore(const std::string& object) {
  const nlohmann::json json = parsed(object);
  const std::string text = text_at(json, "data", kRecordKey);
  version_ = text_at(json, "metadata", "resourceVersion");
  ledger_ = std::make_unique<Ledger>(now());
  since_ = reactor_.clock().wall_now();
  if (!text.empty()) {
    const Result<usage::Record> record = usage::parse_record(text);
    if (!record) {
      ledger_.reset();
      complain(record.error().wrap("ConfigMap " + options_.usage->ns + "/" + options_.usage->name + ", data[" +
                                   quote(kRecordKey) + "]"),
               "Usage is not counted until this object is mended or deleted");
      return later(kPeriod, &UsageReporter::begin);
    }
    since_ = record->since;
    ledger_->restore(*record, at(record->as_of));
  }
  walked_.clear();
  walk();
}

// Goes through all claims, some at a time.
void UsageReporter::walk() {
  const std::vector<const api::ResourceClaim*> claims = view_.claims_after(walked_, kClaimsAPiece);
  for (const api::ResourceClaim* claim : claims) {
    walked_ = claim->metadata.key();
    if (!ledger_->holds(claim->metadata.uid)) hold(*claim);
  }
  if (claims.size() == kClaimsAPiece) return later(Duration::zero(), &UsageReporter::walk);
  ledger_->settle_absent(now());
  write();
}

void UsageReporter::hold(const api::ResourceClaim& claim) {
  if (!claim.status.allocation) return;
  Timestamp since;
  const bool known = parse_rfc3339(claim.status.allocation->allocation_timestamp, since);
  ledger_->hold(claim.metadata.uid, usage::claim_uses(claim, weigher_, facts_), known ? at(since) : now(), now());
}

void UsageReporter::changed(const api::ResourceClaim* before, const api::ResourceClaim* after) {
  if (!ledger_) return;
  const bool same = before && after && before->metadata.uid == after->metadata.uid;
  if (before && !same) ledger_->release(before->metadata.uid, now());
  if (!after) return;
  const auto& is = after->status.allocation;
  if (!is) {
    if (same && before->status.allocation) ledger_->release(after->metadata.uid, now());
    return;
  }
  const bool unchanged = same && before->status.allocation && before->status.allocation->results == is->results;
  if (!unchanged || !ledger_->holds(after->metadata.uid)) hold(*after);
}

void UsageReporter::show() {
  if (ledger_ && ledger_->begun()) metrics_.serve_held(ledger_->record(now()));
}

// ---- the object

void UsageReporter::send(client::RestClient::Done done) {
  sent_ = ledger_->record(now());
  sent_.as_of = reactor_.clock().wall_now();
  sent_.since = since_;
  sent_.writer = options_.identity;
  Result<std::string> text = usage::to_text(sent_);
  if (!text) {
    reactor_.post([done, error = text.error(), alive = std::weak_ptr<bool>(alive_)] {
      if (!alive.expired()) done(fail(error));
    });
    return;
  }
  nlohmann::json body{{"data", {{kRecordKey, std::move(*text)}}}};
  client::WriteOptions options;
  options.field_manager = "dra-controller-manager";
  const client::ObjectPath path = object_of(options_);
  if (version_.empty()) {
    body["apiVersion"] = "v1";
    body["kind"] = "ConfigMap";
    body["metadata"] = {{"name", path.name},
                        {"namespace", path.ns},
                        {"labels", {{"app.kubernetes.io/name", "dra-controller-manager"}}}};
    call_ = client_.create(path, body.dump(), options, std::move(done));
  } else {
    body["metadata"] = {{"resourceVersion", version_}};
    call_ = client_.patch(path, client::PatchType::kMerge, body.dump(), options, std::move(done));
  }
}

void UsageReporter::write() {
  send([this](Result<std::string> answer) {
    const Handle ended = std::move(call_);
    write_answered(std::move(answer));
  });
}

void UsageReporter::write_answered(Result<std::string> answer) {
  if (!running_) return;
  if (answer) {
    version_ = text_at(parsed(*answer), "metadata", "resourceVersion");
    trouble_.clear();
    metrics_.serve_totals(sent_);
    return later(kPeriod, &UsageReporter::write);
  }
  const Error& error = answer.error();
  if (error.code() == Code::kNotFound) {
    version_.clear();  // somebody deleted it: made anew
    return later(kRetry, &UsageReporter::write);
  }
  if (error.code() != Code::kConflict && error.code() != Code::kAlreadyExists) {
    complain(error, "The totals of usage cannot be written");
    return later(kPeriod, &UsageReporter::write);
  }
  call_ = client_.get(object_of(options_), [this](Result<std::string> now_there) {
    const Handle ended = std::move(call_);
    if (!now_there) return later(kRetry, &UsageReporter::write);
    if (!is_ours(*now_there)) {
      log::info("The totals of usage were written by somebody else: counting goes on from those",
                {{"namespace", options_.usage->ns}, {"name", options_.usage->name}});
      ledger_.reset();
      return restore(*now_there);
    }
    version_ = text_at(parsed(*now_there), "metadata", "resourceVersion");
    trouble_.clear();
    metrics_.serve_totals(sent_);
    later(kPeriod, &UsageReporter::write);
  });
}

bool UsageReporter::is_ours(const std::string& object) {
  const Result<usage::Record> record = usage::parse_record(text_at(parsed(object), "data", kRecordKey));
  const auto micros = [](Timestamp time) { return format_rfc3339_micro(time); };
  return record && record->writer == sent_.writer && micros(record->as_of) == micros(sent_.as_of);
}

void UsageReporter::complain(const Error& error, const char* what) {
  const std::string text = std::string(what) + ": " + error.message();
  if (std::exchange(trouble_, text) != text)
    log::warning(what, {{"err", error}, {"namespace", options_.usage->ns}, {"name", options_.usage->name}});
}

}  // namespace dra::manager
