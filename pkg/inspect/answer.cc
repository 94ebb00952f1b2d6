#include "pkg/inspect/answer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/base/closest.h"
#include "pkg/base/strings.h"
#include "pkg/yaml/yaml.h"

namespace dra::inspect {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr size_t kGap = 3;  // blanks between columns, as kubectl has them

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

// Columns of a terminal that a text takes: code points, near enough for names.
size_t columns_of(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

void append_table(std::string& out, const Table& table, const RenderOptions& options) {
  if (!table.title.empty()) out += printable(table.title) + "\n";
  std::vector<size_t> shown;
  for (size_t i = 0; i < table.columns.size(); ++i)
    if (!table.columns[i].wide || options.format == Format::kWide) shown.push_back(i);
  std::vector<size_t> widths(table.columns.size(), 0);
  std::vector<std::vector<std::string>> texts;
  for (const size_t i : shown) widths[i] = options.headers ? columns_of(table.columns[i].head) : 0;
  for (const Row& row : table.rows) {
    auto& line = texts.emplace_back(table.columns.size());
    for (const size_t i : shown) {
      line[i] = printable(row.cells[i].text);
      widths[i] = std::max(widths[i], columns_of(line[i]));
    }
  }
  const auto put = [&](size_t i, const std::string& text, Tone tone) {
    const bool coloured = options.colour && tone != Tone::kPlain;
    out += coloured ? colour_of(tone) + text + "\x1b[0m" : text;
    if (i != shown.back()) out.append(widths[i] - columns_of(text) + kGap, ' ');
  };
  if (options.headers && !table.rows.empty()) {
    for (const size_t i : shown) put(i, table.columns[i].head, Tone::kPlain);
    out += "\n";
  }
  for (size_t r = 0; r < texts.size(); ++r) {
    for (const size_t i : shown) put(i, texts[r][i], table.rows[r].cells[i].tone);
    out += "\n";
  }
}

OrderedJson json_of_cell(const Cell& cell) {
  if (cell.text == "-" && cell.tone == Tone::kDim) return "";  // nothing, as people see it
  if (cell.is_number) return OrderedJson::parse(cell.text, nullptr, false);
  return cell.text;
}

OrderedJson json_of(const Answer& answer) {
  OrderedJson document{{"kind", answer.kind}};
  if (!answer.lines.empty()) document["lines"] = answer.lines;
  for (const Table& table : answer.tables) {
    OrderedJson rows = OrderedJson::array();
    for (const Row& row : table.rows) {
      OrderedJson one = OrderedJson::object();
      for (size_t i = 0; i < table.columns.size(); ++i) one[table.columns[i].key] = json_of_cell(row.cells[i]);
      rows.push_back(std::move(one));
    }
    document[table.key] = std::move(rows);
  }
  if (!answer.after.empty()) document["details"] = answer.after;
  if (!answer.notes.empty()) document["notes"] = answer.notes;
  return document;
}

}  // namespace

Result<Format> format_of(std::string_view text) {
  if (text.empty() || text == "table") return Format::kTable;
  if (text == "wide") return Format::kWide;
  if (text == "json") return Format::kJson;
  if (text == "yaml") return Format::kYaml;
  if (text == "name") return Format::kName;
  return fail(Code::kInvalidArgument, "-o " + quote(text) + " is not known; use one of table, wide, json, yaml, name");
}

std::string render(const Answer& answer, const RenderOptions& options) {
  std::string out;
  if (options.format == Format::kJson)
    return json_of(answer).dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
  if (options.format == Format::kYaml) {
    // The emitter takes objects in the order of their keys.
    const std::string text = json_of(answer).dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
    return yaml::emit(nlohmann::json::parse(text));
  }
  if (options.format == Format::kName) {
    for (const Table& table : answer.tables)
      for (const Row& row : table.rows)
        if (!row.name.empty()) out += printable(row.name) + "\n";
    return out;
  }
  if (!answer.document.empty()) return answer.document;
  for (const std::string& line : answer.lines) out += printable(line) + "\n";
  for (const Table& table : answer.tables) {
    if (table.rows.empty()) continue;
    if (!out.empty()) out += "\n";
    append_table(out, table, options);
  }
  if (!answer.after.empty() && !out.empty()) out += "\n";
  for (const std::string& line : answer.after) out += printable(line) + "\n";
  return out;
}

std::string counted(uint64_t count, std::string_view singular) {
  const char* ending = count == 1 ? "" : singular.ends_with('s') ? "es" : "s";
  return std::to_string(count) + " " + std::string(singular) + ending;
}

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  return closest(word, known).value_or("");
}

std::string wrapped(std::string_view text, size_t width) {
  std::string out;
  for (const std::string& line : split(text, '\n')) {
    if (columns_of(line) <= width) {
      out += line + "\n";
      continue;
    }
    const size_t begin = std::min(line.find_first_not_of(' '), width / 2);
    // Behind a name and a gap ("  --flag   what it does") lines go on below what follows the gap.
    const size_t gap = line.find("  ", begin), text_at = line.find_first_not_of(' ', gap);
    const size_t indent =
        gap != std::string::npos && text_at != std::string::npos && text_at <= width / 2 ? text_at : begin;
    std::string current = line.substr(0, indent);
    bool empty = true;
    for (const std::string& word : split(std::string_view(line).substr(indent), ' ')) {
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
  }
  if (!out.empty()) out.pop_back();  // as many lines as the text had
  return out;
}

std::string printable(std::string_view text) {
  static const char* const kHex = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n') || byte == 0x7f) {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace dra::inspect
