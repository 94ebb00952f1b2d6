// Quarantine: devices that nobody is given for a while, because they could not be prepared: their driver or kubelet
// says that they are broken, or pods of two namespaces failed on them. docs/design/recovery.md, R7.
//
//   for (const DeviceName& name : quarantine.failed(devices, pod.metadata.ns, reported, now)) ...   // new ones
//   view.note(kQuarantine, kAvoidedByOwner)                                                       // gets text(now)
//
// Tenants can write events about their own pods, so one namespace alone takes no device from others by events, and each
// keeps at most one device of a driver from others at a time, however it is reported. Bounded. Not thread-safe.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/timestamp.h"
#include "pkg/inventory/device.h"
#include "pkg/protocol/avoided.h"

namespace dra::recovery {

// Devices in quarantine at a time; while there are so many, no other is added.
inline constexpr size_t kMostQuarantined = 16;
// Failures that are remembered until a second namespace has one on the device; more push the oldest out.
inline constexpr size_t kMostSuspects = 512;

class Quarantine {
 public:
  // The devices could not be prepared for a pod of the namespace. `reported`: their driver or kubelet names them. Those
  // that are in quarantine because of this.
  std::vector<inventory::DeviceName> failed(const std::vector<inventory::DeviceName>& devices, std::string_view ns,
                                            bool reported, Timestamp now);
  // Somebody says that they are mended. The next failure counts as the first.
  void release(const std::vector<protocol::AvoidedDevice>& devices);
  // Those that are in quarantine, in the form of protocol::avoided_text().
  std::string text(Timestamp now) const;

 private:
  struct Suspect {  // a failure
    inventory::DeviceName name;
    std::string ns;
    Timestamp until;
  };
  struct Kept {
    inventory::DeviceName name;
    std::vector<std::string> namespaces;  // that brought it here
    Timestamp until;
  };
  bool counts(std::string_view ns, std::string_view driver) const;

  std::deque<Suspect> suspects_;
  std::vector<Kept> kept_;
};

}  // namespace dra::recovery
