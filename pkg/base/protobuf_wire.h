// The protobuf wire format, field by field, on libprotobuf's CodedInputStream. API messages have no generated classes
// here; tables describe their fields (pkg/api/schema). The caller interprets the fields. Source: the encoding chapter
// of the Protocol Buffers documentation. Groups (wire types 3 and 4) are rejected.
#pragma once

#include <google/protobuf/io/coded_stream.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace dra {

inline constexpr int kWireVarint = 0, kWireFixed64 = 1, kWireBytes = 2, kWireFixed32 = 5;

// Reads the fields of one message in order. Any overrun sets ok() to false and ends the reading. Returned views point
// into the constructor's data, which must be smaller than 2 GiB.
class WireReader {
 public:
  explicit WireReader(std::string_view data)
      : input_(reinterpret_cast<const uint8_t*>(data.data()), static_cast<int>(data.size())),
        size_(static_cast<int>(data.size())) {}

  // False at the end, or if the data is malformed (see ok()).
  bool next() { return more() && (ok_ = read_field()); }
  bool ok() const { return ok_; }
  // Bytes read so far: what lies between the positions before and after next() is one field with its tag.
  size_t position() const { return static_cast<size_t>(input_.CurrentPosition()); }

  // The following describe the field that next() found.
  int number() const { return number_; }
  int wire() const { return wire_; }                 // one of the four above
  uint64_t value() const { return value_; }          // all wire types except kWireBytes
  std::string_view bytes() const { return bytes_; }  // kWireBytes

  // For packed lists, which are varints without tags.
  bool more() const { return ok_ && input_.CurrentPosition() < size_; }
  uint64_t varint();

 private:
  bool read_field();
  bool read_bytes();

  google::protobuf::io::CodedInputStream input_;
  int size_;
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
