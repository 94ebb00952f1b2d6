// Form: the one spelling of a value that names silicon, so that two drivers' texts can be compared.
//
//   canonical("pci", "00000000:1A:00.0")   // "0000:1a:00.0"
//   canonical("pci", "n/a")                // nullopt: malformed
//
// pci: [domain:]bus:device.function, the domain 1 to 8 hexadecimal digits (0 if it is missing), not 0000:00:00.0.
// nvidia-uuid: [gpu-|mig-] and a UUID that is not all zero. Any other namespace: 1 to 64 visible ASCII characters.
// A-Z become a-z in all of them. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dra::identity {

inline constexpr std::string_view kPci = "pci";
inline constexpr std::string_view kNvidiaUuid = "nvidia-uuid";
inline constexpr size_t kMaxValueBytes = 64;

std::optional<std::string> canonical(std::string_view space, std::string_view text);

}  // namespace dra::identity
