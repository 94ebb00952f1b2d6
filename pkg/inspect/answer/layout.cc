#include "pkg/inspect/answer/layout.h"

#include <algorithm>

#include "pkg/base/strings.h"
#include "pkg/base/terminal_text.h"

namespace dra::inspect {
namespace {

constexpr size_t kGap = 3;             // blanks between columns, as in kubectl
constexpr size_t kNarrowGap = 2;       // if space is scarce
constexpr size_t kBesideAtLeast = 16;  // minimum for a long cell beside its head
constexpr size_t kReadable = 12;       // minimum width of a column, unless its cells are narrower

const char* colour_of(Tone tone) {
  switch (tone) {
    case Tone::kGood:
      return "\x1b[32m";
    case Tone::kWarn:
      return "\x1b[33m";
    case Tone::kBad:
      return "\x1b[31m";
    case Tone::kDim:
      return "\x1b[2m";
    case Tone::kPlain:
      break;
  }
  return "";
}

// The pieces between which a cell may be broken: after blanks and commas. Leading blanks belong to the first piece.
std::vector<std::string> pieces_of(const std::string& text) {
  std::vector<std::string> pieces;
  std::string piece;
  bool word = false;
  for (size_t i = 0; i < text.size(); ++i) {
    piece += text[i];
    word = word || text[i] != ' ';
    const bool ends = word && (text[i] == ' ' || text[i] == ',');
    if (!ends) continue;
    pieces.push_back(std::move(piece));
    piece.clear();
    word = false;
  }
  if (!piece.empty()) pieces.push_back(std::move(piece));
  return pieces;
}

std::string without_end_blanks(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

size_t longest_piece(const std::string& text) {
  size_t longest = 0;
  for (const std::string& piece : pieces_of(text)) longest = std::max(longest, columns_of(without_end_blanks(piece)));
  return longest;
}

// A piece wider than the width gets a line of its own.
std::vector<std::string> cell_lines(const std::string& text, size_t width) {
  std::vector<std::string> lines;
  std::string line;
  for (const std::string& piece : pieces_of(text)) {
    if (!line.empty() && columns_of(line) + columns_of(without_end_blanks(piece)) > width) {
      lines.push_back(without_end_blanks(std::move(line)));
      line.clear();
    }
    line += piece;
  }
  lines.push_back(without_end_blanks(std::move(line)));
  return lines;
}

// The visible part of a table, as text.
struct Grid {
  std::vector<std::string> heads;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::vector<Tone>> tones;
  bool headers = true, colour = false;
};

Grid grid_of(const Table& table, const RenderOptions& options) {
  Grid grid;
  grid.headers = options.headers && !table.rows.empty();
  grid.colour = options.colour;
  std::vector<size_t> shown;
  for (size_t i = 0; i < table.columns.size(); ++i)
    if (!table.columns[i].wide || options.format == Format::kWide) shown.push_back(i);
  for (const size_t i : shown) grid.heads.push_back(table.columns[i].head);
  for (const Row& row : table.rows) {
    if (row.aside && options.format != Format::kWide) continue;
    auto& texts = grid.rows.emplace_back();
    auto& tones = grid.tones.emplace_back();
    for (const size_t i : shown) {
      texts.push_back(printable(row.cells[i].text));
      tones.push_back(row.cells[i].tone);
    }
  }
  return grid;
}

// The maximum of `measure` over a column's head and cells.
template <class Measure>
std::vector<size_t> widths_of(const Grid& grid, Measure measure) {
  std::vector<size_t> widths;
  for (const std::string& head : grid.heads) widths.push_back(grid.headers ? measure(head) : 0);
  for (const auto& row : grid.rows)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], measure(row[i]));
  return widths;
}

size_t total_of(const std::vector<size_t>& widths, size_t gap) {
  size_t total = widths.empty() ? 0 : gap * (widths.size() - 1);
  for (const size_t width : widths) total += width;
  return total;
}

// Widths that sum to the page's, none below what is readable; empty: the page is too narrow for columns.
std::vector<size_t> fitted(const Grid& grid, const std::vector<size_t>& natural, size_t width) {
  std::vector<size_t> widths = widths_of(grid, longest_piece);
  for (size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], std::min(natural[i], kReadable));
  size_t total = total_of(widths, kNarrowGap);
  if (total > width) return {};
  for (bool grew = true; grew && total < width;) {
    grew = false;
    for (size_t i = 0; i < widths.size() && total < width; ++i)
      if (widths[i] < natural[i]) {
        ++widths[i];
        ++total;
        grew = true;
      }
  }
  return widths;
}

