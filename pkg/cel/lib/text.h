// The string functions: cel-go ext/strings.go, version 2. Positions are code points; a byte that is not valid UTF-8
// counts as one.
//
// Results that are parts of the input are views of it; others are built in the arena and never larger than the budget's
// bytes (category kSizeLimit). Each piece into which a text is split takes steps of the budget. Pure and safe from any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/cel/lib/arena.h"
#include "pkg/cel/lib/outcome.h"

namespace dra::cel::lib {

// The byte position of `needle` at or behind byte `from`, or npos. Linear in the length of the text, unlike
// std::string_view::find.
size_t find_bytes(std::string_view text, std::string_view needle, size_t from = 0);

Outcome<std::string_view> char_at(std::string_view text, int64_t position);
Outcome<std::string_view> substring(std::string_view text, int64_t from);
Outcome<std::string_view> substring(std::string_view text, int64_t from, int64_t to);

// The rules for offsets outside the text changed between cel-go 0.26 (Kubernetes 1.36) and its successor (1.37).
enum class OffsetRules : uint8_t { k136, k137 };
int64_t index_of(std::string_view text, std::string_view needle);
Outcome<int64_t> index_of(std::string_view text, std::string_view needle, int64_t from, OffsetRules rules);
int64_t last_index_of(std::string_view text, std::string_view needle);
Outcome<int64_t> last_index_of(std::string_view text, std::string_view needle, int64_t from, OffsetRules rules);

std::string_view trim(std::string_view text);
std::string_view lower_ascii(Arena& arena, std::string_view text);
std::string_view upper_ascii(Arena& arena, std::string_view text);
// count < 0: all.
Outcome<std::string_view> replace(Arena& arena, Budget& budget, std::string_view text, std::string_view from,
                                  std::string_view to, int64_t count = -1);
// count < 0: all.
Outcome<std::vector<std::string_view>> split(Budget& budget, std::string_view text, std::string_view separator,
                                             int64_t count = -1);
Outcome<std::string_view> join(Arena& arena, const Budget& budget, const std::vector<std::string_view>& parts,
                               std::string_view separator);
Outcome<std::string_view> quote(Arena& arena, const Budget& budget, std::string_view text);

}  // namespace dra::cel::lib
