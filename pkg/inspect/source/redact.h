// Redactor: takes the words of users out of the objects of a snapshot, so that the snapshot still decides the same.
//
//   Redactor redactor(Redaction::kNames);
//   for (object : all) redactor.learn(plural, object);    // first all names
//   redactor.settle();
//   for (object : all) redactor.apply(plural, object);
//
// It walks each object by the schema (redact_rules.h says what each text is). Names, and keys and values of labels,
// become numbered names in the order of the old ones, the same wherever they stand; messages become empty; a text that
// no rule names, and the value of a field that the schema does not know, becomes "redacted". Drivers, classes, devices,
// attributes, capacities and CEL selectors stay, unless Redaction::kStrict: then they are numbered, too, and selectors
// that look into a part of a text may match other devices. A claim that bears the proof of its allocation bears one of
// the redacted allocation afterwards. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "pkg/api/schema/schema.h"
#include "pkg/inspect/source/redact_rules.h"

namespace dra::inspect {

enum class Redaction : uint8_t { kNone, kNames, kStrict };

// The text in place of one that is left out.
inline constexpr std::string_view kLeftOut = "redacted";

class Redactor {
 public:
  explicit Redactor(Redaction redaction) : strict_(redaction == Redaction::kStrict) {}

  void learn(std::string_view plural, const nlohmann::json& object);
  // Call when all names are known.
  void settle();
  void apply(std::string_view plural, nlohmann::json& object);
  // The new name of a text of this kind; nothing: no object has it.
  std::optional<std::string> renamed(Word word, std::string_view text) const;
  // The same for a text of whatever kind; what drivers and classes say stays unless the redaction is strict.
  std::optional<std::string> renamed_text(std::string_view text) const;

 private:
  void object(nlohmann::json& value, const api::schema::ObjectType& type);
  void member(nlohmann::json& value, const api::schema::ObjectType& type, const api::schema::Field& field,
              std::string_view mentioned_by);
  void value(nlohmann::json& value, const api::schema::ValueType& type, Word word, std::string_view key);
  void map(nlohmann::json& value, const api::schema::ObjectType& type, const api::schema::Field& field);
  void annotations(nlohmann::json& value);
  void owner(nlohmann::json& reference);
  void note_numbers(const nlohmann::json& value);
  void prove_again(const nlohmann::json& before, nlohmann::json& after) const;

  // Each returns the new text; while names are learned, it remembers the old one.
  std::string text(Word word, const std::string& old, std::string_view key);
  std::string name(Word word, const std::string& old);
  std::string value_of_key(const std::string& old, std::string_view key);
  std::string published(Word word, const std::string& old);
  std::string qualified(Word word, const std::string& old);
  std::string request(const std::string& old);
  std::string image(const std::string& old);
  std::string entry_of_status(const std::string& old);
  std::string device_id(const std::string& old);
  std::string annotation(const std::string& key, const std::string& old);
  std::string topology(const std::string& old);
  std::string names(Word word, const std::string& old);  // "a,b"
  std::string users(const std::string& old);
  std::string avoided(const std::string& old);
  std::string preference(const std::string& old);
  std::string alignment(std::string_view key, const std::string& old);
  std::string selector(const std::string& old) const;
  std::string literal(const std::string& old) const;

  const bool strict_;
  bool settled_ = false;
  std::string_view plural_;  // of the object at hand
  std::map<Word, std::set<std::string>> learned_;
  std::map<Word, std::map<std::string, std::string, std::less<>>> renamed_;
  std::set<std::string, std::less<>> compared_;  // keys of labels that a selector compares as numbers
};

}  // namespace dra::inspect