void append_cells(std::string& out, const std::vector<std::string>& texts, const std::vector<Tone>* tones,
                  const std::vector<size_t>& widths, size_t gap) {
  std::vector<std::vector<std::string>> lines;
  size_t height = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    lines.push_back(columns_of(texts[i]) <= widths[i] ? std::vector{texts[i]} : cell_lines(texts[i], widths[i]));
    height = std::max(height, lines.back().size());
  }
  for (size_t at = 0; at < height; ++at) {
    std::string line;
    for (size_t i = 0; i < texts.size(); ++i) {
      const std::string text = at < lines[i].size() ? lines[i][at] : "";
      const bool coloured = tones != nullptr && !text.empty() && (*tones)[i] != Tone::kPlain;
      line += coloured ? colour_of((*tones)[i]) + text + "\x1b[0m" : text;
      if (i + 1 < texts.size()) line.append(widths[i] - std::min(widths[i], columns_of(text)) + gap, ' ');
    }
    out += (height > 1 ? without_end_blanks(std::move(line)) : line) + "\n";
  }
}

void append_columns(std::string& out, const Grid& grid, const std::vector<size_t>& widths, size_t gap) {
  if (grid.headers) append_cells(out, grid.heads, nullptr, widths, gap);
  for (size_t r = 0; r < grid.rows.size(); ++r)
    append_cells(out, grid.rows[r], grid.colour ? &grid.tones[r] : nullptr, widths, gap);
}

// One line per cell: its head and, beside it or below it, its text.
void append_records(std::string& out, const Grid& grid, size_t width) {
  size_t label = 0;
  for (const std::string& head : grid.heads) label = std::max(label, columns_of(head));
  const size_t margin = label + 4;
  for (size_t r = 0; r < grid.rows.size(); ++r)
    for (size_t i = 0; i < grid.heads.size(); ++i) {
      const std::string& text = grid.rows[r][i];
      if (text == "-" && i > 0) continue;  // nothing
      std::string head = (i == 0 ? "" : "  ") + grid.heads[i];
      const size_t least = std::max(longest_piece(text), std::min(columns_of(text), kBesideAtLeast));
      const bool beside = margin + least <= width;
      const size_t indent = beside ? margin : 4;
      if (beside) head.append(margin - columns_of(head), ' ');
      out += head + (beside ? "" : "\n");
      const bool coloured = grid.colour && grid.tones[r][i] != Tone::kPlain;
      bool first = beside;
      for (const std::string& line : cell_lines(text, std::max(width, indent + 1) - indent)) {
        if (!first) out.append(indent, ' ');
        first = false;
        out += (coloured ? colour_of(grid.tones[r][i]) + line + "\x1b[0m" : line) + "\n";
      }
    }
}

}  // namespace

void append_table(std::string& out, const Table& table, const RenderOptions& options) {
  if (!table.title.empty()) out += printable(table.title) + "\n";
  const Grid grid = grid_of(table, options);
  const std::vector<size_t> natural = widths_of(grid, columns_of);
  if (options.table_width == 0 || total_of(natural, kGap) <= options.table_width)
    return append_columns(out, grid, natural, kGap);
  const std::vector<size_t> widths = fitted(grid, natural, options.table_width);
  if (widths.empty()) return append_records(out, grid, options.table_width);
  append_columns(out, grid, widths, kNarrowGap);
}

std::string wrapped(std::string_view text, size_t width) {
  std::string out;
  const auto append = [&](std::string current, size_t indent, std::string_view words) {
    bool empty = true;
    for (const std::string& word : split(words, ' ')) {
      if (!empty && columns_of(current) + 1 + columns_of(word) > width) {
        out += current + "\n";
        current.assign(indent, ' ');
        empty = true;
      }
      if (!empty) current += ' ';
      current += word;
      empty = false;
    }
    out += current + "\n";
  };
  for (const std::string& whole : split(text, '\n')) {
    const std::string line = without_end_blanks(whole);
    if (columns_of(line) <= width) {
      out += whole + "\n";
      continue;
    }
    const size_t begin = std::min(line.find_first_not_of(' '), width / 2);
    // After a name and a gap ("  --flag   what it does"), continuation lines start below the text after the gap or, if
    // that is too far right, below the name.
    const size_t gap = line.find("  ", begin), text_at = line.find_first_not_of(' ', gap);
    const bool has_gap = gap != std::string::npos && text_at != std::string::npos;
    if (has_gap && text_at > width / 2) {
      append(line.substr(0, begin), begin, std::string_view(line).substr(begin, gap - begin));
      append(std::string(begin + 4, ' '), begin + 4, std::string_view(line).substr(text_at));
    } else {
      const size_t indent = has_gap ? text_at : begin;
      append(line.substr(0, indent), indent, std::string_view(line).substr(indent));
    }
  }
  if (!out.empty()) out.pop_back();  // as many lines as the text had
  return out;
}

}  // namespace dra::inspect
