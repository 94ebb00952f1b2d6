// Record: what an allocation remembers of its devices' identities, so that they count when a driver withdraws a device.
//
// Written as opaque parameters of kRecordDriver into status.allocation.devices.config, in the write that allocates;
// and, for allocations of others, as an annotation of the claim (pkg/inventory/noted.h). The text is one JSON object:
//   {"apiVersion": ..., "kind": "DeviceIdentities", "devices": {"DRIVER/POOL/DEVICE": {"is": ["pci 0000:1a:00.0"],
//    "of": [...], "node": "a", "type": "gpu", "shared": true}}}
// Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dra::identity {

inline constexpr std::string_view kRecordDriver = "identity.dra-controller-manager";
// On a DeviceClass, with the value "true": its requests neither exclude nor are excluded.
inline constexpr std::string_view kSharedSiliconAnnotation = "dra-controller-manager/shared-silicon";
inline constexpr size_t kMaxRecordBytes = 10 * 1024;  // of one entry: the API's limit for opaque parameters
// On a ResourceClaim: records of devices of which the allocation has none. More bytes of it are not read.
inline constexpr std::string_view kIdentitiesAnnotation = "dra-controller-manager/identities";
inline constexpr size_t kMaxAnnotationBytes = 16 * 1024;

struct Record {
  std::vector<std::string> own;      // "is": "NAMESPACE TEXT", sorted
  std::vector<std::string> part_of;  // "of"
  std::optional<std::string> node;
  std::optional<std::string> type;
  bool shared = false;  // every request of the claim that took it is exempt
  bool operator==(const Record&) const = default;
};
using Records = std::map<std::string, Record>;  // by driver/pool/device

// As few texts of at most `most` bytes as hold all; a device whose own record is longer is left out.
std::vector<std::string> encode_records(const Records& records, size_t most = kMaxRecordBytes);
// Adds the records of one text. False if it is not such a text; then nothing is added.
bool decode_records(std::string_view text, Records& records);
// One device's: {"is": ...}, as the values of "devices".
std::string encode_record(const Record& record);
std::optional<Record> decode_record(std::string_view text);

}  // namespace dra::identity
