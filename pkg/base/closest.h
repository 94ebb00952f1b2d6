// closest(): the known name that a misspelt name most likely means.
//
//   if (const auto meant = closest("--scheduilng", flags)) text += ": did you mean " + *meant + "?";
//
// Pure; safe from any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace dra {

// Insertions, deletions and replacements of letters (Levenshtein), ignoring case.
size_t edit_distance(std::string_view a, std::string_view b);

// The first name with the smallest distance: at most two edits, and at most half the length of `wanted` (but at least
// one). Names longer than 128 bytes never match.
std::optional<std::string> closest(std::string_view wanted, std::span<const std::string> known);

}  // namespace dra
