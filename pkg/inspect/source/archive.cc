#include "pkg/inspect/source/archive.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "pkg/base/check.h"

namespace dra::inspect {
namespace {

constexpr size_t kTarBlock = 512;

// `digits` octal digits; what comes after them is left as it is.
void put_octal(std::array<char, kTarBlock>& head, size_t at, size_t digits, uint64_t value) {
  for (size_t i = digits; i > 0; --i, value /= 8) head[at + i - 1] = static_cast<char>('0' + value % 8);
}

std::array<char, kTarBlock> tar_head(const ArchivedFile& file, int64_t seconds) {
  DRA_CHECK(file.name.size() < 100);
  std::array<char, kTarBlock> head{};
  std::memcpy(head.data(), file.name.data(), file.name.size());
  put_octal(head, 100, 7, 0600);
  put_octal(head, 108, 7, 0);
  put_octal(head, 116, 7, 0);
  put_octal(head, 124, 11, file.bytes.size());
  put_octal(head, 136, 11, static_cast<uint64_t>(std::max<int64_t>(0, seconds)));
  std::memset(head.data() + 148, ' ', 8);  // the checksum counts itself as blanks
  head[156] = '0';
  std::memcpy(head.data() + 257,
              "ustar\0"
              "00",
              8);
  uint64_t sum = 0;
  for (const char c : head) sum += static_cast<unsigned char>(c);
  put_octal(head, 148, 6, sum);
  head[154] = '\0';
  return head;
}

}  // namespace

std::string gzip(const std::string& text) {
  constexpr int kGzipWindow = 15 + 16;  // zlib: the largest window, gzip framing
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::string out;
  std::string buffer(size_t{1} << 18, '\0');
  size_t at = 0;
  int status = Z_OK;
  while (status != Z_STREAM_END) {
    const size_t piece = std::min<size_t>(text.size() - at, size_t{1} << 26);
    if (stream.avail_in == 0) {
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data() + at));
      stream.avail_in = static_cast<uInt>(piece);
      at += piece;
    }
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = static_cast<uInt>(buffer.size());
    status = deflate(&stream, at == text.size() ? Z_FINISH : Z_NO_FLUSH);
    out.append(buffer, 0, buffer.size() - stream.avail_out);
  }
  deflateEnd(&stream);
  return out;
}

std::string tar(const std::vector<ArchivedFile>& files, int64_t seconds) {
  std::string out;
  for (const ArchivedFile& file : files) {
    const auto head = tar_head(file, seconds);
    out.append(head.data(), head.size());
    out += file.bytes;
    out.append((kTarBlock - file.bytes.size() % kTarBlock) % kTarBlock, '\0');
  }
  out.append(2 * kTarBlock, '\0');
  return out;
}

}  // namespace dra::inspect
