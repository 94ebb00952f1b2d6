#include "pkg/apiserver/kinds/described_kind.h"

#include <nlohmann/json.hpp>

#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/json_read.h"

namespace dra::apiserver {

DescribedColumn described_age() {
  return {age_column(), nullptr};
}

void DescribedKind::set_defaults(Json& object) const {
  if (description_.defaults != nullptr) description_.defaults(object);
}

void DescribedKind::prepare_for_create(const WriteContext&, Json& object) const {
  if (description_.prepare != nullptr) description_.prepare(object);
}

void DescribedKind::prepare_for_update(const WriteContext&, Json& object, const Json&) const {
  if (description_.prepare != nullptr) description_.prepare(object);
}

FieldErrors DescribedKind::validate_create(const WriteContext&, const Json& object) const {
  return description_.check == nullptr ? FieldErrors() : description_.check(object);
}

FieldErrors DescribedKind::validate_update(const WriteContext& ctx, const Json& object, const Json& old) const {
  FieldErrors out = DescribedKind::validate_create(ctx, object);
  if (description_.check_change != nullptr) add_errors(out, description_.check_change(object, old));
  return out;
}

std::vector<TableColumn> DescribedKind::columns() const {
  std::vector<TableColumn> out = {name_column()};
  for (const DescribedColumn& c : description_.columns) out.push_back(c.column);
  return out;
}

Json DescribedKind::cells(const Json& object, WallTime now) const {
  const Json& meta = member(object, "metadata");
  Json out = Json::array();
  if (description_.name_cell != nullptr)
    out.push_back(description_.name_cell(object));
  else
    out.push_back(text_of(meta, "name"));
  for (const DescribedColumn& c : description_.columns) {
    if (c.cell != nullptr)
      out.push_back(c.cell(object));
    else
      out.push_back(age_cell(member(meta, "creationTimestamp"), now));
  }
  return out;
}

void check_kept(FieldErrors& out, const FieldPath& path, const Json& value, const Json& old) {
  if (semantic_equal(value, old)) return;
  out.push_back(value.is_string() ? invalid(path, as_text(value), "field is immutable")
                                  : invalid_value(path, value, "field is immutable"));
}

}  // namespace dra::apiserver
