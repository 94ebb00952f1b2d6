#include "pkg/inspect/verbs/usage.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "pkg/base/strings.h"
#include "pkg/inspect/state/unseen.h"
#include "pkg/inventory/device_index.h"
#include "pkg/usage/claim_uses.h"

namespace dra::inspect {
namespace {

using usage::Labels;

struct UsageFigures {
  int64_t devices = 0;
  double cards = 0;
  double device_seconds = 0, card_seconds = 0;
};
using UsageRows = std::map<std::vector<std::string>, UsageFigures>;

std::vector<std::string> names_of_row(const Labels& labels, UsageBy by) {
  switch (by) {
    case UsageBy::kNamespace:
      return {labels.ns};
    case UsageBy::kClass:
      return {labels.device_class};
    case UsageBy::kDriver:
      return {labels.driver};
    case UsageBy::kOwner:
      return {labels.owner};
    case UsageBy::kAll:
      break;
  }
  return {labels.ns, labels.device_class, labels.driver, labels.owner};
}

std::vector<Column> columns_of(UsageBy by) {
  switch (by) {
    case UsageBy::kNamespace:
      return {{"NAMESPACE", "namespace"}};
    case UsageBy::kClass:
      return {{"CLASS", "class"}};
    case UsageBy::kDriver:
      return {{"DRIVER", "driver"}};
    case UsageBy::kOwner:
      return {{"OWNER", "ownerKind"}};
    case UsageBy::kAll:
      break;
  }
  return {{"NAMESPACE", "namespace"}, {"CLASS", "class"}, {"DRIVER", "driver"}, {"OWNER", "ownerKind"}};
}

Cell number_cell(std::string text) {
  Cell cell{std::move(text)};
  cell.is_number = true;
  return cell;
}

Cell hours(double seconds) {
  char text[64];
  std::snprintf(text, sizeof text, "%.2f", seconds / 3600);
  return number_cell(text);
}

Cell cards_cell(double cards) {
  char text[64];
  std::snprintf(text, sizeof text, "%.3f", cards);
  return number_cell(text);
}

// Each part at most in proportion: all parts of a card are one card at most.
void add_held(const State& state, const UsageQuestion& question, UsageRows& rows) {
  usage::Weigher weigher(state.inventory.device_index());
  const Objects& objects = state.objects;
  usage::ClaimFacts facts;
  facts.find_class = [&](std::string_view name) {
    const auto found = objects.classes.find(name);
    return found == objects.classes.end() ? nullptr : found->second.get();
  };
  facts.find_pod = [&](std::string_view uid, const std::string& key) -> const api::Pod* {
    const auto found = objects.pods.find(key);
    return found != objects.pods.end() && found->second->metadata.uid == uid ? found->second.get() : nullptr;
  };
  std::vector<usage::Use> all;
  std::unordered_map<std::string, int64_t> cards;
  for (const auto& [key, claim] : objects.claims)
    for (usage::Use& use : usage::claim_uses(*claim, weigher, facts)) {
      use.parts.insert(use.parts.end(), use.unknown.begin(), use.unknown.end());
      for (const usage::Part& part : use.parts) cards[part.card] += part.nanos;
      all.push_back(std::move(use));
    }
  for (const usage::Use& use : all) {
    if (!question.ns.empty() && use.labels.ns != question.ns) continue;
    UsageFigures& row = rows[names_of_row(use.labels, question.by)];
    row.devices += use.devices;
    for (const usage::Part& part : use.parts)
      row.cards +=
          static_cast<double>(part.nanos) / static_cast<double>(std::max(cards.at(part.card), usage::kWholeCard));
  }
}

// The largest first, then by name.
std::vector<UsageRows::const_iterator> in_order(const UsageRows& rows, double UsageFigures::*first,
                                                double UsageFigures::*second) {
  std::vector<UsageRows::const_iterator> order;
  for (auto at = rows.begin(); at != rows.end(); ++at) order.push_back(at);
  std::stable_sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
    const UsageFigures &x = a->second, &y = b->second;
    return std::pair(x.*first, x.*second) > std::pair(y.*first, y.*second);
  });
  return order;
}

