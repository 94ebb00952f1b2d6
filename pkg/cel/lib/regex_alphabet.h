// Patterns over a small alphabet. RE2 compiles a class of Unicode to an automaton over the bytes of UTF-8, some 1,300
// instructions for [\p{L}\p{N}] and as many again for each repetition; Go's needs one instruction. So patterns with
// such classes are rewritten: a class beyond ASCII becomes a bit, and a code point beyond ASCII becomes the byte 0x80
// with the bits of the classes that it is in. What comes out is a pattern over bytes, and a translation of texts.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace re2 {
class RE2;
}

namespace dra::cel::lib {

// Immutable; safe from many threads.
class ReducedAlphabet {
 public:
  // Bytes 0x80 to 0xBF: RE2 sees no upper and lower case in them.
  static constexpr size_t kMaxClasses = 6;

  // None if the pattern needs more classes, has a part that is not understood here, or has a malformed class: such
  // patterns are left to RE2. `pattern` is valid UTF-8, with named groups as (?P<name>...).
  static std::optional<ReducedAlphabet> reduce(std::string_view pattern);

  ReducedAlphabet(ReducedAlphabet&&) noexcept;
  ReducedAlphabet& operator=(ReducedAlphabet&&) noexcept;
  ~ReducedAlphabet();

  // The pattern over bytes, to be compiled as Latin-1.
  const std::string& pattern() const { return pattern_; }
  size_t classes() const { return classes_.size(); }
  // Instructions of the classes together: what making them took.
  size_t size() const;

  // One byte for each code point; each byte that is not valid UTF-8 counts as U+FFFD, as in Go. `offsets`, unless null,
  // receives where each code point begins in the text, and the end of the text.
  std::string encode(std::string_view text, std::vector<uint32_t>* offsets) const;

 private:
  friend class AlphabetReader;
  ReducedAlphabet();
  char letter(std::string_view code_point) const;

  std::string pattern_;
  std::vector<std::unique_ptr<const re2::RE2>> classes_;  // each matches one code point
};

}  // namespace dra::cel::lib
