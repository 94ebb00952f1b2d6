// Cells and columns that all tables share (printers of k8s.io/kubernetes, duration of k8s.io/apimachinery).
#include <nlohmann/json.hpp>

#include "pkg/apiserver/model/kind.h"
#include "pkg/base/timestamp.h"

namespace dra::apiserver {

std::string_view name_column_description() {
  return "Name must be unique within a namespace. Is required when creating resources, although some resources may "
         "allow a client to request the generation of an appropriate name automatically. Name is primarily intended "
         "for creation idempotence and configuration definition. Cannot be updated. More info: "
         "https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";
}

std::string_view age_column_description() {
  return "CreationTimestamp is a timestamp representing the server time when this object was created. It is not "
         "guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It "
         "is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More "
         "info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";
}

TableColumn name_column() {
  return {"Name", "string", "name", std::string(name_column_description()), 0};
}
TableColumn age_column() {
  return {"Age", "string", "", std::string(age_column_description()), 0};
}

std::string human_duration(int64_t seconds) {
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  auto text = [](int64_t n, const char* unit) { return std::to_string(n) + unit; };
  auto two = [&](int64_t major, const char* a, int64_t minor, const char* b) {
    return minor == 0 ? text(major, a) : text(major, a) + text(minor, b);
  };
  if (seconds < 120) return text(seconds, "s");
  const int64_t minutes = seconds / 60;
  if (minutes < 10) return two(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return text(minutes, "m");
  const int64_t hours = seconds / 3600;
  if (hours < 8) return two(hours, "h", minutes % 60, "m");
  if (hours < 48) return text(hours, "h");
  if (hours < 192) return two(hours / 24, "d", hours % 24, "h");
  if (hours < 24 * 365 * 2) return text(hours / 24, "d");
  if (hours < 24 * 365 * 8) return two(hours / 24 / 365, "y", (hours / 24) % 365, "d");
  return text(hours / 24 / 365, "y");
}

std::string age_cell(const Json& timestamp_or_null, WallTime now) {
  Timestamp t;
  if (!timestamp_or_null.is_string() || !parse_rfc3339(timestamp_or_null.get<std::string>(), t)) return "<unknown>";
  return human_duration(seconds_between(t, now));
}

}  // namespace dra::apiserver
