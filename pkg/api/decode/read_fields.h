// Reads JSON members into struct fields and reports where a value has the wrong type. Internal to pkg/api.
//
// Every reader returns false on the first wrong type. The path is assembled while the calls return, so success costs
// nothing. Depth is bounded by the types.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/decode/wire_value.h"
#include "pkg/api/meta.h"

namespace dra::api::detail {

class Trouble {
 public:
  // "expected a string, got a number"; always returns false.
  bool wrong_type(const WireValue& value, std::string_view expected);
  bool out_of_range(std::string_view what);
  // Puts a member name, an index or a map key in front of the path; always returns false.
  bool in_member(std::string_view name);
  bool in_element(size_t index);
  bool in_key(std::string_view key);

  // "spec.devices[3].name: expected a string, got a number"
  std::string message() const;

  // How many members of the JSON objects read so far nobody has asked for: the object has a field that its reader does
  // not know, if this is above 0. Counting costs a few instructions for each object; find_unknown() then searches. What
  // protobuf has beyond its table is noted by the document, so there the number means nothing.
  int64_t unread() const { return unread_; }
  void object_opened(int64_t members) { unread_ += members; }
  void member_read() { --unread_; }
  // Something that was read is not known, or not supported: find_unknown() then searches, in protobuf, too.
  bool strange() const { return strange_; }
  void note_strange() { strange_ = true; }
  // What is read while this lives does not count: metadata and status.
  class Uncounted {
   public:
    explicit Uncounted(Trouble& trouble) : trouble_(trouble), before_(trouble.unread_) {}
    ~Uncounted() { trouble_.unread_ = before_; }
    Uncounted(const Uncounted&) = delete;
    Uncounted& operator=(const Uncounted&) = delete;

   private:
    Trouble& trouble_;
    const int64_t before_;
  };

 private:
  int64_t unread_ = 0;
  bool strange_ = false;
  std::vector<std::string> path_;  // innermost first
  std::string what_;
};

bool read(const WireValue& value, bool& out, Trouble& trouble);
bool read(const WireValue& value, int64_t& out, Trouble& trouble);
bool read(const WireValue& value, int32_t& out, Trouble& trouble);
bool read(const WireValue& value, std::string& out, Trouble& trouble);
bool read(const WireValue& value, ObjectMeta& out, Trouble& trouble);
bool read(const WireValue& value, Condition& out, Trouble& trouble);
bool read(const WireValue& value, LabelSelector& out, Trouble& trouble);
bool read(const WireValue& value, NodeSelector& out, Trouble& trouble);
bool read(const WireValue& value, NodeSelectorTerm& out, Trouble& trouble);
// A quantity may be a JSON string or number; both become the text of the wire.
bool read_quantity(const WireValue& value, std::string& out, Trouble& trouble);
bool read_quantity_map(const WireValue& value, StringMap& out, Trouble& trouble);
bool expect_object(const WireValue& value, Trouble& trouble);

template <class T>
bool read(const WireValue& value, std::optional<T>& out, Trouble& trouble) {
  return read(value, out.emplace(), trouble);
}

// f(WireValue, T&, Trouble&) reads one element. A null element leaves a default T, as in Go's decoder.
template <class T, class F>
bool read_list(const WireValue& value, std::vector<T>& out, Trouble& trouble, F&& f) {
  if (value.kind() != WireValue::Kind::kArray) return trouble.wrong_type(value, "an array");
  out.clear();
  out.reserve(value.size());
  return value.each_element([&](const WireValue& element) {
    T item{};
    if (!element.is_null() && !f(element, item, trouble)) return trouble.in_element(out.size());
    out.push_back(std::move(item));
    return true;
  });
}

template <class T>
bool read(const WireValue& value, std::vector<T>& out, Trouble& trouble) {
  return read_list(value, out, trouble,
                   [](const WireValue& element, T& item, Trouble& t) { return read(element, item, t); });
}

template <class T, class F>
bool read_map(const WireValue& value, std::map<std::string, T, std::less<>>& out, Trouble& trouble, F&& f) {
  if (!expect_object(value, trouble)) return false;
  out.clear();
  return value.each_member([&](std::string_view key, const WireValue& member) {
    T item{};
    trouble.member_read();
    if (!member.is_null() && !f(member, item, trouble)) return trouble.in_key(key);
    out.insert_or_assign(std::string(key), std::move(item));
    return true;
  });
}

template <class T>
bool read(const WireValue& value, std::map<std::string, T, std::less<>>& out, Trouble& trouble) {
  return read_map(value, out, trouble,
                  [](const WireValue& member, T& item, Trouble& t) { return read(member, item, t); });
}

// The member `name` of an object, if present and not null.
template <class T>
bool field(const WireValue& object, std::string_view name, T& out, Trouble& trouble) {
  WireValue value;
  if (!object.find(name, value)) return true;
  trouble.member_read();
  return value.is_null() || read(value, out, trouble) || trouble.in_member(name);
}

template <class F>
bool field_with(const WireValue& object, std::string_view name, Trouble& trouble, F&& f) {
  WireValue value;
  if (!object.find(name, value)) return true;
  trouble.member_read();
  return value.is_null() || f(value) || trouble.in_member(name);
}

// Calls f(WireValue) for the object member `name`, if present: for nested objects that are flattened in the structs.
template <class F>
bool section(const WireValue& object, std::string_view name, Trouble& trouble, F&& f) {
  return field_with(object, name, trouble,
                    [&](const WireValue& value) { return expect_object(value, trouble) && f(value); });
}

// metadata of the kinds that stores keep, reduced to what this project reads, because anybody who may write an object
// may fill the rest. Drops generateName; unused annotations and overlong values of used ones; managedFields beyond 16
// entries of other managers and 64 of ours; owners that are not the controller; and labels, unless they are wanted.
enum class Labels : uint8_t { kDropped, kKept };
bool read_metadata_in_use(const WireValue& object, ObjectMeta& out, Labels labels, Trouble& trouble);
// The map of quantities `name`, if present.
inline bool quantities(const WireValue& object, std::string_view name, StringMap& out, Trouble& trouble) {
  return field_with(object, name, trouble, [&](const WireValue& map) { return read_quantity_map(map, out, trouble); });
}

// spec.disruptionMode of a PodGroup: a word, or from 1.37 on an object. `whole`: none or all of its pods leave.
bool read_disruption_mode(const WireValue& mode, bool& whole, Trouble& trouble);

}  // namespace dra::api::detail
