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

// `devices`: the members of that object.
std::string whole_text(std::string_view devices) {
  JsonText out;
  out.object([&] {
    out.member("apiVersion", std::string(kRecordDriver) + "/v1");
    out.raw("devices", "{" + std::string(devices) + "}");
    out.member("kind", "DeviceIdentities");
  });
  return std::move(out).text();
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

}  // namespace

// An allocation is written with it, so no tree of JSON values is built.
std::vector<std::string> encode_records(const Records& records) {
  std::vector<std::string> texts;
  if (records.empty()) return texts;
  const size_t frame = whole_text("").size();
  std::string devices;
  const auto close = [&] {
    if (!devices.empty()) texts.push_back(whole_text(devices));
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
