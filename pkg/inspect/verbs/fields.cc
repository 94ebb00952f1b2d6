#include "pkg/inspect/verbs/fields.h"

#include <algorithm>
#include <map>

namespace dra::inspect {

// Parses "a{b c{*}}": a field, and its children in braces; "*" is any field.
struct FieldTreeBuilder {
  std::string_view text;
  size_t at = 0;

  void skip_blanks() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\n')) ++at;
  }
  void read_children(FieldTree& tree) {
    for (skip_blanks(); at < text.size() && text[at] != '}'; skip_blanks()) {
      if (text[at] == '*') {
        tree.open_ = true;
        ++at;
        continue;
      }
      const size_t begin = at;
      while (at < text.size() && std::isalnum(static_cast<unsigned char>(text[at]))) ++at;
      auto& child = tree.children_.emplace_back(std::string(text.substr(begin, at - begin)), FieldTree());
      if (at < text.size() && text[at] == '{') {
        ++at;
        read_children(child.second);
        ++at;
      }
    }
  }
};

namespace {

const std::string kObject = "apiVersion kind metadata{*} ";
const std::string kSelectors = "selectors{cel{expression}} ";
const std::string kTolerations = "tolerations{key operator value effect tolerationSeconds} ";
const std::string kCapacity = "capacity{requests{*}} ";
const std::string kRequest = "deviceClassName " + kSelectors + "allocationMode count " + kTolerations + kCapacity;
const std::string kConfig = "config{requests opaque{driver parameters{*}}} ";
const std::string kClaimSpec = "devices{requests{name exactly{" + kRequest + "adminAccess} firstAvailable{name " +
                               kRequest + "}} constraints{requests matchAttribute distinctAttribute} " + kConfig + "}";

FieldTree tree_of(const std::string& text) {
  FieldTree tree;
  FieldTreeBuilder builder{text};
  builder.read_children(tree);
  return tree;
}

void collect_places(const FieldTree& tree, std::string_view field, const std::string& prefix,
                    std::vector<std::string>& places) {
  for (const std::string& name : tree.children()) {
    if (name == field) places.push_back(prefix);
    collect_places(*tree.child(name), field, prefix.empty() ? name : prefix + "." + name, places);
  }
}

}  // namespace

const FieldTree* FieldTree::of(std::string_view kind) {
  static const std::map<std::string_view, FieldTree> kTrees{
      {"ResourceClaim", tree_of(kObject + "spec{" + kClaimSpec + "} status{*}")},
      {"ResourceClaimTemplate", tree_of(kObject + "spec{metadata{*} spec{" + kClaimSpec + "}}")},
      {"DeviceClass",
       tree_of(kObject + "spec{" + kSelectors + "config{opaque{driver parameters{*}}} extendedResourceName}")},
  };
  const auto found = kTrees.find(kind);
  return found == kTrees.end() ? nullptr : &found->second;
}

const FieldTree* FieldTree::child(std::string_view field) const {
  for (const auto& [name, tree] : children_)
    if (name == field) return &tree;
  return nullptr;
}

std::vector<std::string> FieldTree::children() const {
  std::vector<std::string> names;
  for (const auto& [name, tree] : children_) names.push_back(name);
  return names;
}

std::vector<std::string> FieldTree::places_of(std::string_view field) const {
  std::vector<std::string> places;
  collect_places(*this, field, "", places);
  std::stable_sort(places.begin(), places.end(),
                   [](const std::string& a, const std::string& b) { return a.size() < b.size(); });
  return places;
}

}  // namespace dra::inspect
