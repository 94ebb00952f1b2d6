// Regular expressions of matches(), find() and findAll(): the dialect of Go's regexp package (RE2 syntax) on top of
// RE2. What Go refuses and RE2 takes is refused here: \C, and repetitions that nest to more than 1000.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pkg/cel/lib/outcome.h"

namespace dra::cel::lib {

// Immutable; matching is safe from many threads and takes time linear in the text (and in the automaton).
class Regex {
 public:
  // Longer patterns are refused ("expression too large"), and so are those whose automaton would need more
  // instructions: upstream takes larger ones, and seconds to compile them.
  static constexpr size_t kMaxPattern = 10 * 1024;
  static constexpr size_t kMaxProgram = 12'000;

  // About how many instructions a pattern makes, without compiling it; saturates. Any bytes are taken.
  static size_t weight(std::string_view pattern);
  // The same if the pattern can be compiled over a reduced alphabet (regex_alphabet.h), as the heavy ones usually can.
  static size_t reduced_weight(std::string_view pattern);

  // The failure's text is "error parsing regexp: ...", as Go's.
  static Outcome<std::shared_ptr<const Regex>> compile(std::string_view pattern);
  ~Regex();
  Regex(const Regex&) = delete;
  Regex& operator=(const Regex&) = delete;

  // Instructions of the compiled automaton: what compiling and keeping it costs.
  size_t size() const;

  // Unanchored.
  bool matches(std::string_view text) const;
  // The leftmost match, or "". A view of the text.
  std::string_view find(std::string_view text) const;
  // Matches that do not overlap; empty ones not directly behind another match. count < 0: all. Takes steps() of the
  // rest of the text for each of them, and fails (kSizeLimit) where there are not enough.
  Outcome<std::vector<std::string_view>> find_all(std::string_view text, int64_t count, Budget& budget) const;
  Outcome<std::vector<std::string_view>> find_all(std::string_view text, int64_t count = -1) const {
    Budget unlimited;
    return find_all(text, count, unlimited);
  }
  // What one search of a text of this many bytes takes at most, in steps of evaluation: RE2 runs the automaton's states
  // side by side where its cache does not suffice, and there can be as many as instructions, or bytes read.
  uint64_t steps(size_t bytes) const;

 private:
  struct Impl;
  explicit Regex(std::unique_ptr<const Impl> impl);
  static std::shared_ptr<const Regex> compile_reduced(std::string_view pattern);
  std::unique_ptr<const Impl> impl_;
};

// The constant patterns of one expression: equal ones are compiled once, and all together are held to
// Regex::kMaxProgram instructions. Not safe from several threads.
class RegexPool {
 public:
  Outcome<std::shared_ptr<const Regex>> compile(std::string_view pattern);
  // The limit was reached and a pattern refused for it, which may be well-formed.
  bool exhausted() const { return exhausted_; }

 private:
  std::vector<std::pair<std::string, std::shared_ptr<const Regex>>> compiled_;
  size_t spent_ = 0;
  bool exhausted_ = false;
};

}  // namespace dra::cel::lib
