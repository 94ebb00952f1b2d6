// The protobuf wire format field by field, on libprotobuf's CodedInputStream: the messages of the API have no generated
// classes here, their fields are tables (pkg/api/schema). What the fields mean is the caller's. Source: the encoding
// chapter of the Protocol Buffers documentation. Groups (wire types 3 and 4) are refused.
#pragma once

#include <google/protobuf/io/coded_stream.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace dra {

inline constexpr int kWireVarint = 0, kWireFixed64 = 1, kWireBytes = 2, kWireFixed32 = 5;

// Reads one message's fields in the order in which they stand. Any overrun makes ok() false and stops.
// The views it returns point into the data that it was made with, which is below 2 GiB.
class WireReader {
 public:
  explicit WireReader(std::string_view data)
      : input_(reinterpret_cast<const uint8_t*>(data.data()), static_cast<int>(data.size())),
        size_(static_cast<int>(data.size())) {}

  // False at the end or when the data is broken (see ok()).
  bool next() { return more() && (ok_ = read_field()); }
  bool ok() const { return ok_; }

  // Of the field that next() found.
  int number() const { return number_; }
  int wire() const { return wire_; }                 // one of the four above
  uint64_t value() const { return value_; }          // all but kWireBytes
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
