// Checked access to a YAML document: every error names file, line, column and field. Internal to this package.
#pragma once

#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/error.h"
#include "pkg/yaml/yaml.h"

namespace dra::sandbox {

// Thrown while a fleet is read, and turned into an Error by load_fleet(): every step of reading can fail, and
// exceptions keep the steps short.
struct FleetError {
  std::string message;
};

// One value of the document with its path. Cheap to copy; refers to the document, which must outlive it.
class Field {
 public:
  Field(const nlohmann::json& value, std::string pointer, std::string path, const yaml::Positions& positions,
        std::string_view source)
      : value_(&value), pointer_(std::move(pointer)), path_(std::move(path)), positions_(&positions), source_(source) {}

  const nlohmann::json& value() const { return *value_; }
  const std::string& path() const { return path_; }
  [[noreturn]] void refuse(const std::string& what) const;

  // Refuses unless this is a map with no other keys than these.
  void allow(std::initializer_list<std::string_view> keys) const;
  bool has(std::string_view key) const;
  Field at(std::string_view key) const;  // refuses if absent
  std::vector<Field> items() const;      // of a list; refuses anything else
  std::vector<std::pair<std::string, Field>> entries() const;

  // Values. Those with a key read a member of this map and return the fallback if it is absent.
  std::string text() const;  // a string, or a number or boolean as its text
  std::string text(std::string_view key, std::string_view fallback) const;
  int64_t integer(int64_t min, int64_t max) const;
  int64_t integer(std::string_view key, int64_t fallback, int64_t min, int64_t max) const;
  bool boolean(std::string_view key, bool fallback) const;

 private:
  const nlohmann::json* value_;
  std::string pointer_;
  std::string path_;
  const yaml::Positions* positions_;
  std::string_view source_;
};

}  // namespace dra::sandbox