Row row_of(const std::vector<std::string>& names, UsageBy by) {
  Row row;
  if (by == UsageBy::kNamespace) row.name = "namespace/" + names[0];
  if (by == UsageBy::kClass) row.name = "deviceclass/" + names[0];
  for (const std::string& name : names) row.cells.emplace_back(name);
  return row;
}

// ---- Prometheus

using Json = nlohmann::json;

std::string text_of_label(const Json& metric, const char* key) {
  const auto found = metric.find(key);
  return found != metric.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

const std::vector<std::string>& usage_words() {
  static const std::vector<std::string> words{"namespaces", "classes", "drivers", "owners", "all"};
  return words;
}

std::optional<UsageBy> usage_by(std::string_view word) {
  const auto& words = usage_words();
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) return std::nullopt;
  return static_cast<UsageBy>(found - words.begin());
}

Answer usage_now(const State& state, const UsageQuestion& question, const UsageTotals& totals) {
  Answer answer{"DRAUsage"};
  UsageRows rows;
  add_held(state, question, rows);
  Table table{"", "usage", columns_of(question.by), {}};
  table.columns.insert(table.columns.end(), {{"DEVICES", "devices"}, {"CARDS", "cards"}});
  if (totals.record) {
    for (const usage::GroupTotal& group : totals.record->groups) {
      if (!question.ns.empty() && group.labels.ns != question.ns) continue;
      UsageFigures& row = rows[names_of_row(group.labels, question.by)];
      row.device_seconds += group.device_seconds;
      row.card_seconds += group.card_seconds;
    }
    table.columns.insert(table.columns.end(), {{"DEVICE HOURS", "deviceHours"}, {"CARD HOURS", "cardHours"}});
  }
  for (const auto& at : in_order(rows, &UsageFigures::cards, &UsageFigures::card_seconds)) {
    Row row = row_of(at->first, question.by);
    row.cells.emplace_back(static_cast<uint64_t>(at->second.devices));
    row.cells.push_back(cards_cell(at->second.cards));
    if (totals.record) {
      row.cells.push_back(hours(at->second.device_seconds));
      row.cells.push_back(hours(at->second.card_seconds));
    }
    table.rows.push_back(std::move(row));
  }
  const bool hidden = state.objects.hides("resourceclaims");
  if (table.rows.empty())
    answer.say(hidden ? "NotVisible" : "HoldsNothing",
               hidden ? "claims are not visible: you may not list resourceclaims" : "no claim holds a device");
  if (hidden && answer.status == Status::kYes) answer.status = Status::kUnknown;
  answer.tables.push_back(std::move(table));
  if (totals.record)
    answer.notes.push_back("hours: counted since " + format_rfc3339(totals.record->since) + ", up to " +
                           format_rfc3339(totals.record->as_of));
  else if (!totals.why_not.empty())
    answer.notes.push_back("hours are not shown: " + totals.why_not);
  for (std::string& note : hidden_notes(state.objects, "; figures leave them out"))
    answer.notes.push_back(std::move(note));
  return answer;
}

Result<std::string> usage_period(std::string_view text) {
  constexpr std::string_view kUnits = "smhdw";
  constexpr double kSeconds[] = {1, 60, 3600, 86'400, 604'800};
  constexpr double kMost = 10.0 * 365 * 86'400;
  const auto wrong = [&] {
    return fail(Code::kInvalidArgument,
                "--since " + quote(text) + " is not a duration; write 36h, 7d or 1w2d, at most ten years");
  };
  double seconds = 0, number = 0;
  bool digits = false;
  size_t last_unit = kUnits.size();
  if (text.size() > 32) return wrong();
  for (const char c : text) {
    if (c >= '0' && c <= '9') {
      number = number * 10 + (c - '0');
      digits = true;
      continue;
    }
    // Prometheus wants units from large to small, each once.
    const size_t unit = kUnits.find(c);
    if (unit == std::string_view::npos || !digits || unit >= last_unit) return wrong();
    last_unit = unit;
    seconds += number * kSeconds[unit];
    number = 0;
    digits = false;
  }
  if (digits || seconds <= 0 || seconds > kMost) return wrong();
  return std::string(text);
}

