#include "pkg/usage/record.h"

#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "pkg/base/strings.h"
#include "pkg/usage/limits.h"

namespace dra::usage {

namespace {

using Json = nlohmann::json;

constexpr int kVersion = 1;
// Far beyond any cluster (10^6 cards for 3,000 years), and exact to a millisecond in a double.
constexpr double kMostSeconds = 1e17;
constexpr int64_t kMostHeld = int64_t{1} << 62;
constexpr size_t kMostDevices = 100'000'000;

// Labels by number, in the order of their first use.
class Table {
 public:
  size_t number(const std::string& text) {
    const auto [at, added] = numbers_.try_emplace(text, texts_.size());
    if (added) texts_.push_back(text);
    return at->second;
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::map<std::string, size_t> numbers_;
  std::vector<std::string> texts_;
};

std::string seconds_text(double seconds) {
  char text[40];
  std::snprintf(text, sizeof text, "%.3f", seconds);
  return text;
}

std::string json_of(const std::vector<std::string>& texts) {
  return Json(texts).dump(-1, ' ', false, Json::error_handler_t::replace);
}

// ---- reading

class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) {}

  Result<Record> read() {
    if (!json_.is_object()) return wrong("the text", "is not a JSON object");
    const auto version = json_.find("version");
    if (version == json_.end() || !version->is_number_integer() || *version != kVersion)
      return wrong("version",
                   "is not " + std::to_string(kVersion) + ", which is all that this version of the program reads");
    Record record;
    if (!time("asOf", record.as_of)) return wrong("asOf", "is not a time in RFC 3339");
    if (!time("since", record.since)) return wrong("since", "is not a time in RFC 3339");
    if (const auto writer = json_.find("writer"); writer != json_.end() && writer->is_string())
      record.writer = writer->get<std::string>();
    for (const auto& [key, most] : {std::pair<const char*, size_t>{"namespaces", Limits::kMaxNamespaces},
                                    {"classes", Limits::kMaxClasses},
                                    {"drivers", Limits::kMaxDrivers},
                                    {"owners", Limits::kMaxOwners},
                                    {"shares", Limits::kMaxShareNames}})
      if (const std::string why = table(key, most + 1); !why.empty()) return wrong(key, why);
    const auto groups = json_.find("groups");
    if (groups == json_.end() || !groups->is_array()) return wrong("groups", "is not a list");
    if (groups->size() > Limits::kMaxSeries / Limits::kSeriesOfGroup + 1)
      return wrong("groups", "has " + std::to_string(groups->size()) + " entries, more than are ever written");
    for (size_t i = 0; i < groups->size(); ++i) {
      GroupTotal group;
      if (const std::string why = read_group((*groups)[i], group); !why.empty())
        return wrong("groups[" + std::to_string(i) + "]", why);
      record.groups.push_back(std::move(group));
    }
    return record;
  }

 private:
  static tl::unexpected<Error> wrong(const std::string& field, const std::string& why) {
    return fail(Code::kInvalidArgument, field + " " + why);
  }

  bool time(const char* key, Timestamp& out) const {
    const auto found = json_.find(key);
    return found != json_.end() && found->is_string() && parse_rfc3339(found->get<std::string>(), out);
  }

  std::string table(const std::string& key, size_t most) {
    const auto found = json_.find(key);
    if (found == json_.end() || !found->is_array()) return "is not a list";
    if (found->size() > most) return "has " + std::to_string(found->size()) + " entries, more than are ever written";
    std::vector<std::string>& texts = tables_[key];
    for (const Json& one : *found) {
      if (!one.is_string()) return "has an entry that is not a text";
      texts.push_back(one.get<std::string>());
      if (texts.back().size() > Limits::kMaxLabelBytes) return "has an entry of more than 253 bytes";
    }
    return "";
  }

  bool label(const Json& number, const char* key, std::string& out) const {
    const std::vector<std::string>& texts = tables_.at(key);
    if (!number.is_number_unsigned() || number.get<uint64_t>() >= texts.size()) return false;
    out = texts[number.get<uint64_t>()];
    return true;
  }

  static bool seconds(const Json& json, double& out) {
    if (!json.is_number()) return false;
    out = json.get<double>();
    return std::isfinite(out) && out >= 0 && out <= kMostSeconds;
  }

