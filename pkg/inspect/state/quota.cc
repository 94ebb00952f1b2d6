#include "pkg/inspect/state/quota.h"

#include <algorithm>

#include "pkg/api/quantity.h"

namespace dra::inspect {
namespace {

constexpr int64_t kDevicesOfAll = 32;  // resourceapi.AllocationResultsMaxSize
// Larger numbers of a file or a quota count as these, so that no sum overflows.
constexpr int64_t kMostDevices = 1'000'000'000;
constexpr int64_t kMostAllowed = 1'000'000'000'000'000;

// What a file leaves out is as the server would fill it in.
int64_t devices_charged(const api::DeviceSubRequest& request) {
  if (request.allocation_mode == "All") return kDevicesOfAll;
  if (!request.allocation_mode.empty() && request.allocation_mode != "ExactCount") return 0;
  return request.count == 0 ? 1 : std::clamp<int64_t>(request.count, 0, kMostDevices);
}

// An amount that cannot be read refuses nothing.
std::optional<int64_t> amount_in(const api::StringMap& amounts, std::string_view resource) {
  const auto found = amounts.find(resource);
  if (found == amounts.end()) return std::nullopt;
  const auto amount = api::Quantity::parse(found->second);
  if (!amount) return std::nullopt;
  return std::clamp<int64_t>(amount->value(), 0, kMostAllowed);
}

// "2 devices of class gpu", "1 claim", "4 example.com/gpu".
std::string amount_text(int64_t amount, std::string_view resource) {
  const std::string plural = amount == 1 ? "" : "s";
  std::string text = std::to_string(amount);
  if (resource == kClaimCount) return text + " claim" + plural;
  if (resource.starts_with(kRequested)) return text + " " + std::string(resource.substr(kRequested.size()));
  return text + " device" + plural + " of class " +
         std::string(resource.substr(0, resource.size() - kDevicesOfClass.size()));
}

std::string name_in(const std::string& key) {
  return key.substr(key.find('/') + 1);
}

}  // namespace

void add_to(QuotaCharge& sum, const QuotaCharge& more) {
  for (const auto& [resource, amount] : more) sum[resource] += amount;
}

QuotaCharge charge_of(const Objects& objects, const api::ResourceClaim& claim,
                      const std::vector<protocol::ExtendedResource>& paid) {
  std::map<std::string, int64_t> by_class;
  for (const api::DeviceRequest& request : claim.spec.requests) {
    std::map<std::string, int64_t> most;
    for (const api::DeviceSubRequest& alternative : request.first_available) {
      int64_t& devices = most[alternative.device_class_name];
      devices = std::max(devices, devices_charged(alternative));
    }
    if (request.exactly) most[request.exactly->device_class_name] += devices_charged(*request.exactly);
    for (const auto& [name, devices] : most) by_class[name] += devices;
  }
  QuotaCharge charge{{std::string(kClaimCount), 1}};
  const auto owe = [&](const std::string& resource, int64_t devices) {
    const bool is_paid = std::any_of(paid.begin(), paid.end(), [&](const auto& one) { return one.name == resource; });
    if (!is_paid && devices > 0) charge[std::string(kRequested) + resource] += devices;
  };
  for (const auto& [name, devices] : by_class) {
    charge[name + std::string(kDevicesOfClass)] = devices;
    owe(std::string(protocol::kImplicitResourcePrefix) + name, devices);
    const auto known = objects.classes.find(name);
    if (known != objects.classes.end() && known->second->extended_resource_name)
      owe(*known->second->extended_resource_name, devices);
  }
  return charge;
}

std::string text_of(const QuotaRefusal& refusal, const std::string& who) {
  return "ResourceQuota " + refusal.quota + " allows " + amount_text(refusal.allowed, refusal.resource) + ", " +
         std::to_string(refusal.used) + (refusal.used == 1 ? " is" : " are") + " used, and " + who + " asks for " +
         std::to_string(refusal.asked);
}

std::string remedy_of(const QuotaRefusal& refusal) {
  const std::string ns = refusal.quota.substr(0, refusal.quota.find('/'));
  const std::string raise = "raise spec.hard[\"" + refusal.resource +
                            "\"] of the quota: kubectl edit resourcequota -n " + ns + " " + name_in(refusal.quota);
  if (refusal.asked > refusal.allowed)
    return refusal.allowed > 0 ? "ask for at most " + std::to_string(refusal.allowed) + ", or " + raise : raise;
  return "wait until others are gone (kubectl dra top claims -n " + ns + "), or " + raise;
}

QuotaBook::QuotaBook(const Objects& objects, bool empty) : objects_(objects), empty_(empty) {}

std::optional<QuotaRefusal> QuotaBook::refusal(std::string_view ns, const QuotaCharge& charge) const {
  const auto added = added_.find(ns);
  for (const auto& [key, quota] : objects_.quotas.all) {
    if (quota->metadata.ns != ns || quota->has_scopes) continue;
    const api::StringMap& hard = quota->enforced_hard.empty() ? quota->hard : quota->enforced_hard;
    for (const auto& [resource, asked] : charge) {
      const auto allowed = amount_in(hard, resource);
      if (!allowed || asked <= 0) continue;
      QuotaRefusal refusal{key, resource, *allowed, 0, asked};
      if (!empty_) refusal.used = amount_in(quota->used, resource).value_or(0);
      if (added != added_.end())
        if (const auto more = added->second.find(resource); more != added->second.end()) refusal.used += more->second;
      if (refusal.used > refusal.allowed - asked) return refusal;
    }
  }
  return std::nullopt;
}

void QuotaBook::add(const std::string& ns, const QuotaCharge& charge) {
  add_to(added_[ns], charge);
}

void QuotaBook::take_back(const std::string& ns, const QuotaCharge& charge) {
  for (const auto& [resource, amount] : charge) added_[ns][resource] -= amount;
}

std::string why_quotas_unseen(const Objects& objects, const std::string& ns) {
  if (!objects.quotas.asked || !objects.quotas.hides_in(ns)) return "";
  return "whether a ResourceQuota of namespace " + ns +
         " refuses claims is not visible: " + objects.quotas.hidden.front().why;
}

}  // namespace dra::inspect
