#include "pkg/cel/lib/text.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "pkg/base/utf8.h"

namespace dra::cel::lib {

namespace {

tl::unexpected<Failure> out_of_range(int64_t index) {
  return failure(RuntimeCategory::kIndex, "index out of range: " + std::to_string(index));
}

tl::unexpected<Failure> too_long(const Budget& budget) {
  return failure(RuntimeCategory::kSizeLimit, "string would be longer than " + std::to_string(budget.bytes) + " bytes");
}

tl::unexpected<Failure> too_many() {
  return failure(RuntimeCategory::kSizeLimit, "operation cancelled: a text falls into too many pieces");
}

// Finding and copying one piece.
constexpr uint64_t kStepsOfReplacing = 6;
constexpr uint64_t kStepsOfSplitting = 4;

size_t step_bytes(std::string_view text, size_t at) {
  return static_cast<unsigned char>(text[at]) < 0x80 ? 1 : std::max<size_t>(utf8_length(text, at), 1);
}

int64_t count_points(std::string_view text) {
  int64_t count = 0;
  for (size_t i = 0; i < text.size(); i += step_bytes(text, i)) ++count;
  return count;
}

// The byte position of a code point, walking on from a known pair; npos when the text is shorter.
struct Cursor {
  std::string_view text;
  size_t byte = 0;
  int64_t point = 0;

