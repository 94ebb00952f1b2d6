#include "pkg/identity/record.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/base/json_text.h"

namespace dra::identity {
namespace {

using nlohmann::json;

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

// Reads a text as encode_records() writes it, without building a tree: each allocation is read twice. Anything else is
// left to the reader of JSON.
class OwnText {
 public:
  explicit OwnText(std::string_view text) : rest_(text) {}

  bool read(Records& records) {
    if (!take(head())) return false;
    do {
      std::string device;
      Record record;
      if (!text(device) || !take(":") || !read(record)) return false;
      records.insert_or_assign(std::move(device), std::move(record));
    } while (take(","));
    return rest_ == kTail;
  }

 private:
  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  bool text(std::string& out) {
    if (!take("\"")) return false;
    size_t end = 0;
    while (end < rest_.size() && rest_[end] >= ' ' && rest_[end] < 0x7f && rest_[end] != '"' && rest_[end] != '\\')
      ++end;
    if (end == rest_.size() || rest_[end] != '"') return false;
    out.assign(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return true;
  }
  bool values(std::vector<std::string>& out) {
    if (!take("[")) return false;
    if (take("]")) return true;
    do {
      if (out.size() == kMaxValues || !text(out.emplace_back()) || !is_value(out.back())) return false;
      if (out.size() > 1 && out[out.size() - 2] >= out.back()) return false;
    } while (take(","));
    return take("]");
  }
  bool read(Record& record) {
    if (!take("{\"is\":") || !values(record.own)) return false;
    if (take(",\"node\":") && !text(record.node.emplace())) return false;
    if (!take(",\"of\":") || !values(record.part_of)) return false;
    record.shared = take(",\"shared\":true");
    if (take(",\"type\":") && !text(record.type.emplace())) return false;
    return take("}");
  }

  std::string_view rest_;
};

bool read_values(const json& source, const char* key, std::vector<std::string>& out) {
  const auto found = source.find(key);
  if (found == source.end()) return true;
  if (!found->is_array() || found->size() > kMaxValues) return false;
  for (const json& one : *found) {
    if (!one.is_string()) return false;
    const auto& text = one.get_ref<const std::string&>();
    if (!is_value(text)) return false;
    out.push_back(text);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return true;
}

bool read_text(const json& source, const char* key, std::optional<std::string>& out) {
  const auto found = source.find(key);
  if (found == source.end()) return true;
  if (!found->is_string()) return false;
  out = found->get<std::string>();
  return true;
}

std::optional<Record> from_json(const json& source) {
  Record record;
  if (!source.is_object() || !read_values(source, "is", record.own) || !read_values(source, "of", record.part_of) ||
      !read_text(source, "node", record.node) || !read_text(source, "type", record.type))
    return std::nullopt;
  const auto shared = source.find("shared");
  record.shared = shared != source.end() && shared->is_boolean() && shared->get<bool>();
  return record;
}

}  // namespace

// An allocation is written with it, so no tree of JSON values is built.
std::vector<std::string> encode_records(const Records& records) {
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
    if (frame + member.size() > kMaxRecordBytes) continue;
    if (frame + devices.size() + 1 + member.size() > kMaxRecordBytes) close();
    devices.append(devices.empty() ? "" : ",").append(member);
  }
  close();
  return texts;
}

bool decode_records(std::string_view text, Records& records) {
  if (Records own; OwnText(text).read(own)) {
    records.merge(own);
    return true;
  }
  const json source = json::parse(text, nullptr, false);
  if (!source.is_object()) return false;
  const auto devices = source.find("devices");
  if (devices == source.end() || !devices->is_object()) return false;
  Records read;
  for (const auto& [device, one] : devices->items()) {
    std::optional<Record> record = from_json(one);
    if (!record) return false;
    read.emplace(device, std::move(*record));
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
  const json source = json::parse(text, nullptr, false);
  return source.is_discarded() ? std::nullopt : from_json(source);
}

}  // namespace dra::identity
