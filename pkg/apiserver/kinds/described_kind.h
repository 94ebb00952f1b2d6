// DescribedKind: a kind made from a description: facts, columns and checks. For kinds that need none of Kind's other
// hooks; a kind that does derives from it.
//
//     KindDescription d;
//     d.info = kind_info({"storage.k8s.io", "v1"}, "storage/v1", "CSINode", "csinodes", "csinode", false);
//     d.check = check_csi_node;
//     d.columns = {{{"Drivers", "integer", "", "How many drivers the node has.", 0}, drivers_cell}};
//     registry.add(std::make_unique<DescribedKind>(std::move(d)));
//
// Immutable, like all kinds.
#pragma once

#include <memory>
#include <vector>

#include "pkg/apiserver/model/kind.h"

namespace dra::apiserver {

struct DescribedColumn {
  TableColumn column;
  Json (*cell)(const Json& object) = nullptr;  // null: the age
};

struct KindDescription {
  KindInfo info;
  std::vector<DescribedColumn> columns;      // without the name column, which comes first
  Json (*name_cell)(const Json&) = nullptr;  // null: metadata.name
  void (*defaults)(Json& object) = nullptr;  // Kind::set_defaults()
  void (*prepare)(Json& object) = nullptr;   // before validation, on create and update: fields derived from others
  FieldErrors (*check)(const Json& object) = nullptr;  // on create, update and status update
  // What an update may not change; `check` runs first.
  FieldErrors (*check_change)(const Json& object, const Json& old) = nullptr;
};

// The age column, for KindDescription::columns.
DescribedColumn described_age();

class DescribedKind : public Kind {
 public:
  explicit DescribedKind(KindDescription description) : Kind(description.info), description_(std::move(description)) {}

  void set_defaults(Json& object) const override;
  void prepare_for_create(const WriteContext& ctx, Json& object) const override;
  void prepare_for_update(const WriteContext& ctx, Json& object, const Json& old) const override;
  FieldErrors validate_create(const WriteContext& ctx, const Json& object) const override;
  FieldErrors validate_update(const WriteContext& ctx, const Json& object, const Json& old) const override;
  std::vector<TableColumn> columns() const override;
  Json cells(const Json& object, WallTime now) const override;

 private:
  KindDescription description_;
};

// "field is immutable" at the path, unless both are equal.
void check_kept(FieldErrors& out, const FieldPath& path, const Json& value, const Json& old);

}  // namespace dra::apiserver