  bool advance_to(int64_t target) {
    while (point < target && byte < text.size()) {
      byte += step_bytes(text, byte);
      ++point;
    }
    return point == target;
  }
};

// Where `needle` ends for the last time within `text`, by Knuth, Morris and Pratt: linear, whatever the texts are.
size_t rfind_bytes(std::string_view text, std::string_view needle) {
  if (needle.size() > text.size()) return std::string_view::npos;
  const size_t n = needle.size();
  const auto back = [&](size_t i) { return needle[n - 1 - i]; };
  std::vector<uint32_t> fallback(n, 0);
  for (size_t i = 1, k = 0; i < n; ++i) {
    while (k > 0 && back(i) != back(k)) k = fallback[k - 1];
    if (back(i) == back(k)) ++k;
    fallback[i] = static_cast<uint32_t>(k);
  }
  for (size_t i = text.size(), k = 0; i-- > 0;) {
    while (k > 0 && text[i] != back(k)) k = fallback[k - 1];
    if (text[i] == back(k)) ++k;
    if (k == n) return i;
  }
  return std::string_view::npos;
}

// Unicode white space, as Go's unicode.IsSpace.
bool is_space(std::string_view point) {
  if (point.size() == 1) return point[0] == ' ' || (point[0] >= '\t' && point[0] <= '\r');
  static constexpr std::string_view kSpaces[] = {
      "\xC2\x85",     "\xC2\xA0",     "\xE1\x9A\x80", "\xE2\x80\x80", "\xE2\x80\x81", "\xE2\x80\x82", "\xE2\x80\x83",
      "\xE2\x80\x84", "\xE2\x80\x85", "\xE2\x80\x86", "\xE2\x80\x87", "\xE2\x80\x88", "\xE2\x80\x89", "\xE2\x80\x8A",
      "\xE2\x80\xA8", "\xE2\x80\xA9", "\xE2\x80\xAF", "\xE2\x81\x9F", "\xE3\x80\x80"};
  return std::find(std::begin(kSpaces), std::end(kSpaces), point) != std::end(kSpaces);
}

std::string_view last_point(std::string_view text) {
  size_t at = text.size() - 1;
  while (at > 0 && text.size() - at < 4 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return step_bytes(text, at) == text.size() - at ? text.substr(at) : text.substr(text.size() - 1);
}

// Memory for a text of exactly `size` bytes.
char* reserve(Arena& arena, size_t size) {
  return static_cast<char*>(arena.allocate(std::max<size_t>(size, 1), 1));
}

char* append_to(char* out, std::string_view text) {
  if (!text.empty()) std::memcpy(out, text.data(), text.size());
  return out + text.size();
}

// Puts `to` in front of the first `count` code points, and at the end if there are fewer.
Outcome<std::string_view> insert_between(Arena& arena, Budget& budget, std::string_view text, std::string_view to,
                                         int64_t count) {
  const int64_t places = std::min(count, count_points(text) + 1);
  if (!to.empty() && static_cast<size_t>(places) > (budget.bytes - std::min(budget.bytes, text.size())) / to.size())
    return too_long(budget);
  if (!budget.take(kStepsOfReplacing * static_cast<uint64_t>(places))) return too_many();
  const size_t size = text.size() + static_cast<size_t>(places) * to.size();
  char* const begin = reserve(arena, size);
  char* out = begin;
  size_t at = 0;
  for (int64_t i = 0; i < places; ++i) {
    out = append_to(out, to);
    if (at == text.size()) break;
    const size_t step = step_bytes(text, at);
    out = append_to(out, text.substr(at, step));
    at += step;
  }
  append_to(out, text.substr(at));
  return std::string_view(begin, size);
}

template <typename Map>
std::string_view map_bytes(Arena& arena, std::string_view text, Map map) {
  char* const begin = reserve(arena, text.size());
  std::transform(text.begin(), text.end(), begin, map);
  return {begin, text.size()};
}

// cel-go 0.26 finds an empty needle at any offset; its successor first checks that the offset is within the text.
bool answers_empty_needle(std::string_view text, int64_t from, OffsetRules rules) {
  return rules == OffsetRules::k136 || (from >= 0 && from <= count_points(text));
}

}  // namespace

size_t find_bytes(std::string_view text, std::string_view needle, size_t from) {
  if (from > text.size()) return std::string_view::npos;
  if (needle.empty()) return from;
  // memmem() must not be given an empty text's null pointer.
  if (text.size() - from < needle.size()) return std::string_view::npos;
  const void* found = memmem(text.data() + from, text.size() - from, needle.data(), needle.size());
  return found == nullptr ? std::string_view::npos : static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

Outcome<std::string_view> char_at(std::string_view text, int64_t position) {
  Cursor cursor{text};
  if (position < 0 || !cursor.advance_to(position)) return out_of_range(position);
  if (cursor.byte == text.size()) return std::string_view{};
  return text.substr(cursor.byte, step_bytes(text, cursor.byte));
}

Outcome<std::string_view> substring(std::string_view text, int64_t from) {
  Cursor cursor{text};
  if (from < 0 || !cursor.advance_to(from)) return out_of_range(from);
  return text.substr(cursor.byte);
}

Outcome<std::string_view> substring(std::string_view text, int64_t from, int64_t to) {
  if (from > to)
    return failure(RuntimeCategory::kIndex,
                   "invalid substring range. start: " + std::to_string(from) + ", end: " + std::to_string(to));
  Cursor cursor{text};
  if (from < 0 || !cursor.advance_to(from)) return out_of_range(from);
  const size_t begin = cursor.byte;
  if (!cursor.advance_to(to)) return out_of_range(to);
  return text.substr(begin, cursor.byte - begin);
}

int64_t index_of(std::string_view text, std::string_view needle) {
  if (needle.empty()) return 0;
  const size_t found = find_bytes(text, needle);
  return found == std::string_view::npos ? -1 : count_points(text.substr(0, found));
}

Outcome<int64_t> index_of(std::string_view text, std::string_view needle, int64_t from, OffsetRules rules) {
  if (needle.empty() && answers_empty_needle(text, from, rules)) return from;
  if (from < 0) return out_of_range(from);
  Cursor cursor{text};
  if (needle.empty() || !cursor.advance_to(from)) return -1;
  const size_t found = find_bytes(text, needle, cursor.byte);
  if (found == std::string_view::npos) return -1;
  return from + count_points(text.substr(cursor.byte, found - cursor.byte));
}

int64_t last_index_of(std::string_view text, std::string_view needle) {
  if (needle.empty()) return count_points(text);
  const size_t found = rfind_bytes(text, needle);
  return found == std::string_view::npos ? -1 : count_points(text.substr(0, found));
}

Outcome<int64_t> last_index_of(std::string_view text, std::string_view needle, int64_t from, OffsetRules rules) {
  if (needle.empty() && answers_empty_needle(text, from, rules)) return from;
  if (from < 0) return out_of_range(from);
  Cursor cursor{text};
  if (needle.empty() || !cursor.advance_to(from) || cursor.byte == text.size()) return -1;
  const size_t end = std::min(text.size(), cursor.byte + needle.size());
  const size_t found = rfind_bytes(text.substr(0, end), needle);
  return found == std::string_view::npos ? -1 : count_points(text.substr(0, found));
}

std::string_view trim(std::string_view text) {
  while (!text.empty()) {
    const size_t step = step_bytes(text, 0);
    if (!is_space(text.substr(0, step))) break;
    text.remove_prefix(step);
  }
  while (!text.empty()) {
    const std::string_view last = last_point(text);
    if (!is_space(last)) break;
    text.remove_suffix(last.size());
  }
  return text;
}

std::string_view lower_ascii(Arena& arena, std::string_view text) {
  return map_bytes(arena, text, [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
}

std::string_view upper_ascii(Arena& arena, std::string_view text) {
  return map_bytes(arena, text, [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
}

Outcome<std::string_view> replace(Arena& arena, Budget& budget, std::string_view text, std::string_view from,
                                  std::string_view to, int64_t count) {
  if (count == 0 || from == to) return text;
  if (count < 0) count = INT64_MAX;
  if (from.empty()) return insert_between(arena, budget, text, to, count);
  size_t size = text.size();
  int64_t found = 0;
  for (size_t at = find_bytes(text, from); at != std::string_view::npos && found < count;
       at = find_bytes(text, from, at + from.size())) {
    ++found;
    size += to.size() - from.size();  // wraps where `to` is shorter; the sum does not
    if (size > budget.bytes && to.size() > from.size()) return too_long(budget);
    if (!budget.take(kStepsOfReplacing)) return too_many();
  }
  if (found == 0) return text;
  if (size > budget.bytes) return too_long(budget);
  char* const begin = reserve(arena, size);
  char* out = begin;
  size_t done = 0;
  for (int64_t i = 0; i < found; ++i) {
    const size_t at = find_bytes(text, from, done);
    out = append_to(append_to(out, text.substr(done, at - done)), to);
    done = at + from.size();
  }
  append_to(out, text.substr(done));
  return std::string_view(begin, size);
}

Outcome<std::vector<std::string_view>> split(Budget& budget, std::string_view text, std::string_view separator,
                                             int64_t count) {
  std::vector<std::string_view> parts;
  if (count == 0) return parts;
  if (count < 0) count = INT64_MAX;
  const auto more = [&] { return static_cast<int64_t>(parts.size()) + 1 < count; };
  if (separator.empty()) {
    while (!text.empty() && more()) {
      if (!budget.take(kStepsOfSplitting)) return too_many();
      const size_t step = step_bytes(text, 0);
      parts.push_back(text.substr(0, step));
      text.remove_prefix(step);
    }
    if (!text.empty()) parts.push_back(text);
    return parts;
  }
  while (more()) {
    if (!budget.take(kStepsOfSplitting)) return too_many();
    const size_t at = find_bytes(text, separator);
    if (at == std::string_view::npos) break;
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + separator.size());
  }
  parts.push_back(text);
  return parts;
}

Outcome<std::string_view> join(Arena& arena, const Budget& budget, const std::vector<std::string_view>& parts,
                               std::string_view separator) {
  size_t size = 0;
  for (const std::string_view part : parts) {
    size += part.size() + separator.size();
    if (size - separator.size() > budget.bytes) return too_long(budget);
  }
  if (parts.empty()) return std::string_view{};
  size -= separator.size();
  char* const begin = reserve(arena, size);
  char* out = append_to(begin, parts.front());
  for (size_t i = 1; i < parts.size(); ++i) out = append_to(append_to(out, separator), parts[i]);
  return std::string_view(begin, size);
}

Outcome<std::string_view> quote(Arena& arena, const Budget& budget, std::string_view text) {
  static constexpr std::string_view kSpecial = "\a\b\f\n\r\t\v\\\"";
  static constexpr std::string_view kLetters = "abfnrtv\\\"";
  std::string out = "\"";
  for (size_t i = 0; i < text.size();) {
    const size_t special = kSpecial.find(text[i]);
    const size_t length = utf8_length(text, i);
    if (special != std::string_view::npos) {
      out += '\\';
      out += kLetters[special];
    } else if (length == 0) {
      out += "\xEF\xBF\xBD";
    } else {
      out += text.substr(i, length);
    }
    i += std::max<size_t>(length, 1);
  }
  out += '"';
  if (out.size() > budget.bytes) return too_long(budget);
  return arena.copy(out);
}

}  // namespace dra::cel::lib
