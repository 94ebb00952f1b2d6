#include "pkg/base/protobuf_wire.h"

namespace dra {

bool WireReader::next() {
  if (!ok_ || data_.empty()) return false;
  const uint64_t tag = varint();
  if (!ok_) return false;
  number_ = static_cast<int>(tag >> 3);
  wire_ = static_cast<int>(tag & 7);
  switch (wire_) {
    case 0:
      value_ = varint();
      return ok_;
    case 1:
      value_ = fixed(8);
      return ok_;
    case 5:
      value_ = fixed(4);
      return ok_;
    case 2: {
      const uint64_t size = varint();
      if (!ok_ || size > data_.size()) return ok_ = false;
      bytes_ = data_.substr(0, size);
      data_.remove_prefix(size);
      return true;
    }
    default:
      return ok_ = false;
  }
}

uint64_t WireReader::varint() {
  uint64_t out = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (data_.empty()) break;
    const auto byte = static_cast<unsigned char>(data_[0]);
    data_.remove_prefix(1);
    out |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return out;
  }
  ok_ = false;
  return 0;
}

uint64_t WireReader::fixed(size_t size) {
  uint64_t out = 0;
  if (data_.size() < size) {
    ok_ = false;
    return 0;
  }
  for (size_t i = 0; i < size; ++i) out |= static_cast<uint64_t>(static_cast<unsigned char>(data_[i])) << (8 * i);
  data_.remove_prefix(size);
  return out;
}

void append_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void append_varint_field(std::string& out, int number, uint64_t value) {
  append_varint(out, static_cast<uint64_t>(number) << 3);
  append_varint(out, value);
}

void append_fixed64_field(std::string& out, int number, uint64_t value) {
  append_varint(out, static_cast<uint64_t>(number) << 3 | 1);
  for (int i = 0; i < 8; ++i) out += static_cast<char>(value >> (8 * i));
}

void append_bytes_field(std::string& out, int number, std::string_view bytes) {
  append_varint(out, static_cast<uint64_t>(number) << 3 | 2);
  append_varint(out, bytes.size());
  out += bytes;
}

}  // namespace dra
