#include "pkg/inventory/device.h"

namespace dra::inventory {

std::string_view pool_state_name(PoolState state) {
  switch (state) {
    case PoolState::kComplete:
      return "complete";
    case PoolState::kIncomplete:
      return "incomplete";
    case PoolState::kInvalid:
      break;
  }
  return "invalid";
}

std::string_view audit_kind_name(AuditFinding::Kind kind) {
  switch (kind) {
    case AuditFinding::Kind::kDeviceOverCommitted:
      return "DeviceOverCommitted";
    case AuditFinding::Kind::kDeviceConflict:
      return "DeviceConflict";
    case AuditFinding::Kind::kShareConflict:
      return "ShareConflict";
    case AuditFinding::Kind::kCounterOverCommitted:
      return "CounterOverCommitted";
    case AuditFinding::Kind::kCapacityOverCommitted:
      return "CapacityOverCommitted";
    case AuditFinding::Kind::kDrift:
      break;
  }
  return "Drift";
}

Usage& Usage::operator+=(const Usage& more) {
  total += more.total;
  used += more.used;
  free += more.free;
  tainted += more.tainted;
  cut += more.cut;
  held_as += more.held_as;
  plugins += more.plugins;
  return *this;
}

}  // namespace dra::inventory
