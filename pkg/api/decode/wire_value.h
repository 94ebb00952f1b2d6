// WireValue: a read-only view of one value of an object as a server sent it, in JSON (JsonDocument, below) or protobuf
// (ProtobufDocument), which keeps the parsers' headers out of other files.
//
// Internal to pkg/api. A WireValue is three words and is valid while its document lives. The depth of a JSON document
// is bounded (10,240, more than any API server accepts). What Go accepts and a strict parser does not (numbers of any
// size, bytes that are not UTF-8, halves of surrogate pairs) is read as Go reads it, and a number of any size keeps its
// digits in raw(). One document is not thread-safe; different documents are independent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "pkg/base/error.h"

namespace dra::api::detail {

class WireValue {
 public:
  enum class Kind { kNull, kBool, kNumber, kString, kArray, kObject };

  Kind kind() const;
  // "string", "array", ...: for messages.
  std::string_view kind_name() const;
  bool is_null() const { return kind() == Kind::kNull; }

  // False when the value is of another kind. An integral number is an int64 whatever its spelling ("1e3" is not: it is
  // a double).
  bool get(bool& out) const;
  bool get(int64_t& out) const;
  bool get(double& out) const;
  bool get(std::string_view& out) const;

  // The member of this object, false when absent or when this is not an object.
  bool find(std::string_view key, WireValue& out) const;
  // Calls f(WireValue) or f(std::string_view key, WireValue) until it returns false; returns whether all were seen.
  template <class F>
  bool each_element(F&& f) const {
    return each_element_impl([](void* context, WireValue value) { return (*static_cast<F*>(context))(value); }, &f);
  }
  template <class F>
  bool each_member(F&& f) const {
    return each_member_impl(
        [](void* context, std::string_view key, WireValue value) { return (*static_cast<F*>(context))(key, value); },
        &f);
  }
  // Number of elements or members; a hint for reserve().
  size_t size() const;
  bool in_protobuf() const { return protobuf_type_ != nullptr; }
  // Whether this is an object in JSON; `members`: how many it has.
  bool is_json_object(size_t& members) const;
  // Protobuf: the first field of the document so far that its table lacks, "field 14 of Device"; else empty.
  std::string_view unknown_number() const;
  // The value as compact JSON text. In protobuf documents only numbers and fields that hold JSON have one.
  std::string raw() const;

 private:
  friend class JsonDocument;
  friend class ProtobufDocument;
  using ElementVisitor = bool (*)(void* context, WireValue value);
  using MemberVisitor = bool (*)(void* context, std::string_view key, WireValue value);
  bool each_element_impl(ElementVisitor visitor, void* context) const;
  bool each_member_impl(MemberVisitor visitor, void* context) const;

  // For JSON the parser's element; for protobuf what ProtobufDocument keeps there.
  alignas(8) std::byte storage_[16] = {};
  const void* protobuf_type_ = nullptr;  // nullptr: JSON
};

class JsonDocument {
 public:
  // Copies the text once (the parser needs padding after it).
  static Result<JsonDocument> parse(std::string_view text);

  JsonDocument(JsonDocument&&) noexcept;
  JsonDocument& operator=(JsonDocument&&) noexcept;
  ~JsonDocument();

  WireValue root() const { return root_; }

 private:
  struct Parser;
  explicit JsonDocument(std::unique_ptr<Parser> parser);
  static std::unique_ptr<Parser> take_parser();

  std::unique_ptr<Parser> parser_;
  WireValue root_;
};

}  // namespace dra::api::detail
