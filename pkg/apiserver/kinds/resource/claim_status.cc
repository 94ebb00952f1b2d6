#include "pkg/apiserver/kinds/resource/claim_status.h"

#include <arpa/inet.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <set>

#include "pkg/apiserver/kinds/resource/claim_spec.h"
#include "pkg/apiserver/kinds/resource/parts.h"
#include "pkg/apiserver/model/raw_text.h"
#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/go_render.h"
#include "pkg/apiserver/validation/json_read.h"
#include "pkg/apiserver/validation/node_selector.h"
#include "pkg/base/strings.h"

namespace dra::apiserver {

namespace {

constexpr size_t kMaxInterfaceName = 256;
constexpr size_t kMaxHardwareAddress = 128;
constexpr size_t kMaxIps = 16;

using DeviceIds = std::set<std::string>;

std::string device_id(const Json& entry) {
  return text_of(entry, "driver") + "/" + text_of(entry, "pool") + "/" + text_of(entry, "device") + "/" +
         text_of(entry, "shareID");
}

DeviceIds allocated_ids(const Json& status) {
  DeviceIds out;
  for (const auto& r : list_of(member_at(status, "allocation.devices"), "results")) out.insert(device_id(r));
  return out;
}

// "10.9.8.7/24": address and prefix length, the address in its canonical spelling.
void check_interface_address(FieldErrors& out, const FieldPath& path, const std::string& text) {
  const size_t slash = text.find('/');
  const std::string address = text.substr(0, slash);
  const int family = address.find(':') == std::string::npos ? AF_INET : AF_INET6;
  unsigned char bytes[16];
  int bits = -1;
  if (slash != std::string::npos && slash + 1 < text.size()) {
    const char* end = text.data() + text.size();
    auto [at, ec] = std::from_chars(text.data() + slash + 1, end, bits);
    if (ec != std::errc() || at != end) bits = -1;
  }
  if (inet_pton(family, address.c_str(), bytes) != 1 || bits < 0 || bits > (family == AF_INET ? 32 : 128)) {
    out.push_back(invalid(path, text, "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"));
    return;
  }
  char canonical[INET6_ADDRSTRLEN];
  inet_ntop(family, bytes, canonical, sizeof canonical);
  const std::string spelled = std::string(canonical) + "/" + std::to_string(bits);
  if (spelled != text) out.push_back(invalid(path, text, "must be in canonical form (" + quote(spelled) + ")"));
}

void check_network_data(FieldErrors& out, const FieldPath& path, const Json& data) {
  if (data.is_null()) return;
  if (text_of(data, "interfaceName").size() > kMaxInterfaceName) {
    out.push_back(too_long(path.child("interfaceName"), kMaxInterfaceName));
  }
  if (text_of(data, "hardwareAddress").size() > kMaxHardwareAddress) {
    out.push_back(too_long(path.child("hardwareAddress"), kMaxHardwareAddress));
  }
  check_set(
      out, path.child("ips"), member(data, "ips"), kMaxIps,
      [](FieldErrors& o, const FieldPath& p, const Json& ip) { check_interface_address(o, p, as_text(ip)); },
      [](const Json& ip) { return as_text(ip); });
}

void check_device_status(FieldErrors& out, const FieldPath& path, const Json& device, const DeviceIds& allocated) {
  check_driver_name(out, path.child("driver"), text_of(device, "driver"));
  check_pool_name(out, path.child("pool"), text_of(device, "pool"));
  check_dns_label(out, path.child("device"), text_of(device, "device"));
  if (is_set(device, "shareID")) check_share_id(out, path.child("shareID"), text_of(device, "shareID"));
  if (!allocated.contains(device_id(device))) {
    out.push_back(invalid_raw(path, render_go("SharedDeviceID", device), "must be an allocated device in the claim"));
  }
  const Json& conditions = member(device, "conditions");
  if (count_of(conditions) > kMaxDeviceConditions) {
    out.push_back(too_many(path.child("conditions"), static_cast<int64_t>(conditions.size()), kMaxDeviceConditions));
  }
  check_conditions(out, path.child("conditions"), conditions);
  if (is_set(device, "data")) {
    check_raw_object(out, path.child("data"), member(device, "data"), false, kMaxOpaqueBytes);
  }
  check_network_data(out, path.child("networkData"), member(device, "networkData"));
}

void check_device_statuses(FieldErrors& out, const FieldPath& path, const Json& status) {
  const Json& devices = list_of(status, "devices");
  const DeviceIds allocated = allocated_ids(status);
  for (size_t i = 0; i < devices.size(); ++i) check_device_status(out, path.index(i), devices[i], allocated);
  DeviceIds seen;
  for (size_t i = 0; i < devices.size(); ++i) {
    if (seen.insert(device_id(devices[i])).second) continue;
    out.push_back(
        {"FieldValueDuplicate", path.index(i).text(), "Duplicate value: " + render_go("SharedDeviceID", devices[i])});
  }
}

void check_consumer(FieldErrors& out, const FieldPath& path, const Json& consumer) {
  for (const char* key : {"resource", "name", "uid"}) {
    if (text_of(consumer, key).empty()) out.push_back(required(path.child(key), ""));
  }
}

void check_reservations(FieldErrors& out, const FieldPath& path, const Json& claim, const Json& old) {
  const Json& status = member(claim, "status");
  const Json& reserved = list_of(status, "reservedFor");
  if (reserved.empty()) return;
  if (!is_set(status, "allocation")) {
    out.push_back(forbidden(path, "may not be specified when `allocated` is not set"));
    return;
  }
  if (!is_set(member(claim, "metadata"), "deletionTimestamp")) return;
  const Json& before = list_of(member(old, "status"), "reservedFor");
  for (const auto& consumer : reserved) {
    bool known = false;
    for (const auto& b : before) known = known || semantic_equal(b, consumer);
    if (known) continue;
    out.push_back(
        forbidden(path, "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"));
    return;
  }
}

void check_result(FieldErrors& out, const FieldPath& path, const Json& result, const RequestNames& names) {
  check_request_reference(out, path.child("request"), text_of(result, "request"), names);
  check_driver_name(out, path.child("driver"), text_of(result, "driver"));
  check_pool_name(out, path.child("pool"), text_of(result, "pool"));
  check_dns_label(out, path.child("device"), text_of(result, "device"));
  check_binding_conditions(out, path, result);
  if (is_set(result, "shareID")) check_share_id(out, path.child("shareID"), text_of(result, "shareID"));
}

void check_allocation_config(FieldErrors& out, const FieldPath& path, const Json& config, const RequestNames& names) {
  const std::string& source = text_of(config, "source");
  if (source.empty()) {
    out.push_back(required(path.child("source"), ""));
  } else if (source != "FromClaim" && source != "FromClass") {
    out.push_back(not_supported(path.child("source"), source, {"FromClaim", "FromClass"}));
  }
  check_set(
      out, path.child("requests"), member(config, "requests"), kMaxRequests,
      [&](FieldErrors& o, const FieldPath& p, const Json& n) { check_request_reference(o, p, as_text(n), names); },
      [](const Json& n) { return as_text(n); });
  check_device_configuration(out, path, config, false);
}

void check_allocation(FieldErrors& out, const FieldPath& path, const Json& allocation, const RequestNames& names) {
  const Json& devices = member(allocation, "devices");
  const FieldPath at = path.child("devices");
  check_list(out, at.child("results"), member(devices, "results"), kMaxResults,
             [&](FieldErrors& o, const FieldPath& p, const Json& r) { check_result(o, p, r, names); });
  check_list(out, at.child("config"), member(devices, "config"), 2 * kMaxConfigs,
             [&](FieldErrors& o, const FieldPath& p, const Json& c) { check_allocation_config(o, p, c, names); });
  if (is_set(allocation, "nodeSelector")) {
    check_node_selector(out, path.child("nodeSelector"), member(allocation, "nodeSelector"));
  }
}

}  // namespace

void drop_deallocated_devices(Json& claim, const Json& old) {
  Json& status = object_member(claim, "status");
  if (list_of(status, "devices").empty()) return;
  DeviceIds gone = allocated_ids(member(old, "status"));
  for (const auto& id : allocated_ids(status)) gone.erase(id);
  if (gone.empty()) return;
  Json kept = Json::array();
  for (auto& device : status["devices"]) {
    if (!gone.contains(device_id(device))) kept.push_back(std::move(device));
  }
  if (kept.empty()) {
    status.erase("devices");
  } else {
    status["devices"] = std::move(kept);
  }
}

void check_status_admin_access(FieldErrors& out, const WriteContext& ctx, const Json& claim, const Json& old) {
  const Json& before = list_of(member_at(old, "status.allocation.devices"), "results");
  for (const auto& r : before) {
    if (bool_of(r, "adminAccess")) return;
  }
  const Json& results = list_of(member_at(claim, "status.allocation.devices"), "results");
  for (size_t i = 0; i < results.size(); ++i) {
    if (!bool_of(results[i], "adminAccess")) continue;
    check_admin_namespace(out, ctx, FieldPath("status.allocation.devices.results").index(i).child("adminAccess"));
    return;
  }
}

void check_claim_status(FieldErrors& out, const Json& claim, const Json& old) {
  const FieldPath path("status");
  const Json& status = member(claim, "status");
  check_set(out, path.child("reservedFor"), member(status, "reservedFor"), kMaxReservedFor, check_consumer,
            [](const Json& consumer) { return text_of(consumer, "uid"); });
  check_device_statuses(out, path.child("devices"), status);
  check_reservations(out, path.child("reservedFor"), claim, old);
  const Json& allocation = member(status, "allocation");
  const Json& before = member(member(old, "status"), "allocation");
  if (allocation.is_null()) return;
  if (before.is_null()) {
    check_allocation(out, path.child("allocation"), allocation, request_names(member_at(claim, "spec.devices")));
  } else if (!semantic_equal(allocation, before)) {
    out.push_back(
        invalid_raw(path.child("allocation"), render_go("AllocationResult", allocation), "field is immutable"));
  }
}

std::string claim_state(const Json& claim) {
  std::vector<std::string> states;
  const bool deleted = is_set(member(claim, "metadata"), "deletionTimestamp");
  if (deleted) states.push_back("deleted");
  const Json& status = member(claim, "status");
  if (is_set(status, "allocation")) {
    states.push_back("allocated");
    if (!list_of(status, "reservedFor").empty()) states.push_back("reserved");
  } else if (!deleted) {
    states.push_back("pending");
  }
  return join(states, ",");
}

}  // namespace dra::apiserver