  static bool count(const Json& json, int64_t most, int64_t& out) {
    if (!json.is_number_unsigned() || json.get<uint64_t>() > static_cast<uint64_t>(most)) return false;
    out = json.get<int64_t>();
    return true;
  }

  std::string read_group(const Json& json, GroupTotal& group) const {
    if (!json.is_array() || json.size() != 10) return "is not a list of ten entries";
    Labels& labels = group.labels;
    if (!label(json[0], "namespaces", labels.ns) || !label(json[1], "classes", labels.device_class) ||
        !label(json[2], "drivers", labels.driver) || !label(json[3], "owners", labels.owner))
      return "names a label by a number that its table has not";
    if (!seconds(json[4], group.device_seconds) || !seconds(json[5], group.card_seconds))
      return "has seconds that are not a number of 0 or more";
    if (!count(json[6], kMostDevices, group.devices) || !count(json[7], kMostHeld, group.cards) ||
        !count(json[8], kMostHeld / Limits::kSecond, group.idle_seconds))
      return "has a count that is not a whole number of 0 or more";
    if (!json[9].is_array() || json[9].size() > Limits::kMaxShareNames + 1) return "has shares that are not a list";
    for (const Json& one : json[9]) {
      ShareTotal share;
      if (!one.is_array() || one.size() != 3 || !label(one[0], "shares", share.name) ||
          !seconds(one[1], share.seconds) || !count(one[2], kMostHeld, share.held))
        return "has a share that is not a list of name, seconds and what is held";
      group.shares.push_back(std::move(share));
    }
    return "";
  }

  const Json& json_;
  std::map<std::string, std::vector<std::string>, std::less<>> tables_;
};

}  // namespace

Result<std::string> to_text(const Record& record) {
  Table namespaces, classes, drivers, owners, shares;
  std::string groups;
  for (const GroupTotal& group : record.groups) {
    groups += groups.empty() ? "\n[" : ",\n[";
    const Labels& labels = group.labels;
    for (const size_t number : {namespaces.number(labels.ns), classes.number(labels.device_class),
                                drivers.number(labels.driver), owners.number(labels.owner)})
      groups += std::to_string(number) + ",";
    groups += seconds_text(group.device_seconds) + "," + seconds_text(group.card_seconds);
    for (const int64_t number : {group.devices, group.cards, group.idle_seconds})
      groups += "," + std::to_string(number);
    groups += ",[";
    for (const ShareTotal& share : group.shares)
      groups += (&share == group.shares.data() ? "[" : ",[") + std::to_string(shares.number(share.name)) + "," +
                seconds_text(share.seconds) + "," + std::to_string(share.held) + "]";
    groups += "]]";
  }
  std::string text =
      "{\"version\":" + std::to_string(kVersion) + ",\"asOf\":" + quote(format_rfc3339_micro(record.as_of)) +
      ",\"since\":" + quote(format_rfc3339_micro(record.since)) + ",\"writer\":" + json_of({record.writer}).substr(1);
  text.back() = ',';  // the end of the list that json_of() made
  text += "\n\"namespaces\":" + json_of(namespaces.texts()) + ",\n\"classes\":" + json_of(classes.texts()) +
          ",\n\"drivers\":" + json_of(drivers.texts()) + ",\n\"owners\":" + json_of(owners.texts()) +
          ",\n\"shares\":" + json_of(shares.texts()) + ",\n\"groups\":[" + groups + "]}\n";
  if (text.size() > kMaxRecordBytes)
    return fail(Code::kResourceExhausted, "the totals take " + std::to_string(text.size()) + " bytes, more than " +
                                              std::to_string(kMaxRecordBytes));
  return text;
}

Result<Record> parse_record(std::string_view text) {
  if (text.size() > kMaxRecordBytes)
    return fail(Code::kInvalidArgument, "the text has " + std::to_string(text.size()) + " bytes, more than the " +
                                            std::to_string(kMaxRecordBytes) + " that are ever written");
  // Not deeper than it is written: a text of brackets alone would recurse.
  const Json json = Json::parse(
      text, [](int depth, Json::parse_event_t, Json&) { return depth <= 5; }, false);
  if (json.is_discarded()) return fail(Code::kInvalidArgument, "the text is not JSON");
  return Reader(json).read();
}

}  // namespace dra::usage
