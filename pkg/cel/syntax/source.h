// Source: the text of an expression and the issues found in it, rendered as cel-go's common.Errors does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/cel/lib/errors.h"

namespace dra::cel {

struct Position {
  int line = -1;   // from 1; -1: none
  int column = 0;  // from 1, in code points
};

struct Issue {
  CompileCategory category;
  int32_t offset;  // bytes into the source; -1: no position
  std::string message;
};

Position position_of(std::string_view source, int32_t offset);

class Issues {
 public:
  void add(CompileCategory category, int32_t offset, std::string message);
  bool empty() const { return issues_.empty(); }
  bool full() const { return issues_.size() >= kMaxIssues; }
  // Sorted by position, in the order found where that is equal.
  std::vector<Issue> sorted() const;
  // "ERROR: <input>:1:3: message\n | source line\n | ..^", joined by newlines.
  static std::string render(const std::vector<Issue>& issues, std::string_view source);

 private:
  static constexpr size_t kMaxIssues = 100;  // as cel-go's parser
  std::vector<Issue> issues_;
};

}  // namespace dra::cel
