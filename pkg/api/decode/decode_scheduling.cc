// Decoding of PodGroups.
#include "pkg/api/decode/decode_entry.h"
#include "pkg/api/decode/find_unknown.h"
#include "pkg/api/decode/read_fields.h"
#include "pkg/api/scheduling.h"

namespace dra::api {

namespace detail {

bool read_group_claim(const WireValue& v, PodResourceClaim& out, Trouble& t) {
  return expect_object(v, t) && field(v, "name", out.name, t) &&
         field(v, "resourceClaimName", out.resource_claim_name, t) &&
         field(v, "resourceClaimTemplateName", out.resource_claim_template_name, t);
}

bool read_disruption_mode(const WireValue& mode, bool& whole, Trouble& t) {
  if (mode.kind() == WireValue::Kind::kObject) {
    WireValue all;
    whole = mode.find("all", all) && !all.is_null();
    return true;
  }
  std::string text;
  const bool is_text = read(mode, text, t);
  whole = text == "PodGroup";
  return is_text;
}

bool read(const WireValue& v, PodGroup& out, Trouble& t) {
  size_t levels = 0;
  const bool readable =
      expect_object(v, t) && read_metadata_in_use(v, out.metadata, Labels::kDropped, t) &&
      section(v, "spec", t, [&](const WireValue& spec) {
        return section(spec, "schedulingPolicy", t,
                       [&](const WireValue& policy) {
                         return section(policy, "gang", t, [&](const WireValue& gang) {
                           return field(gang, "minCount", out.min_count, t) &&
                                  field(gang, "minGroupCount", out.min_groups, t);
                         });
                       }) &&
               (out.min_count || field(spec, "minMember", out.min_count, t)) &&
               field(spec, "parentCompositePodGroupName", out.parent, t) &&
               field_with(spec, "disruptionMode", t,
                          [&](const WireValue& mode) { return read_disruption_mode(mode, out.whole, t); }) &&
               field(spec, "scheduleTimeoutSeconds", out.schedule_timeout_seconds, t) &&
               field_with(
                   spec, "resourceClaims", t,
                   [&](const WireValue& list) { return read_list(list, out.resource_claims, t, read_group_claim); }) &&
               section(spec, "schedulingConstraints", t, [&](const WireValue& constraints) {
                 std::vector<std::string> keys;  // the API has at most one
                 if (!field_with(constraints, "topology", t, [&](const WireValue& list) {
                       return read_list(list, keys, t, [](const WireValue& one, std::string& key, Trouble& in) {
                         return expect_object(one, in) && field(one, "key", key, in);
                       });
                     }))
                   return false;
                 levels = keys.size();
                 if (!keys.empty()) out.topology_key = keys.front();
                 return true;
               });
      });
  // What is read and not supported: find_unknown.h then looks, and names it.
  if (levels > 1) t.note_strange();
  if (readable) note_unknown(v, t, out);
  return readable;
}

}  // namespace detail

DRA_DECODE_KIND(PodGroup)

}  // namespace dra::api
