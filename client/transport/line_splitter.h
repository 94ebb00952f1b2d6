// LineSplitter: takes chunks of bytes, returns lines. Pure; one per stream.
#pragma once

#include <string>
#include <string_view>

namespace dra::client {

class LineSplitter {
 public:
  explicit LineSplitter(size_t max_line) : max_line_(max_line) {}

  // Calls f(line) for each complete line; f may return false to stop early (the rest is dropped). Returns false if a
  // line is longer than the bound; feed nothing after that.
  template <class F>
  bool feed(std::string_view bytes, F&& f) {
    while (!bytes.empty()) {
      size_t newline = bytes.find('\n');
      if (newline == std::string_view::npos) {
        if (rest_.size() + bytes.size() > max_line_) return false;
        rest_.append(bytes);
        return true;
      }
      std::string_view piece = bytes.substr(0, newline);
      bytes.remove_prefix(newline + 1);
      if (rest_.size() + piece.size() > max_line_) return false;
      if (rest_.empty()) {
        if (!piece.empty() && !f(piece)) return true;
        continue;
      }
      rest_.append(piece);
      std::string line = std::move(rest_);
      rest_.clear();
      if (!f(std::string_view(line))) return true;
    }
    return true;
  }

  // The bytes after the last newline: a last line without one, or half of a truncated line.
  std::string_view rest() const { return rest_; }

 private:
  size_t max_line_;
  std::string rest_;
};

}  // namespace dra::client
