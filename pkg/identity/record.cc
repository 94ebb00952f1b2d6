#include "pkg/identity/record.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace dra::identity {
namespace {

using nlohmann::json;

constexpr size_t kMaxValues = 128;  // of a device: more are not read

json to_json(const Record& record) {
  json out = {{"is", record.own}, {"of", record.part_of}};
  if (record.node) out["node"] = *record.node;
  if (record.type) out["type"] = *record.type;
  if (record.shared) out["shared"] = true;
  return out;
}

bool read_values(const json& source, const char* key, std::vector<std::string>& out) {
  const auto found = source.find(key);
  if (found == source.end()) return true;
  if (!found->is_array() || found->size() > kMaxValues) return false;
  for (const json& one : *found) {
    if (!one.is_string()) return false;
    const auto& text = one.get_ref<const std::string&>();
    const size_t blank = text.find(' ');
    if (blank == 0 || blank == std::string::npos || blank + 1 == text.size()) return false;
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

json empty_text() {
  return {
      {"apiVersion", std::string(kRecordDriver) + "/v1"}, {"kind", "DeviceIdentities"}, {"devices", json::object()}};
}

}  // namespace

std::vector<std::string> encode_records(const Records& records) {
  std::vector<std::string> texts;
  json now = empty_text();
  const size_t frame = now.dump().size();
  size_t size = frame;
  const auto close = [&] {
    if (!now["devices"].empty()) texts.push_back(now.dump());
    now = empty_text();
    size = frame;
  };
  for (const auto& [device, record] : records) {
    json one = to_json(record);
    const size_t more = one.dump().size() + json(device).dump().size() + 2;
    if (frame + more > kMaxRecordBytes) continue;
    if (size + more > kMaxRecordBytes) close();
    size += more;
    now["devices"][device] = std::move(one);
  }
  close();
  return texts;
}

bool decode_records(std::string_view text, Records& records) {
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
  return to_json(record).dump();
}

std::optional<Record> decode_record(std::string_view text) {
  const json source = json::parse(text, nullptr, false);
  return source.is_discarded() ? std::nullopt : from_json(source);
}

}  // namespace dra::identity
