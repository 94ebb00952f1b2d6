#include "pkg/api/unknown_fields.h"

#include <algorithm>

#include "pkg/base/strings.h"

namespace dra::api {

bool is_ignored(const UnknownField& field, const IgnoredFields& ignored) {
  return std::find(ignored.begin(), ignored.end(), field.field) != ignored.end();
}

const UnknownField* refusing_field(const Rare<UnknownFields>& unknown, const IgnoredFields& ignored) {
  if (!unknown) return nullptr;
  for (const UnknownField& field : unknown->fields)
    if (!is_ignored(field, ignored)) return &field;
  return unknown->more ? &unknown->fields.back() : nullptr;
}

std::string why_refused(const UnknownField& field) {
  if (field.why == UnknownField::Why::kNumber)
    return field.path + ", in protobuf, is not known to this version: upgrade the manager";
  std::string text = "field " + field.path;
  const size_t equal = field.field.find('=');
  if (field.why == UnknownField::Why::kValue)
    text += " has the value " + quote(field.field.substr(equal + 1)) + ", which is not known to this version";
  else if (field.why == UnknownField::Why::kNotSupported)
    text += " is not supported by this version";
  else
    text += " is not known to this version";
  return text + ": upgrade the manager or, if that is safe, ignore it by --ignore-unknown-fields=" + field.field;
}

std::string read_ignored_fields(std::string_view text, IgnoredFields& out) {
  constexpr std::string_view kRoots[] = {"resourceslices.spec.", "resourceclaims.spec.", "resourceclaims.status.",
                                         "deviceclasses.spec.", "podgroups.spec."};
  constexpr size_t kMostEntries = 256;
  out.clear();
  if (trim(text).empty()) return "";
  for (const std::string& part : split(text, ',')) {
    const std::string_view entry = trim(part);
    const bool rooted = std::any_of(std::begin(kRoots), std::end(kRoots), [&](std::string_view root) {
      return entry.starts_with(root) && entry.size() > root.size();
    });
    if (!rooted)
      return quote(entry) +
             " is not the place of a field; write it as the event about it does, for example "
             "resourceslices.spec.devices.newField; it begins with resourceslices.spec, resourceclaims.spec, "
             "resourceclaims.status.allocation, deviceclasses.spec or podgroups.spec";
    if (out.size() == kMostEntries) return "more than " + std::to_string(kMostEntries) + " fields";
    out.emplace_back(entry);
  }
  return "";
}

}  // namespace dra::api
