#include "pkg/apiserver/kinds/storage/volume_parts.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/api/quantity.h"
#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/json_read.h"
#include "pkg/base/strings.h"

namespace dra::apiserver {

namespace {

constexpr const char* kOncePod = "ReadWriteOncePod";
constexpr const char* kBetaClass = "volume.beta.kubernetes.io/storage-class";

// In the order of kubectl's cells.
const std::vector<std::pair<std::string, std::string>>& modes_by_name() {
  static const std::vector<std::pair<std::string, std::string>> modes = {
      {"ReadWriteOnce", "RWO"}, {"ReadOnlyMany", "ROX"}, {"ReadWriteMany", "RWX"}, {kOncePod, "RWOP"}};
  return modes;
}

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

}  // namespace

void check_access_modes(FieldErrors& out, const FieldPath& path, const Json& modes) {
  bool once_pod = false, other = false;
  for (const Json& m : modes) {
    const std::string& mode = as_text(m);
    const auto& known = modes_by_name();
    if (std::none_of(known.begin(), known.end(), [&](const auto& k) { return k.first == mode; })) {
      out.push_back(not_supported(path, mode, {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"}));
    } else {
      (mode == kOncePod ? once_pod : other) = true;
    }
  }
  if (once_pod && other) out.push_back(forbidden(path, "may not use ReadWriteOncePod with other access modes"));
}

void check_volume_mode(FieldErrors& out, const FieldPath& path, const Json& spec) {
  const std::string& mode = text_of(spec, "volumeMode");
  if (!is_set(spec, "volumeMode") || mode == "Filesystem" || mode == "Block") return;
  out.push_back(not_supported(path.child("volumeMode"), mode, {"Block", "Filesystem"}));
}

void check_volume_class_name(FieldErrors& out, const FieldPath& path, const std::string& name) {
  if (!name.empty()) add_problems(out, path, name, dns_subdomain_problems(name));
}

void check_storage(FieldErrors& out, const FieldPath& path, const Json& amount) {
  auto q = api::Quantity::parse(as_text(amount));
  if (q && q->sign() > 0) return;
  out.push_back(invalid(path, as_text(amount), "must be greater than zero"));
}

void check_csi_driver_name(FieldErrors& out, const FieldPath& path, const std::string& name) {
  if (name.empty()) return out.push_back(required(path, ""));
  if (name.size() > kDnsLabelMax) out.push_back(too_long(path, kDnsLabelMax));
  add_problems(out, path, name, dns_subdomain_problems(lower(name)));
}

std::string access_modes_text(const Json& modes) {
  std::vector<std::string> found;
  for (const auto& [mode, text] : modes_by_name()) {
    if (std::find(modes.begin(), modes.end(), Json(mode)) != modes.end()) found.push_back(text);
  }
  return join(found, ",");
}

std::string or_unset(const Json& object, const char* key) {
  return is_set(object, key) ? text_of(object, key) : "<unset>";
}

std::string class_of(const Json& object) {
  const Json& annotations = map_of(member(object, "metadata"), "annotations");
  return annotations.contains(kBetaClass) ? text_of(annotations, kBetaClass)
                                          : text_of(member(object, "spec"), "storageClassName");
}

std::string phase_text(const Json& object) {
  if (is_set(member(object, "metadata"), "deletionTimestamp")) return "Terminating";
  return text_of(member(object, "status"), "phase");
}

}  // namespace dra::apiserver
