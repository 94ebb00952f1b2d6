#include "pkg/api/decode/decode.h"
#include "pkg/api/decode/decode_entry.h"
#include "pkg/api/decode/read_fields.h"
#include "pkg/api/quota.h"

namespace dra::api {
namespace detail {

bool read(const WireValue& v, ResourceQuota& out, Trouble& t) {
  const auto has_elements = [&](const WireValue& list) {
    std::vector<char> seen;  // what they say is not needed
    const bool ok = read_list(list, seen, t, [](const WireValue&, char&, Trouble&) { return true; });
    out.has_scopes = out.has_scopes || !seen.empty();
    return ok;
  };
  return expect_object(v, t) && read_metadata_in_use(v, out.metadata, Labels::kDropped, t) &&
         section(v, "spec", t,
                 [&](const WireValue& spec) {
                   return quantities(spec, "hard", out.hard, t) && field_with(spec, "scopes", t, has_elements) &&
                          section(spec, "scopeSelector", t, [&](const WireValue& selector) {
                            return field_with(selector, "matchExpressions", t, has_elements);
                          });
                 }) &&
         section(v, "status", t, [&](const WireValue& status) {
           return quantities(status, "hard", out.enforced_hard, t) && quantities(status, "used", out.used, t);
         });
}

}  // namespace detail

DRA_DECODE_KIND(ResourceQuota)

}  // namespace dra::api
