// The fields of resource.k8s.io/v1 objects that users write, as a tree over the schema tables (pkg/api/schema). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dra::api::schema {
struct ObjectType;
struct ValueType;
}  // namespace dra::api::schema

namespace dra::inspect {

// One place in an object. Cheap to copy; the tables live as long as the program.
class FieldTree {
 public:
  // The tree of a kind; null for kinds that users do not write.
  static std::optional<FieldTree> of(std::string_view kind);

  // Null: no such field. Lists and maps of objects are transparent: the child is that of an element.
  std::optional<FieldTree> child(std::string_view field) const;
  // Any field may be here, or it is not the user who writes it: maps of texts and amounts, opaque parameters, metadata,
  // the status.
  bool open() const { return open_; }
  std::vector<std::string> children() const;
  // The paths below this node that end in a field of this name, the shortest first: "exactly".
  std::vector<std::string> places_of(std::string_view field) const;

 private:
  static FieldTree of_value(const api::schema::ValueType& value);
  void collect_places(std::string_view field, const std::string& prefix, std::vector<std::string>& places) const;

  const api::schema::ObjectType* type_ = nullptr;  // null: a leaf, or open
  bool whole_ = false;                             // the object itself, which also has apiVersion and kind
  bool open_ = false;
};

}  // namespace dra::inspect
