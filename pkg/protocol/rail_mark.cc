#include "pkg/protocol/rail_mark.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <variant>

#include "pkg/inventory/value_code.h"
#include "pkg/protocol/proof.h"

namespace dra::protocol {

namespace {

using nlohmann::json;

// Codes are texts already, except numbers.
std::string text_of(const std::string& code) {
  if (code.empty() || code[0] != 'i') return code;
  return "i" + std::to_string(std::get<int64_t>(inventory::decode_value(code)));
}

std::optional<std::string> code_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  if (text[0] == 's' || text[0] == 'v' || text == "b0" || text == "b1") return text;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), number);
  if (text[0] != 'i' || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return inventory::encode_value(number);
}

void read_devices(const json& devices, std::map<size_t, std::vector<std::string>>& out) {
  for (const auto& [index, values] : devices.items()) {
    size_t number = 0;
    const auto [end, error] = std::from_chars(index.data(), index.data() + index.size(), number);
    if (error != std::errc() || end != index.data() + index.size() || !values.is_array()) continue;
    std::vector<std::string> codes;
    for (const json& value : values)
      if (value.is_string())
        if (const auto code = code_of(value.get<std::string>())) codes.push_back(*code);
    std::sort(codes.begin(), codes.end());
    codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
    out[number] = std::move(codes);
  }
}

}  // namespace

std::string rails_mark(const RailsOfClaim& rails, const api::AllocationResult& allocation) {
  json out = json::object();
  for (const auto& [attribute, devices] : rails)
    for (const auto& [index, codes] : devices) {
      json values = json::array();
      for (const std::string& code : codes) values.push_back(text_of(code));
      out[attribute][std::to_string(index)] = std::move(values);
    }
  if (out.empty()) return "";
  out["of"] = allocation_hash("", allocation);
  std::string text = out.dump(-1, ' ', false, json::error_handler_t::replace);
  return text.size() > kMaxRailsMark ? "" : text;
}

RailsOfClaim marked_rails(const api::ResourceClaim& claim) {
  RailsOfClaim out;
  const auto text = claim.metadata.annotations.find(kRailsMarkAnnotation);
  if (text == claim.metadata.annotations.end() || !claim.status.allocation) return out;
  const json parsed = json::parse(text->second, nullptr, false);
  if (!parsed.is_object() || !parsed.contains("of") || parsed["of"] != allocation_hash("", *claim.status.allocation))
    return out;
  for (const auto& [attribute, devices] : parsed.items())
    if (devices.is_object()) read_devices(devices, out[attribute]);
  return out;
}

}  // namespace dra::protocol
