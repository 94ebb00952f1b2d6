#include "pkg/inspect/state/unknown.h"

#include "pkg/protocol/pod_claims.h"

namespace dra::inspect {
namespace {

// A slice may refuse some devices for one field and its pool for another.
void add_slice(const api::ResourceSlice& slice, const api::IgnoredFields& ignored, std::vector<Unknown>& all) {
  const api::UnknownField* field = api::refusing_field(slice.unknown, ignored);
  if (field == nullptr) return;
  size_t devices = 0;
  bool whole = slice.unknown->more;
  for (size_t i = 0; i < slice.unknown->fields.size(); ++i) {
    if (api::is_ignored(slice.unknown->fields[i], ignored)) continue;
    size_t having = 0;
    for (const auto& one : slice.unknown->devices) having += one.field == i ? 1 : 0;
    whole = whole || having == 0;
    devices = std::max(devices, having);
  }
  const std::string refused = whole ? "no device of pool " + slice.driver + "/" + slice.pool.name + " is allocated"
                                    : std::to_string(devices) + " of its devices are not allocated";
  all.push_back({"ResourceSlice " + slice.metadata.name, refused + ": " + api::why_refused(*field)});
}

}  // namespace

std::vector<Unknown> unknown_of(const State& state) {
  const api::IgnoredFields& ignored = state.inventory.features().ignored_fields;
  std::vector<Unknown> all;
  for (const auto& [name, slice] : state.objects.slices) add_slice(*slice, ignored, all);
  for (const auto& [name, one] : state.objects.classes)
    if (const api::UnknownField* field = api::refusing_field(one->unknown, ignored))
      all.push_back({"DeviceClass " + name, "claims that name it are not allocated: " + api::why_refused(*field)});
  for (const auto& [key, claim] : state.objects.claims) {
    const api::UnknownField* field = api::refusing_field(claim->spec.unknown, ignored);
    if (field != nullptr && !claim->status.allocation)
      all.push_back({"ResourceClaim " + key, "it is not allocated: " + api::why_refused(*field)});
    if (claim->status.allocation &&
        (field = api::refusing_field(claim->status.allocation->unknown, ignored)) != nullptr)
      all.push_back({"ResourceClaim " + key, "its devices are given to nobody else: " + api::why_refused(*field)});
  }
  for (const auto& [api, groups] : state.objects.pod_groups)
    for (const auto& [key, group] : groups)
      if (const api::UnknownField* field = api::refusing_field(group->unknown, ignored))
        all.push_back({"PodGroup " + key, "its pods are not placed: " + api::why_refused(*field)});
  return all;
}

std::string why_allocation_refused(const api::IgnoredFields& ignored, const api::Pod* pod,
                                   const std::vector<Claim>& claims) {
  for (const Claim& claim : claims) {
    const api::UnknownField* field =
        protocol::field_that_keeps_out(*claim, pod == nullptr ? "" : pod->metadata.uid, ignored);
    if (field == nullptr) continue;
    return "claim " + claim->metadata.key() + ": " + api::why_refused(*field);
  }
  return "";
}

}  // namespace dra::inspect
