// Selector: a parsed label selector, with a text that is equal for equal selectors and with a label that every match
// has, so that an index tries only the selectors that can match.
//
// Plain value.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pkg/api/meta.h"

namespace dra::placement {

class Selector {
 public:
  // Matches nothing.
  Selector() = default;
  // An absent selector, or one that cannot be parsed, matches nothing; an empty one matches everything.
  explicit Selector(const std::optional<api::LabelSelector>& selector);
  static Selector everything() { return Selector(api::LabelSelector{}); }

  // Narrows the selector: key In values, or any other requirement that can be parsed.
  void require(api::LabelSelectorRequirement requirement);

  bool matches(const api::StringMap& labels) const;
  bool matches_nothing() const { return nothing_; }
  bool matches_everything() const { return !nothing_ && requirements_.empty(); }
  // Equal for equal selectors, whatever the order of their requirements.
  const std::string& text() const { return text_; }
  // A label that everything it matches has, as anchor_text() writes it; empty when there is none.
  const std::string& anchor() const { return anchor_; }
  const std::vector<api::LabelSelectorRequirement>& requirements() const { return requirements_; }

 private:
  void describe();

  bool nothing_ = true;
  std::vector<api::LabelSelectorRequirement> requirements_;
  std::string text_ = "-";
  std::string anchor_;
};

std::string anchor_text(std::string_view key, std::string_view value);

// A set of namespaces by name, or all of them.
struct NamespaceSet {
  bool all = false;
  std::vector<std::string> names;  // sorted, each once

  bool contains(const std::string& name) const;
  void append_to(std::string& text) const;
};

}  // namespace dra::placement
