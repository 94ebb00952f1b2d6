#include "pkg/inspect/answer/answer.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "pkg/base/closest.h"
#include "pkg/base/strings.h"
#include "pkg/base/terminal_text.h"
#include "pkg/inspect/answer/layout.h"
#include "pkg/yaml/yaml.h"

namespace dra::inspect {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson json_of_cell(const Cell& cell) {
  if (cell.is_list) return cell.items;
  if (cell.text == "-") return "";  // users see nothing there
  if (cell.is_number) return OrderedJson::parse(cell.text, nullptr, false);
  return cell.text;
}

OrderedJson json_of(const Statement& statement) {
  OrderedJson one{{"code", statement.code}, {"message", statement.message}};
  const ObjectRef& object = statement.object;
  if (!object.kind.empty()) {
    one["object"] = {{"kind", object.kind}, {"name", object.name}};
    if (!object.ns.empty()) one["object"]["namespace"] = object.ns;
  }
  if (!statement.field.empty()) one["field"] = statement.field;
  for (const auto& [key, count] : statement.counts) one["counts"][key] = count;
  for (const auto& [key, names] : statement.names)
    if (!names.empty()) one["names"][key] = names;
  for (const Remedy& remedy : statement.remedies)
    one["remedies"].push_back({{"code", remedy.code}, {"text", remedy.text}});
  return one;
}

OrderedJson json_of(const Answer& answer) {
  OrderedJson document{{"kind", answer.kind}, {"answer", std::string(status_name(answer.status))}};
  document["statements"] = OrderedJson::array();
  for (const Statement& statement : answer.statements) document["statements"].push_back(json_of(statement));
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
  if (!answer.document.empty()) document["document"] = answer.document;
  return document;
}

// The tables, one below the other with an empty line between them; every column, as in JSON.
std::string csv_of(const Answer& answer, bool headers) {
  std::string out;
  for (const Table& table : answer.tables) {
    if (!out.empty()) out += "\r\n";
    for (size_t i = 0; headers && i < table.columns.size(); ++i)
      out += (i == 0 ? "" : ",") + csv_cell(Cell(table.columns[i].key));
    if (headers) out += "\r\n";
    for (const Row& row : table.rows) {
      for (size_t i = 0; i < row.cells.size(); ++i) out += (i == 0 ? "" : ",") + csv_cell(row.cells[i]);
      out += "\r\n";
    }
  }
  return out;
}

}  // namespace

std::string csv_cell(const Cell& cell) {
  if (cell.is_number) return cell.text;
  std::string text = printable(cell.is_list ? join(cell.items, " ") : cell.text);
  if (text == "-") return "";  // there is nothing
  // The last four are the same signs in full width, which some spreadsheets read likewise.
  for (const std::string_view sign :
       {"=", "+", "-", "@", "\t", "\r", "\n", "\xef\xbc\x9d", "\xef\xbc\x8b", "\xef\xbc\x8d", "\xef\xbc\xa0"})
    if (text.starts_with(sign)) {
      text.insert(0, 1, '\'');
      break;
    }
  if (text.find_first_of(",\"\r\n;' ") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char one : text) quoted += one == '"' ? std::string("\"\"") : std::string(1, one);
  return quoted + "\"";
}

Cell Cell::list(std::vector<std::string> names) {
  Cell cell(names.empty() ? "-" : join(names, ","));
  cell.is_list = true;
  cell.items = std::move(names);
  return cell;
}

void Answer::say(Statement statement) {
  lines.push_back(statement.message);
  for (const Remedy& remedy : statement.remedies) lines.push_back("  " + remedy.text);
  statements.push_back(std::move(statement));
}

void Answer::say_after(Statement statement) {
  after.push_back(statement.message);
  statements.push_back(std::move(statement));
}

void Answer::say(std::string code, std::string message) {
  say(Statement{std::move(code), std::move(message)});
}

std::string_view status_name(Status status) {
  switch (status) {
    case Status::kYes:
      return "yes";
    case Status::kNo:
      return "no";
    case Status::kUsage:
      return "usage";
    case Status::kUnknown:
      break;
  }
  return "unknown";
}

Result<Format> format_of(std::string_view text) {
  if (text.empty() || text == "table") return Format::kTable;
  if (text == "wide") return Format::kWide;
  if (text == "json") return Format::kJson;
  if (text == "yaml") return Format::kYaml;
  if (text == "name") return Format::kName;
  if (text == "csv") return Format::kCsv;
  for (const std::string_view other : {"jsonpath", "custom-columns", "go-template"})
    if (text.starts_with(other))
      return fail(Code::kInvalidArgument,
                  "-o " + std::string(other) +
                      " is kubectl's; pipe -o json into jq, or --sort-by "
                      "and --no-headers into awk. Use one of table, wide, json, yaml, name, csv");
  return fail(Code::kInvalidArgument,
              "-o " + quote(text) + " is not known; use one of table, wide, json, yaml, name, csv");
}

std::string render(const Answer& answer, const RenderOptions& options) {
  std::string out;
  if (options.format == Format::kJson)
    return json_of(answer).dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
  if (options.format == Format::kYaml) {
    // The emitter prints objects in key order.
    const std::string text = json_of(answer).dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
    return yaml::emit(nlohmann::json::parse(text));
  }
  if (options.format == Format::kName) {
    std::set<std::string_view> written;  // an object may have several rows
    for (const Table& table : answer.tables)
      for (const Row& row : table.rows)
        if (!row.name.empty() && written.insert(row.name).second) out += printable(row.name) + "\n";
    return out;
  }
  if (!answer.document.empty()) return answer.document;
  if (options.format == Format::kCsv) return csv_of(answer, options.headers);
  const auto add_line = [&](const std::string& line) {
    out += (options.width > 0 ? wrapped(printable(line), options.width) : printable(line)) + "\n";
  };
  for (const std::string& line : answer.lines) add_line(line);
  for (const Table& table : answer.tables) {
    if (table.rows.empty()) continue;
    if (!out.empty()) out += "\n";
    append_table(out, table, options);
  }
  if (!answer.after.empty() && !out.empty()) out += "\n";
  for (const std::string& line : answer.after) add_line(line);
  return out;
}

std::string counted(uint64_t count, std::string_view singular) {
  const char* ending = count == 1 ? "" : singular.ends_with('s') ? "es" : "s";
  return std::to_string(count) + " " + std::string(singular) + ending;
}

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  return closest(word, known).value_or("");
}

std::string printable(std::string_view text) {
  return visible_text(text);
}

}  // namespace dra::inspect