std::string usage_query(std::string_view metric, std::string_view period, bool recorded) {
  const std::string labels = "by (claim_namespace, class, driver, owner_kind) ", name(metric), range(period);
  if (recorded) return "sum " + labels + "(increase(dra:usage_" + name + ":max[" + range + "]))";
  // The rule's expression, evaluated now. A replica that leads a second time has one series with a gap, so the sum of
  // the replicas' own increases would count that gap twice.
  const bool long_period = range.find_first_of("wd") != std::string::npos;
  return "sum " + labels + "(increase((max " + labels + "(dra_usage_" + name + "_total))[" + range + ":" +
         (long_period ? "10m" : "1m") + "]))";
}

Result<size_t> add_usage_answer(std::string_view text, bool cards, std::vector<UsageOfPeriod>& out) {
  const Json json = Json::parse(
      text, [](int depth, Json::parse_event_t, Json&) { return depth <= 8; }, false);
  const auto wrong = [](const std::string& why) {
    return fail(Code::kUnavailable, "the answer is not that of a Prometheus: " + why);
  };
  if (!json.is_object() || !json.contains("status")) return wrong("it has no member status");
  if (json["status"] != "success") {
    const auto why = json.find("error");
    return fail(Code::kUnavailable,
                "the query failed there: " +
                    (why != json.end() && why->is_string() ? why->get<std::string>() : "no reason is given"));
  }
  const auto data = json.find("data");
  if (data == json.end() || !data->is_object()) return wrong("it has no member data");
  const auto result = data->find("result");
  if (result == data->end() || !result->is_array()) return wrong("data.result is not a list");
  for (const Json& one : *result) {
    if (!one.is_object() || !one.contains("metric") || !one["metric"].is_object() || !one.contains("value") ||
        !one["value"].is_array() || one["value"].size() != 2 || !one["value"][1].is_string())
      return wrong("data.result has an entry without metric and value");
    const Json& metric = one["metric"];
    UsageOfPeriod period;
    period.labels = {text_of_label(metric, "claim_namespace"), text_of_label(metric, "class"),
                     text_of_label(metric, "driver"), text_of_label(metric, "owner_kind")};
    const std::string number = one["value"][1].get<std::string>();
    char* end = nullptr;
    const double seconds = std::strtod(number.c_str(), &end);
    if (end == number.c_str() || !std::isfinite(seconds)) continue;  // NaN: nothing to say
    auto same = std::find_if(out.begin(), out.end(), [&](const auto& known) { return known.labels == period.labels; });
    if (same == out.end()) same = out.insert(out.end(), period);
    (cards ? same->card_seconds : same->device_seconds) += seconds;
  }
  return result->size();
}

Answer usage_of_period(const std::vector<UsageOfPeriod>& found, const UsageQuestion& question,
                       const std::string& period, bool recorded) {
  Answer answer{"DRAUsage"};
  UsageRows rows;
  for (const UsageOfPeriod& one : found) {
    if (!question.ns.empty() && one.labels.ns != question.ns) continue;
    UsageFigures& row = rows[names_of_row(one.labels, question.by)];
    row.device_seconds += one.device_seconds;
    row.card_seconds += one.card_seconds;
  }
  Table table{"", "usage", columns_of(question.by), {}};
  table.columns.insert(table.columns.end(), {{"DEVICE HOURS", "deviceHours"}, {"CARD HOURS", "cardHours"}});
  for (const auto& at : in_order(rows, &UsageFigures::card_seconds, &UsageFigures::device_seconds)) {
    Row row = row_of(at->first, question.by);
    row.cells.push_back(hours(at->second.device_seconds));
    row.cells.push_back(hours(at->second.card_seconds));
    table.rows.push_back(std::move(row));
  }
  if (table.rows.empty()) {
    answer.say("NothingCounted", "Prometheus has no usage of the last " + period +
                                     (question.ns.empty() ? "" : " in namespace " + question.ns));
    answer.status = Status::kUnknown;
    answer.notes.push_back(
        "is it the Prometheus that scrapes dra-controller-manager, and does its leader count usage "
        "(docs/user/usage.md)?");
  }
  answer.tables.push_back(std::move(table));
  if (!recorded && !answer.tables[0].rows.empty())
    answer.notes.push_back(
        "the recording rules of the chart are not there: what was used around a change of leaders "
        "may be missing (docs/user/usage.md)");
  return answer;
}

}  // namespace dra::inspect
