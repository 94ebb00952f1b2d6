// Answer: a verb's result before it becomes text, and the forms in which it is printed.
//
// An answer is tables, statements and text. A table is both what users read and what -o json and -o yaml print: each
// column has a head and a key. A statement is a sentence of the text with its code, its objects, its counts and its
// remedies as fields: programs read those, and never need the text. docs/answers.schema.json describes what -o json
// prints. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pkg/base/error.h"

namespace dra::inspect {

// Exit statuses of the program.
enum class Status : int {
  kYes = 0,      // it fits, or all is well
  kNo = 1,       // it does not fit, or something is wrong
  kUsage = 2,    // the command line or a file on it is wrong
  kUnknown = 3,  // unknown: no server, no permission, budget spent
};

enum class Tone : uint8_t { kPlain, kGood, kWarn, kBad, kDim };

struct Cell {
  // Implicit, so that a row of a table is written as a list of what it shows.
  Cell(std::string content, Tone shade = Tone::kPlain) : text(std::move(content)), tone(shade) {}
  Cell(const char* content) : text(content) {}
  Cell(uint64_t number) : text(std::to_string(number)), is_number(true) {}
  Cell(uint32_t number) : Cell(uint64_t{number}) {}
  Cell(int number) : text(std::to_string(number)), is_number(true) {}
  // Several names: an array in JSON, joined by commas in tables; "-" if there are none.
  static Cell list(std::vector<std::string> names);
  std::string text;
  Tone tone = Tone::kPlain;
  bool is_number = false;
  bool is_list = false;
  std::vector<std::string> items{};
};

struct Column {
  std::string head;   // "FREE"
  std::string key;    // "free", in JSON
  bool wide = false;  // shown only with -o wide (and in JSON)
};

struct Row {
  std::string name;  // for -o name: "node/a"
  std::vector<Cell> cells;
  bool aside = false;  // left out of tables, but for -o wide: a line of the answer counts it
};

struct Table {
  std::string title;  // a line above it; empty: none
  std::string key;    // in JSON: "nodes"
  std::vector<Column> columns;
  std::vector<Row> rows;
};

struct ObjectRef {
  std::string kind, ns, name;  // "Pod", "ml", "train-0"
};

struct Remedy {
  std::string code;  // "DropSelector"; "ToDo" where there is one text alone
  std::string text;
};

// A decision or a cause of one. Members that are empty are left out of JSON.
struct Statement {
  std::string code;     // "DeviceHeld"; stable, and listed in docs/answers.schema.json
  std::string message;  // one sentence, for people
  ObjectRef object{};   // what it is about
  std::string field{};  // of the object: "spec.devices.requests[gpu]"
  std::vector<std::pair<std::string, uint64_t>> counts{};                 // "devices": 8
  std::vector<std::pair<std::string, std::vector<std::string>>> names{};  // "nodes": node-a, node-b
  std::vector<Remedy> remedies{};
};

struct Answer {
  std::string kind;                // in JSON: "DRATop"
  std::vector<std::string> lines;  // before the tables
  std::vector<Table> tables;
  std::vector<std::string> after;  // lines after the tables
  std::vector<std::string> notes;  // after those, on standard error for tables: what is hidden, what to do next
  Status status = Status::kYes;
  // A complete document (a manifest, a rule) that is printed instead, if not empty.
  std::string document;
  // The main ones first. Each is in the text, too, there perhaps in other words.
  std::vector<Statement> statements{};

  // Adds a statement, and its message and remedies as lines; say_after(): its message, after the tables.
  void say(Statement statement);
  void say(std::string code, std::string message);
  void say_after(Statement statement);
};
std::string_view status_name(Status status);  // "yes", "no", "usage", "unknown"

enum class Format : uint8_t { kTable, kWide, kJson, kYaml, kName, kCsv };
Result<Format> format_of(std::string_view text);  // an error lists the choices

struct RenderOptions {
  Format format = Format::kTable;
  bool colour = false;
  bool headers = true;
  // Width of the page in columns, for lines and for tables; 0: unlimited. Tables for programs are never broken.
  // For programs (JSON, YAML, names) nothing is broken, whatever they are.
  size_t width = 0;
  size_t table_width = 0;
};

// The text for standard output. It includes notes only for JSON and YAML.
std::string render(const Answer& answer, const RenderOptions& options);

// One cell of -o csv: quoted where RFC 4180 asks for it; a text that a spreadsheet would evaluate as a formula gets an
// apostrophe in front, which spreadsheets take as "this is text".
std::string csv_cell(const Cell& cell);

// "1 device", "2 devices".
std::string counted(uint64_t count, std::string_view singular);
// The nearest known word, if one is near: "topp" -> "top".
std::string nearest(std::string_view word, const std::vector<std::string>& known);
// Control characters, which a terminal would obey, and marks of direction are spelled out (pkg/base/terminal_text.h);
// newlines stay.
std::string printable(std::string_view text);

}  // namespace dra::inspect
