// Keys from the bytes that a terminal sends.
//
//   for (const Key& key : reader.feed(bytes)) ...;
//   if (reader.waits()) -- ask again with rest() after 50 ms without bytes: a lone Escape is a key, too
//
// Not thread-safe. Keeps at most 32 bytes of an unfinished sequence; longer ones are dropped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dra::screen {

enum class KeyCode : uint8_t {
  kText,     // a character; Key::text has it
  kControl,  // Ctrl with a letter; Key::text has the letter in lower case
  kEnter,
  kEscape,
  kBackspace,
  kTab,
  kUp,
  kDown,
  kLeft,
  kRight,
  kPageUp,
  kPageDown,
  kHome,
  kEnd,
  kUnknown,  // a sequence that means nothing here
};

struct Key {
  KeyCode code = KeyCode::kUnknown;
  std::string text{};
  bool operator==(const Key&) const = default;
};

class KeyReader {
 public:
  std::vector<Key> feed(std::string_view bytes);
  // Whether bytes are kept that may be the beginning of a key.
  bool waits() const { return !kept_.empty(); }
  // Nothing follows: what is kept is all of it.
  std::vector<Key> rest();

 private:
  std::string kept_;
};

}  // namespace dra::screen
