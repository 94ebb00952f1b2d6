#include "pkg/inventory/noted.h"

#include <utility>

namespace dra::inventory {
namespace {

// Of a device that is published now. The class of the request says whether it shares its silicon.
std::optional<identity::Record> published(const DeviceIndex& index, const api::ResourceClaim& claim,
                                          const api::DeviceRequestAllocationResult& result) {
  const Pool* pool = index.find_pool(result.driver, result.pool);
  const StrId device = index.strings().find(result.device);
  if (pool == nullptr || device == kNoStr) return std::nullopt;
  const uint32_t number = pool->find_device(device);
  if (number == kNone) return std::nullopt;
  std::optional<identity::Record> record = index.silicon().record_of(*pool, number);
  if (!record) return std::nullopt;
  const std::string* name = class_of(claim, result.request);
  const ClassEntry* device_class = name == nullptr ? nullptr : index.find_class(*name);
  record->shared = device_class != nullptr && shares_silicon(*device_class->object);
  return record;
}

}  // namespace

identity::Records noted_on(const DeviceIndex& index, const api::ResourceClaim& claim) {
  identity::Records records;
  if (!index.silicon().rules().annotations || !claim.status.allocation) return records;
  const auto noted = claim.metadata.annotations.find(std::string(identity::kIdentitiesAnnotation));
  if (noted != claim.metadata.annotations.end()) identity::decode_records(noted->second, records);
  return records;
}

std::string identities_to_note(const DeviceIndex& index, const api::ResourceClaim& claim) {
  if (!claim.status.allocation) return "";
  const identity::Records own = recorded_in(*claim.status.allocation), noted = noted_on(index, claim);
  identity::Records wanted;
  for (const api::DeviceRequestAllocationResult& result : claim.status.allocation->results) {
    const std::string name = result.driver + "/" + result.pool + "/" + result.device;
    if (result.admin_access || own.contains(name)) continue;
    std::optional<identity::Record> record;
    if (const auto known = noted.find(name); known != noted.end())
      record = known->second;
    else
      record = published(index, claim, result);
    if (!record) continue;
    const bool shared = record->shared;
    const auto [at, fresh] = wanted.try_emplace(name, std::move(*record));
    if (!fresh) at->second.shared = at->second.shared && shared;
  }
  std::vector<std::string> texts = identity::encode_records(wanted, identity::kMaxAnnotationBytes);
  return texts.empty() ? "" : std::move(texts.front());
}

}  // namespace dra::inventory
