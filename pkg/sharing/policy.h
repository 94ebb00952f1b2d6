// Policy: how devices are shared by requests of a DeviceClass, as its annotation says.
//
//   dra-controller-manager/shares: "sharers=4 per-namespace=50% with=same-namespace order=spread"
//
// Words in any order, between blanks, each at most once. Pure; errors say what to write.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dra::sharing {

// On a DeviceClass.
inline constexpr std::string_view kSharesAnnotation = "dra-controller-manager/shares";
inline constexpr uint32_t kMaxSharers = 10'000;
inline constexpr size_t kMaxNamespaces = 64;
inline constexpr size_t kMaxPolicyBytes = 4096;

enum class Order : uint8_t { kAny, kPack, kSpread };  // kAny: as the strategy has it
enum class With : uint8_t {
  kAny,
  kSameNamespace,  // all shares of a device belong to one namespace
  kNamespaces,     // all belong to these
};

struct Policy {
  Order order = Order::kAny;
  uint32_t sharers = 0;  // the most shares of a device, of whichever class; 0: no limit
  uint32_t shares = 0;   // the most of a device that requests of this class in one namespace have; 0: no limit
  uint32_t percent = 0;  // the same for each of the device's capacities; 0: no limit
  With with = With::kAny;
  std::vector<std::string> namespaces;  // sorted; kNamespaces
  bool operator==(const Policy&) const = default;
};

// What is wrong with the text; nothing: it is in `policy`.
std::optional<std::string> parse_policy(std::string_view text, Policy& policy);

}  // namespace dra::sharing
