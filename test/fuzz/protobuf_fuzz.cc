// Any bytes as the body of a protobuf watch, in pieces as a network cuts them; in hexadecimal digits, so that seeds are
// lines of text. Beyond not crashing, it must hold that
//  - how the bytes were cut makes no difference,
//  - a refusal says why,
//  - a frame means the same each time it is read (buffers are kept from one object to the next).
#include <vector>

#include "client/informer/wire.h"
#include "client/rest/status.h"
#include "client/transport/stream_splitter.h"
#include "pkg/api/decode/decode_protobuf.h"
#include "test/fuzz/seed_text.h"

namespace {

using namespace dra;

constexpr size_t kMaxFrame = 64 * 1024;

std::string bytes_of(const uint8_t* data, size_t size) {
  std::string out;
  int high = -1;
  for (size_t i = 0; i < size; ++i) {
    const char c = static_cast<char>(data[i]);
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) continue;
    if (high >= 0) out += static_cast<char>(high << 4 | digit);
    high = high >= 0 ? -1 : digit;
  }
  return out;
}

// The frames, and whether all were within the limit.
std::pair<std::vector<std::string>, bool> frames_of(std::string_view bytes, size_t piece) {
  client::FrameSplitter splitter(kMaxFrame);
  std::vector<std::string> frames;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    const bool fits = splitter.feed(bytes.substr(at, piece), [&](std::string_view frame) {
      frames.emplace_back(frame);
      return true;
    });
    if (!fits) return {frames, false};
  }
  return {frames, true};
}

template <class T>
void decode(const std::string& bytes) {
  const auto object = api::decode_protobuf<T>(bytes);
  const auto again = api::decode_protobuf<T>(bytes);
  REQUIRE(object.has_value() == again.has_value());
  if (object) {
    REQUIRE(*object == *again);
  } else {
    REQUIRE(!object.error().message().empty());
  }
  const auto list = api::decode_protobuf_list<T>(bytes);
  if (!list) REQUIRE(!list.error().message().empty());
}

void take(const std::string& frame) {
  auto event = client::parse_watch_frame(frame);
  if (!event) {
    REQUIRE(!event.error().message().empty());
    return;
  }
  if (event->type == client::WatchEvent::Type::kError) {
    REQUIRE(!client::error_from_status(event->object, 0, "WATCH").message().empty());
    return;
  }
  if (event->type == client::WatchEvent::Type::kBookmark) return;
  decode<api::Pod>(event->object);
  decode<api::ResourceClaim>(event->object);
  decode<api::ResourceSlice>(event->object);
  decode<api::Node>(event->object);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 128 * 1024) return 0;
  const std::string bytes = bytes_of(data, size);
  const auto [frames, fits] = frames_of(bytes, bytes.size() + 1);
  for (const size_t piece : {size_t{1}, size_t{7}}) {
    const auto [cut, cut_fits] = frames_of(bytes, piece);
    REQUIRE(cut == frames && cut_fits == fits);
  }
  for (const std::string& frame : frames) take(frame);
  // Without the length, so that a change of size also reaches the decoders.
  take(bytes.substr(std::min<size_t>(bytes.size(), 4)));
  return 0;
}
