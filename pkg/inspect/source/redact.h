// Redactor: replaces names in a snapshot by numbered ones.
//
// Learns all names first, then replaces them where objects name other objects, and as values of labels and selectors.
// Condition messages become empty. Names of requests and attributes, and other texts that only look like a name, stay.
// New names are numbered in the order of the old ones, so anything sorted by name (pools, slices, nodes) keeps its
// order. Not thread-safe.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>

namespace dra::inspect {

class Redactor {
 public:
  void learn(std::string_view plural, const nlohmann::json& object);
  // Call when all names are known.
  void settle();
  // `key`: the value's key in its object; `parent`: the key of that object.
  void apply(nlohmann::json& value, std::string_view key = {}, std::string_view parent = {}) const;
  // The new name of a text, or the text itself.
  std::string renamed(const std::string& text) const;

 private:
  void note(const char* kind, const nlohmann::json& object, const char* key);

  std::map<std::string, std::set<std::string>> names_;  // by kind of name
  std::map<std::string, std::string, std::less<>> renamed_;
};

}  // namespace dra::inspect
