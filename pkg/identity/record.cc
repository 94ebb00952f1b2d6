#include "pkg/identity/record.h"

#include <simdjson.h>

#include <algorithm>

#include "pkg/base/json_text.h"

namespace dra::identity {
namespace {

namespace dom = simdjson::dom;

constexpr size_t kMaxValues = 128;  // of a device: more are not read

void write_values(JsonText& out, const char* key, const std::vector<std::string>& values) {
  out.array(key, [&] {
    for (const std::string& value : values) out.value(value);
  });
}

void write(JsonText& out, const Record& record) {
  out.object([&] {
    write_values(out, "is", record.own);
    if (record.node) out.member("node", *record.node);
    write_values(out, "of", record.part_of);
    if (record.shared) out.member("shared", true);
    if (record.type) out.member("type", *record.type);
  });
}

// Around the devices' members.
const std::string& head() {
  static const std::string text = "{\"apiVersion\":\"" + std::string(kRecordDriver) + "/v1\",\"devices\":{";
  return text;
}
constexpr std::string_view kTail = "},\"kind\":\"DeviceIdentities\"}";

bool is_value(std::string_view text) {
  const size_t blank = text.find(' ');
  return blank != 0 && blank != std::string_view::npos && blank + 1 < text.size();
}

bool read_values(dom::object source, const char* key, std::vector<std::string>& out) {
  dom::element found;
  if (source[key].get(found)) return true;
  dom::array values;
  if (found.get(values)) return false;
  for (const dom::element value : values) {
    std::string_view text;
    if (value.get(text) || !is_value(text) || out.size() == kMaxValues) return false;
    out.emplace_back(text);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return true;
}

bool read_text(dom::object source, const char* key, std::optional<std::string>& out) {
  dom::element found;
  if (source[key].get(found)) return true;
  std::string_view text;
  if (found.get(text)) return false;
  out = std::string(text);
  return true;
}

std::optional<Record> read_record(dom::element from) {
  dom::object source;
  Record record;
  if (from.get(source) || !read_values(source, "is", record.own) || !read_values(source, "of", record.part_of) ||
      !read_text(source, "node", record.node) || !read_text(source, "type", record.type))
    return std::nullopt;
  if (source["shared"].get(record.shared)) record.shared = false;
  return record;
}

// Each allocation is read twice, so no tree of values is built. Valid until the next call.
bool parse(std::string_view text, dom::element& out) {
  thread_local dom::parser parser;
  return !parser.parse(text.data(), text.size()).get(out);
}

}  // namespace

// An allocation is written with it, so no tree of JSON values is built.
std::vector<std::string> encode_records(const Records& records, size_t most) {
  std::vector<std::string> texts;
  const size_t frame = head().size() + kTail.size();
  std::string devices;
  const auto close = [&] {
    if (!devices.empty()) texts.push_back(head() + devices + std::string(kTail));
    devices.clear();
  };
  for (const auto& entry : records) {
    JsonText one;
    one.object([&] {
      one.key(entry.first);
      write(one, entry.second);
    });
    const std::string_view member = std::string_view(one.text()).substr(1, one.text().size() - 2);
    if (frame + member.size() > most) continue;
    if (frame + devices.size() + 1 + member.size() > most) close();
    devices.append(devices.empty() ? "" : ",").append(member);
  }
  close();
  return texts;
}

bool decode_records(std::string_view text, Records& records) {
  dom::element whole;
  dom::object devices;
  if (!parse(text, whole) || whole["devices"].get(devices)) return false;
  Records read;
  for (const dom::key_value_pair member : devices) {
    std::optional<Record> record = read_record(member.value);
    if (!record) return false;
    read.insert_or_assign(std::string(member.key), std::move(*record));
  }
  records.merge(read);
  return true;
}

std::string encode_record(const Record& record) {
  JsonText out;
  write(out, record);
  return std::move(out).text();
}

std::optional<Record> decode_record(std::string_view text) {
  dom::element source;
  return parse(text, source) ? read_record(source) : std::nullopt;
}

}  // namespace dra::identity
