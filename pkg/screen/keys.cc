#include "pkg/screen/keys.h"

#include <optional>
#include <utility>

#include "pkg/base/utf8.h"

namespace dra::screen {
namespace {

constexpr size_t kMaxKept = 32;

struct Found {
  Key key;
  size_t length = 0;  // 0: more bytes are needed
};

KeyCode final_byte(char last) {
  switch (last) {
    case 'A':
      return KeyCode::kUp;
    case 'B':
      return KeyCode::kDown;
    case 'C':
      return KeyCode::kRight;
    case 'D':
      return KeyCode::kLeft;
    case 'H':
      return KeyCode::kHome;
    case 'F':
      return KeyCode::kEnd;
    default:
      return KeyCode::kUnknown;
  }
}

KeyCode numbered(std::string_view number) {
  if (number == "1" || number == "7") return KeyCode::kHome;
  if (number == "4" || number == "8") return KeyCode::kEnd;
  if (number == "5") return KeyCode::kPageUp;
  if (number == "6") return KeyCode::kPageDown;
  return KeyCode::kUnknown;
}

// ESC [ parameters final (ECMA-48), or ESC O final (application mode of cursor keys).
Found after_escape(std::string_view bytes) {
  if (bytes.size() == 1) return {};
  if (bytes[1] == 'O') return bytes.size() < 3 ? Found{} : Found{{final_byte(bytes[2])}, 3};
  if (bytes[1] != '[') return {{KeyCode::kEscape}, 1};
  for (size_t at = 2; at < bytes.size(); ++at) {
    const char c = bytes[at];
    if (c >= 0x40 && c <= 0x7e) {
      const std::string_view parameters = bytes.substr(2, at - 2);
      return {{c == '~' ? numbered(parameters.substr(0, parameters.find(';'))) : final_byte(c)}, at + 1};
    }
    // Not a sequence after all: what there is of it means nothing.
    if (c < 0x20 || c > 0x3f) return {{KeyCode::kUnknown}, at};
  }
  return bytes.size() > kMaxKept ? Found{{KeyCode::kUnknown}, bytes.size()} : Found{};
}

bool may_grow(std::string_view bytes) {
  const auto first = static_cast<unsigned char>(bytes[0]);
  const size_t wanted = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 1;
  if (bytes.size() >= wanted || first > 0xf4) return false;
  for (size_t at = 1; at < bytes.size(); ++at)
    if ((static_cast<unsigned char>(bytes[at]) & 0xc0) != 0x80) return false;
  return true;
}

Found first_key(std::string_view bytes) {
  const char c = bytes[0];
  switch (c) {
    case 0x1b:
      return after_escape(bytes);
    case '\r':
    case '\n':
      return {{KeyCode::kEnter}, 1};
    case '\t':
      return {{KeyCode::kTab}, 1};
    case 0x7f:
    case 0x08:
      return {{KeyCode::kBackspace}, 1};
    default:
      break;
  }
  const auto byte = static_cast<unsigned char>(c);  // char has a sign on some machines
  if (byte > 0 && byte < 0x1b) return {{KeyCode::kControl, std::string(1, static_cast<char>('a' + byte - 1))}, 1};
  if (byte < 0x20) return {{KeyCode::kUnknown}, 1};
  const size_t length = utf8_length(bytes, 0);
  if (length > 0) return {{KeyCode::kText, std::string(bytes.substr(0, length))}, length};
  if (may_grow(bytes)) return {};
  return {{KeyCode::kUnknown}, 1};
}

}  // namespace

std::vector<Key> KeyReader::feed(std::string_view bytes) {
  kept_ += bytes;
  std::vector<Key> keys;
  size_t at = 0;
  while (at < kept_.size()) {
    Found found = first_key(std::string_view(kept_).substr(at));
    if (found.length == 0) break;
    keys.push_back(std::move(found.key));
    at += found.length;
  }
  kept_.erase(0, at);
  return keys;
}

std::vector<Key> KeyReader::rest() {
  if (kept_.empty()) return {};
  std::vector<Key> keys{{kept_[0] == 0x1b ? KeyCode::kEscape : KeyCode::kUnknown}};
  const std::string after = kept_.substr(1);
  kept_.clear();
  // "ESC [" without an end was Escape and "[".
  for (Key& key : feed(after)) keys.push_back(std::move(key));
  if (!kept_.empty()) kept_.clear();
  return keys;
}

}  // namespace dra::screen
