// Any bytes as the body of a watch, in pieces as a network cuts them. Beyond not crashing, it must hold that
//  - how the bytes were cut makes no difference,
//  - an accepted event has an identifiable object, or none of its fields are used,
//  - a refusal says why.
#include <vector>

#include "client/informer/wire.h"
#include "client/rest/status.h"
#include "client/transport/line_splitter.h"
#include "pkg/api/decode/decode.h"
#include "test/fuzz/seed_text.h"

namespace {

using namespace dra;

constexpr size_t kMaxLine = 4096;

// The lines, and whether all were within the limit.
std::pair<std::vector<std::string>, bool> lines_of(std::string_view text, size_t piece) {
  client::LineSplitter splitter(kMaxLine);
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size(); at += piece) {
    const bool fits = splitter.feed(text.substr(at, piece), [&](std::string_view line) {
      lines.emplace_back(line);
      return true;
    });
    if (!fits) return {lines, false};
  }
  return {lines, true};
}

template <class T>
void decode(const std::string& json) {
  auto object = api::decode<T>(json);
  if (!object) REQUIRE(!object.error().message().empty());
}

void take(const std::string& line) {
  auto event = client::parse_watch_line(line);
  if (!event) {
    REQUIRE(!event.error().message().empty());
    return;
  }
  if (event->type == client::WatchEvent::Type::kError) {
    REQUIRE(!client::error_from_status(event->object, 0, "WATCH").message().empty());
    return;
  }
  if (event->type == client::WatchEvent::Type::kBookmark) return;
  if (auto entry = client::identify(event->object)) REQUIRE(!entry->name().empty());
  decode<api::Pod>(event->object);
  decode<api::ResourceClaim>(event->object);
  decode<api::ResourceSlice>(event->object);
  decode<api::Node>(event->object);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 64 * 1024) return 0;
  const std::string text = fuzz::seed_text(data, size);
  const auto [lines, fits] = lines_of(text, text.size() + 1);
  for (const size_t piece : {size_t{1}, size_t{7}}) {
    const auto [cut, cut_fits] = lines_of(text, piece);
    if (fits && cut_fits) REQUIRE(cut == lines);
  }
  for (const std::string& line : lines) take(line);
  return 0;
}
