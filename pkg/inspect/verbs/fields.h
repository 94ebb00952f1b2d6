// The fields of resource.k8s.io/v1 objects that users write, as a tree (k8s.io/api/resource/v1 of 1.36). Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dra::inspect {

class FieldTree {
 public:
  // The tree of a kind; null for unknown kinds. Lives as long as the program.
  static const FieldTree* of(std::string_view kind);

  // Null: no such field. Lists and maps of objects are transparent: the child is that of an element.
  const FieldTree* child(std::string_view field) const;
  bool open() const { return open_; }  // any field may be here: maps, opaque parameters
  std::vector<std::string> children() const;
  // The paths below this node that end in a field of this name, the shortest first: "exactly".
  std::vector<std::string> places_of(std::string_view field) const;

 private:
  friend struct FieldTreeBuilder;
  std::vector<std::pair<std::string, FieldTree>> children_;
  bool open_ = false;
};

}  // namespace dra::inspect
