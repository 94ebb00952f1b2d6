// Decoding of kubelet's events about devices that could not be prepared.
#include <algorithm>

#include "pkg/api/decode/decode_entry.h"
#include "pkg/api/decode/read_fields.h"
#include "pkg/api/prepare_event.h"
#include "pkg/base/utf8.h"

namespace dra::api {
namespace detail {

// Only what is kept is read: the store has as many of these as the namespaces' quotas allow.
bool read(const WireValue& v, PrepareEvent& out, Trouble& t) {
  std::string kind, ns, name, reason, note;
  int64_t counted = 0, series = 0;
  const bool readable = expect_object(v, t) &&
                        section(v, "metadata", t,
                                [&](const WireValue& metadata) {
                                  return field(metadata, "name", out.metadata.name, t) &&
                                         field(metadata, "namespace", out.metadata.ns, t) &&
                                         field(metadata, "uid", out.metadata.uid, t) &&
                                         field(metadata, "resourceVersion", out.metadata.resource_version, t);
                                }) &&
                        section(v, "regarding", t,
                                [&](const WireValue& object) {
                                  return field(object, "kind", kind, t) && field(object, "namespace", ns, t) &&
                                         field(object, "name", name, t) && field(object, "uid", out.pod_uid, t);
                                }) &&
                        field(v, "reason", reason, t) && field(v, "note", note, t) &&
                        field(v, "deprecatedCount", counted, t) &&
                        section(v, "series", t, [&](const WireValue& of) { return field(of, "count", series, t); });
  if (!readable) return false;
  out.times = std::clamp<int64_t>(std::max(counted, series), 1, 1000);
  if (kind != "Pod" || ns != out.metadata.ns || reason != kPrepareFailedReason) {
    out.pod_uid.clear();
    return true;
  }
  out.pod = ns + "/" + name;
  out.note = utf8_prefix(note, kMaxPrepareNote);
  return true;
}

}  // namespace detail

DRA_DECODE_KIND(PrepareEvent)

}  // namespace dra::api
