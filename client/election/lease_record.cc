#include "client/election/lease_record.h"

#include <nlohmann/json.hpp>

namespace dra::client {
namespace {

using nlohmann::json;

std::string lease_text(const json& object, const char* key) {
  auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

int lease_number(const json& object, const char* key) {
  auto it = object.find(key);
  if (it == object.end() || !it->is_number_integer()) return 0;
  auto value = it->get<int64_t>();
  return value < 0 || value > 1'000'000'000 ? 0 : static_cast<int>(value);
}

std::map<std::string, std::string> lease_texts(const json& metadata, const char* key) {
  std::map<std::string, std::string> out;
  if (auto it = metadata.find(key); it != metadata.end() && it->is_object())
    for (const auto& [name, value] : it->items())
      if (value.is_string()) out.emplace(name, value.get<std::string>());
  return out;
}

}  // namespace

std::string LeaseRecord::fingerprint() const {
  return holder + "\n" + std::to_string(duration_seconds) + "\n" + acquire_time + "\n" + renew_time + "\n" +
         std::to_string(transitions);
}

Result<LeaseRecord> parse_lease(std::string_view text) {
  json lease = json::parse(text.begin(), text.end(), nullptr, false);
  if (!lease.is_object()) return fail(Code::kInternal, "the API server's Lease is not a JSON object");
  LeaseRecord record;
  if (auto meta = lease.find("metadata"); meta != lease.end() && meta->is_object()) {
    record.resource_version = lease_text(*meta, "resourceVersion");
    record.labels = lease_texts(*meta, "labels");
    record.annotations = lease_texts(*meta, "annotations");
  }
  auto spec = lease.find("spec");
  if (spec == lease.end() || !spec->is_object()) return record;
  record.holder = lease_text(*spec, "holderIdentity");
  record.duration_seconds = lease_number(*spec, "leaseDurationSeconds");
  record.acquire_time = lease_text(*spec, "acquireTime");
  record.renew_time = lease_text(*spec, "renewTime");
  record.transitions = lease_number(*spec, "leaseTransitions");
  return record;
}

std::string lease_json(const LeaseRecord& record, const std::string& ns, const std::string& name) {
  json lease = {{"apiVersion", "coordination.k8s.io/v1"}, {"kind", "Lease"}};
  lease["metadata"] = {{"name", name}, {"namespace", ns}};
  if (!record.resource_version.empty()) lease["metadata"]["resourceVersion"] = record.resource_version;
  if (!record.labels.empty()) lease["metadata"]["labels"] = record.labels;
  if (!record.annotations.empty()) lease["metadata"]["annotations"] = record.annotations;
  lease["spec"] = {{"holderIdentity", record.holder},
                   {"leaseDurationSeconds", record.duration_seconds},
                   {"leaseTransitions", record.transitions}};
  if (!record.acquire_time.empty()) lease["spec"]["acquireTime"] = record.acquire_time;
  if (!record.renew_time.empty()) lease["spec"]["renewTime"] = record.renew_time;
  return lease.dump();
}

Result<void> validate(const ElectionTimes& times) {
  constexpr Duration kSecond = std::chrono::seconds(1);
  auto wrong = [](const char* what) { return fail(Code::kInvalidArgument, std::string("leader election: ") + what); };
  if (times.retry_period < kSecond) return wrong("--leader-elect-retry-period must be at least 1s");
  if (times.lease_duration % kSecond != Duration::zero()) {
    return wrong("--leader-elect-lease-duration must be in whole seconds");
  }
  if (times.renew_deadline <= times.retry_period * 12 / 10) {
    return wrong("--leader-elect-renew-deadline must be more than 1.2 times --leader-elect-retry-period");
  }
  if (times.lease_duration <= times.renew_deadline) {
    return wrong("--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline");
  }
  return {};
}

}  // namespace dra::client
