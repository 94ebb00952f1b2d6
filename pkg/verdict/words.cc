#include "pkg/verdict/words.h"

#include "pkg/api/quantity.h"
#include "pkg/base/utf8.h"

namespace dra::verdict {

namespace {

// C0 and C1 controls, line and paragraph separators, and characters that change the text direction.
bool is_unprintable(std::string_view text, size_t at, size_t length) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[at + i]); };
  if (length == 1) return byte(0) < 0x20 || byte(0) == 0x7F;
  if (length == 2) return byte(0) == 0xC2 && byte(1) < 0xA0;
  if (length != 3 || byte(0) != 0xE2) return false;
  return (byte(1) == 0x80 && (byte(2) >= 0xA8 || (byte(2) >= 0x8B && byte(2) <= 0x8F))) ||
         (byte(1) == 0x81 && byte(2) >= 0xA0 && byte(2) <= 0xAF);
}

// Most texts: short, of printable ASCII, with single spaces between words.
bool is_clean(std::string_view text, size_t limit) {
  if (text.size() > limit) return false;
  char before = ' ';
  for (const char c : text) {
    if (c < 0x20 || c >= 0x7F || (c == ' ' && before == ' ')) return false;
    before = c;
  }
  return text.empty() || before != ' ';
}

}  // namespace

std::string clean(std::string_view text, size_t limit) {
  if (is_clean(text, limit)) return std::string(text);
  std::string out;
  bool space = false;
  size_t at = 0;
  for (const size_t end = std::min(text.size(), 4 * limit + 16); at < end && out.size() <= limit;) {
    const size_t length = utf8_length(text, at);
    const bool blank = length == 1 && text[at] == ' ';
    if (blank || (length > 0 && is_unprintable(text, at, length))) {
      space = true;
      at += length;
      continue;
    }
    if (space && !out.empty()) out += ' ';
    space = false;
    if (length == 0)
      out += "\xEF\xBF\xBD";  // U+FFFD
    else
      out.append(text, at, length);
    at += length == 0 ? 1 : length;
  }
  if (out.size() <= limit && at >= text.size()) return out;
  if (limit < 3) return std::string(utf8_prefix(out, limit));
  return std::string(utf8_prefix(out, limit - 3)) + "...";
}

std::string grouped(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

std::string counted(uint64_t number, std::string_view noun) {
  return grouped(number) + " " + std::string(noun) + (number == 1 ? "" : "s");
}

std::string amount_text(std::string_view resource, int64_t amount) {
  if (resource == "cpu") return api::Quantity::from_scaled(amount, -3).to_string();
  const bool bytes = resource == "memory" || resource.ends_with("storage") || resource.starts_with("hugepages-");
  return api::Quantity::from_int64(amount, bytes ? api::Quantity::Format::kBinarySI : api::Quantity::Format::kDecimalSI)
      .to_string();
}

}  // namespace dra::verdict
