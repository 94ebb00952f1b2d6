#include "pkg/base/protobuf_wire.h"

namespace dra {

using google::protobuf::io::CodedOutputStream;

bool WireReader::read_field() {
  const uint32_t tag = input_.ReadTag();
  number_ = static_cast<int>(tag >> 3);
  wire_ = static_cast<int>(tag & 7);
  if (tag == 0) return false;
  if (wire_ == kWireVarint) return input_.ReadVarint64(&value_);
  if (wire_ == kWireFixed64) return input_.ReadLittleEndian64(&value_);
  if (wire_ == kWireBytes) return read_bytes();
  uint32_t narrow = 0;
  if (wire_ != kWireFixed32 || !input_.ReadLittleEndian32(&narrow)) return false;
  value_ = narrow;
  return true;
}

bool WireReader::read_bytes() {
  int size = 0, rest = 0;
  const void* data = nullptr;
  if (!input_.ReadVarintSizeAsInt(&size)) return false;
  input_.GetDirectBufferPointerInline(&data, &rest);
  if (size > rest || !input_.Skip(size)) return false;
  bytes_ = {static_cast<const char*>(data), static_cast<size_t>(size)};
  return true;
}

uint64_t WireReader::varint() {
  uint64_t value = 0;
  ok_ = ok_ && input_.ReadVarint64(&value);
  return ok_ ? value : 0;
}

void append_varint(std::string& out, uint64_t value) {
  uint8_t digits[10];
  const uint8_t* end = CodedOutputStream::WriteVarint64ToArray(value, digits);
  out.append(reinterpret_cast<const char*>(digits), static_cast<size_t>(end - digits));
}

void append_varint_field(std::string& out, int number, uint64_t value) {
  append_varint(out, static_cast<uint64_t>(number) << 3 | kWireVarint);
  append_varint(out, value);
}

void append_fixed64_field(std::string& out, int number, uint64_t value) {
  append_varint(out, static_cast<uint64_t>(number) << 3 | kWireFixed64);
  uint8_t bytes[8];
  CodedOutputStream::WriteLittleEndian64ToArray(value, bytes);
  out.append(reinterpret_cast<const char*>(bytes), sizeof bytes);
}

void append_bytes_field(std::string& out, int number, std::string_view bytes) {
  append_varint(out, static_cast<uint64_t>(number) << 3 | kWireBytes);
  append_varint(out, bytes.size());
  out += bytes;
}

}  // namespace dra
