// The protobuf wire format: tags, varints, fixed and length-delimited fields. What the fields mean is the caller's.
// Source: the encoding chapter of the Protocol Buffers documentation. Groups (wire types 3 and 4) are refused.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dra {

inline constexpr int kWireVarint = 0, kWireFixed64 = 1, kWireBytes = 2, kWireFixed32 = 5;

// Reads one message's fields in the order in which they stand. Any overrun makes `ok` false and stops.
// The views it returns point into the data that it was made with.
class WireReader {
 public:
  explicit WireReader(std::string_view data) : data_(data) {}

  // False at the end or when the data is broken (see ok()).
  bool next();
  bool ok() const { return ok_; }

  // Of the field that next() found.
  int number() const { return number_; }
  int wire() const { return wire_; }                 // one of the four above
  uint64_t value() const { return value_; }          // all but kWireBytes
  std::string_view bytes() const { return bytes_; }  // kWireBytes

  // For packed lists, which are varints without tags.
  bool more() const { return ok_ && !data_.empty(); }
  uint64_t varint();

 private:
  uint64_t fixed(size_t size);

  std::string_view data_;
  bool ok_ = true;
  int number_ = 0;
  int wire_ = 0;
  uint64_t value_ = 0;
  std::string_view bytes_;
};

// Each appends one field to `out`.
void append_varint(std::string& out, uint64_t value);
void append_varint_field(std::string& out, int number, uint64_t value);
void append_fixed64_field(std::string& out, int number, uint64_t value);
void append_bytes_field(std::string& out, int number, std::string_view bytes);

}  // namespace dra
