// Redactor: names replaced by numbered ones in a snapshot.
//
// Learns all names first, then replaces them where objects name other objects, and as values of labels and selectors.
// Messages of conditions become empty. Names of requests, attributes and all else that only looks like a name stay. New
// names are numbered in the order of the old ones, so whatever goes by order of names (pools, slices, nodes) goes the
// same way. Not thread-safe.
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
  // All names are known.
  void settle();
  // `key`: under which the value stands in its object; `parent`: under which that object stands.
  void apply(nlohmann::json& value, std::string_view key = {}, std::string_view parent = {}) const;
  // The new name of a text, or the text itself.
  std::string renamed(const std::string& text) const;

 private:
  void note(const char* kind, const nlohmann::json& object, const char* key);

  std::map<std::string, std::set<std::string>> names_;  // by kind of name
  std::map<std::string, std::string, std::less<>> renamed_;
};

}  // namespace dra::inspect
