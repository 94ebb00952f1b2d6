// An answer of a verb as rows that can be chosen, and the question that each row leads to. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pkg/inspect/answer/answer.h"

namespace dra::screen {

// A verb with its words, as on a command line.
struct Question {
  std::string verb;
  std::vector<std::string> words{};
  std::string ns{};       // of -n; empty: none
  bool selected = false;  // with the labels of -l
  bool operator==(const Question&) const = default;
};
// "top nodes", "explain pod/train-0 -n ml".
std::string title_of(const Question& question);

struct Row {
  std::vector<std::string> cells;  // fit for a terminal, one line each, 4 KiB at most
  std::vector<inspect::Tone> tones;
  std::string key;  // the same in a later answer of the same question
  std::optional<Question> who, explain;
};

struct Page {
  std::vector<std::string> before, after, notes;  // lines, fit for a terminal
  std::vector<std::string> heads, keys;           // of the columns that are shown
  std::vector<size_t> widths;                     // of the columns, at most kWidestColumn
  std::vector<bool> numbers;                      // set to the right
  std::vector<Row> rows;
};
constexpr size_t kWidestColumn = 100;

// How rows are ordered: by a column (its key), or as the verb orders them if that is empty.
struct Order {
  std::string column{};
  bool reversed = false;
};

// Of the answer's first table, with the columns of -o wide if `wide`. The words of a filter must each be in a row, in
// any case.
Page page_of(const inspect::Answer& answer, const Question& question, const Order& order, const std::string& filter,
             bool wide);

}  // namespace dra::screen
