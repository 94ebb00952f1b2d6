#include "pkg/apiserver/model/printable.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iterator>

#include "pkg/base/utf8.h"

namespace dra::apiserver {

namespace {

struct CodePointRange {
  uint32_t first;
  uint32_t last;
};

// Controls, format characters, spaces other than ' ', surrogates, private use and noncharacters, sorted. (Go also knows
// unassigned code points.)
constexpr CodePointRange kUnprintable[] = {
    {0x00, 0x1f},       {0x7f, 0xa0},       {0xad, 0xad},       {0x600, 0x605},      {0x61c, 0x61c},
    {0x6dd, 0x6dd},     {0x70f, 0x70f},     {0x1680, 0x1680},   {0x180e, 0x180e},    {0x2000, 0x200f},
    {0x2028, 0x202f},   {0x205f, 0x206f},   {0x3000, 0x3000},   {0xd800, 0xf8ff},    {0xfdd0, 0xfdef},
    {0xfeff, 0xfeff},   {0xfff0, 0xfffb},   {0xfffe, 0xffff},   {0x110bd, 0x110bd},  {0x1bca0, 0x1bca3},
    {0x1d173, 0x1d17a}, {0x1fffe, 0x1ffff}, {0xe0000, 0xe00ff}, {0xf0000, 0x10ffff},
};

bool is_printable(uint32_t c) {
  const auto* range = std::lower_bound(std::begin(kUnprintable), std::end(kUnprintable), c,
                                       [](const CodePointRange& r, uint32_t value) { return r.last < value; });
  return range == std::end(kUnprintable) || c < range->first;
}

uint32_t code_point(std::string_view bytes) {
  auto c = static_cast<unsigned char>(bytes[0]);
  if (bytes.size() == 1) return c;
  uint32_t out = c & (0x7fU >> bytes.size());
  for (const char tail : bytes.substr(1)) out = out << 6 | (static_cast<unsigned char>(tail) & 0x3fU);
  return out;
}

}  // namespace

std::string unprintable_text(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const size_t n = std::max<size_t>(utf8_length(text, i), 1);
    const uint32_t c = code_point(text.substr(i, n));
    if (!is_printable(c)) {
      char shown[64];
      std::snprintf(shown, sizeof shown, "invalid character U+%04X (at position %zu)", static_cast<unsigned>(c), i);
      return shown;
    }
    i += n;
  }
  return "";
}

std::string manager_of_user_agent(std::string_view agent) {
  const std::string text = valid_utf8(agent.substr(0, agent.find('/')));
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const std::string_view character = std::string_view(text).substr(i, utf8_length(text, i));
    i += character.size();
    if (!is_printable(code_point(character))) continue;
    if (out.size() + character.size() > kMaxManagerBytes) break;
    out += character;
  }
  return out.empty() ? "unknown" : out;
}

}  // namespace dra::apiserver
