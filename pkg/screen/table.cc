#include "pkg/screen/table.h"

#include <algorithm>

#include "pkg/base/strings.h"
#include "pkg/base/terminal_text.h"
#include "pkg/base/utf8.h"
#include "pkg/inspect/answer/sort.h"

namespace dra::screen {
namespace {

constexpr size_t kMaxCell = 4096, kMaxLine = 16384, kMaxLines = 2000;  // bytes, bytes, lines

std::string one_line(std::string_view text) {
  std::string line = visible_text(utf8_prefix(text, kMaxCell));
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

void append_lines(std::vector<std::string>& out, const std::vector<std::string>& texts) {
  for (const std::string& text : texts)
    for (std::string& line : split(visible_text(utf8_prefix(text, kMaxLine)), '\n'))
      if (out.size() < kMaxLines) out.push_back(std::move(line));
}

// Cells by the key of their column.
class CellsOf {
 public:
  CellsOf(const inspect::Table& table, const inspect::Row& row) : table_(table), row_(row) {}
  std::string text(std::string_view key) const {
    const inspect::Cell* cell = find(key);
    return cell == nullptr || cell->text == "-" ? "" : cell->text;
  }
  std::vector<std::string> items(std::string_view key) const {
    const inspect::Cell* cell = find(key);
    return cell == nullptr ? std::vector<std::string>{} : cell->items;
  }

 private:
  const inspect::Cell* find(std::string_view key) const {
    for (size_t i = 0; i < table_.columns.size() && i < row_.cells.size(); ++i)
      if (table_.columns[i].key == key) return &row_.cells[i];
    return nullptr;
  }
  const inspect::Table& table_;
  const inspect::Row& row_;
};

struct Object {
  std::string ns, name;
};

// "ns/name"; a name alone is in `otherwise`.
Object object_of(const std::string& key, const std::string& otherwise) {
  const size_t slash = key.find('/');
  return slash == std::string::npos ? Object{otherwise, key} : Object{key.substr(0, slash), key.substr(slash + 1)};
}

void lead_to(Row& row, const char* kind, const Object& object) {
  if (object.name.empty()) return;
  row.who = Question{"who", {std::string(kind) + "/" + object.name}, object.ns};
  row.explain = Question{"explain", {std::string(kind) + "/" + object.name}, object.ns};
}

// What the rows of each verb are about.
void leads_to(Row& row, const inspect::Answer& answer, const CellsOf& cells, const Question& asked) {
  if (answer.kind == "DRATopNodes" || answer.kind == "DRATopPairs") {
    const std::string node = cells.text("node");
    // Devices that several nodes share have no node.
    if (!node.empty() && !node.starts_with('<')) row.who = Question{"who", {"node/" + node}};
    row.explain = Question{"explain", {}, asked.ns};
  } else if (answer.kind == "DRATopClasses") {
    row.explain = Question{"explain", {}, asked.ns};
  } else if (answer.kind == "DRATopClaims") {
    lead_to(row, "claim", {cells.text("namespace"), cells.text("claim")});
  } else if (answer.kind == "DRATopNamespaces") {
    row.who = Question{"top", {"claims"}, cells.text("namespace")};
    row.explain = Question{"explain", {}, cells.text("namespace")};
  } else if (answer.kind == "DRAWho" || answer.kind == "DRAExplain") {
    const std::string claim = cells.text("claim");
    if (!claim.empty()) lead_to(row, "claim", object_of(claim, asked.ns));
    const auto pods = cells.items("podNames"), claims = cells.items("claimNames");
    if (!pods.empty())
      lead_to(row, "pod", object_of(pods.front(), asked.ns));
    else if (!claims.empty())
      lead_to(row, "claim", object_of(claims.front(), asked.ns));
    // Of what waits nobody asks who holds it.
    if (!pods.empty() || !claims.empty()) row.who = row.explain;
  }
}

bool passes(const Row& row, const std::vector<std::string>& words) {
  return std::all_of(words.begin(), words.end(), [&](const std::string& word) {
    return std::any_of(row.cells.begin(), row.cells.end(),
                       [&](const std::string& cell) { return to_lower(cell).find(word) != std::string::npos; });
  });
}

std::vector<std::string> words_of(const std::string& filter) {
  std::vector<std::string> words;
  for (const std::string& word : split(to_lower(filter), ' '))
    if (!word.empty()) words.push_back(word);
  return words;
}

void measure(Page& page) {
  for (const std::string& head : page.heads) page.widths.push_back(columns_of(head));
  for (const Row& row : page.rows)
    for (size_t i = 0; i < row.cells.size(); ++i)
      page.widths[i] = std::min(kWidestColumn, std::max(page.widths[i], columns_of(row.cells[i])));
}

void add_rows(Page& page, const inspect::Answer& answer, const inspect::Table& table, const Question& question,
              const std::vector<std::string>& words, bool wide) {
  std::vector<size_t> shown;
  for (size_t i = 0; i < table.columns.size(); ++i)
    if (!table.columns[i].wide || wide) shown.push_back(i);
  for (const size_t i : shown) {
    page.heads.push_back(table.columns[i].head);
    page.keys.push_back(table.columns[i].key);
    page.numbers.push_back(!table.rows.empty() &&
                           std::all_of(table.rows.begin(), table.rows.end(), [&](const auto& row) {
                             return row.cells[i].is_number || row.cells[i].text == "-";
                           }));
  }
  for (const inspect::Row& from : table.rows) {
    if (from.aside && !wide) continue;
    Row row;
    for (const size_t i : shown) {
      row.cells.push_back(one_line(from.cells[i].text));
      row.tones.push_back(from.cells[i].tone);
    }
    if (!passes(row, words)) continue;
    const CellsOf cells(table, from);
    row.key = from.name + "\n" + cells.text("namespace") + "\n" + cells.text("device") + "\n" + cells.text("claim") +
              "\n" + cells.text("driver") + "\n" + cells.text("cause");
    leads_to(row, answer, cells, question);
    page.rows.push_back(std::move(row));
  }
}

}  // namespace

std::string title_of(const Question& question) {
  std::string title = question.verb;
  for (const std::string& word : question.words) title += " " + one_line(word);
  if (!question.ns.empty()) title += " -n " + one_line(question.ns);
  return title;
}

Page page_of(const inspect::Answer& given, const Question& question, const Order& order, const std::string& filter,
             bool wide) {
  inspect::Answer sorted;
  const inspect::Answer* answer = &given;
  if (!order.column.empty()) {
    sorted = given;
    // An answer that has lost the column keeps the verb's order.
    if (inspect::sort_rows(sorted, order.column)) answer = &sorted;
  }
  Page page;
  append_lines(page.before, answer->lines);
  append_lines(page.after, answer->after);
  append_lines(page.notes, answer->notes);
  if (!answer->tables.empty()) add_rows(page, *answer, answer->tables.front(), question, words_of(filter), wide);
  if (order.reversed) std::reverse(page.rows.begin(), page.rows.end());
  measure(page);
  return page;
}

}  // namespace dra::screen
