// closest(): of known names the one that a misspelt name most likely means.
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

// Letters put in, left out or replaced (Levenshtein); letters of both cases are alike.
size_t edit_distance(std::string_view a, std::string_view b);

// The first of those with the least distance, at most two letters and half of the name; names of more than 128 bytes
// are like no other.
std::optional<std::string> closest(std::string_view wanted, std::span<const std::string> known);

}  // namespace dra
