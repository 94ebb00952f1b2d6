#include "pkg/identity/form.h"

#include <algorithm>
#include <cstdint>

namespace dra::identity {
namespace {

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

bool all_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(), is_hex);
}

std::optional<std::string> pci(std::string_view text) {
  constexpr size_t kDevice = 7;   // "1a:00.0"
  constexpr size_t kDigits = 4;   // of a domain, at least
  constexpr size_t kLongest = 8;  // domain
  if (text.size() < kDevice) return std::nullopt;
  const std::string_view place = text.substr(text.size() - kDevice);
  std::string_view domain = text.substr(0, text.size() - kDevice);
  if (!domain.empty()) {
    if (domain.back() != ':') return std::nullopt;
    domain.remove_suffix(1);
    if (domain.empty()) return std::nullopt;
  }
  if (domain.size() > kLongest || !all_hex(domain)) return std::nullopt;
  const bool formed = all_hex(place.substr(0, 2)) && place[2] == ':' && (place[3] == '0' || place[3] == '1') &&
                      is_hex(place[4]) && place[5] == '.' && place[6] >= '0' && place[6] <= '7';
  if (!formed) return std::nullopt;
  domain.remove_prefix(std::min(domain.find_first_not_of('0'), domain.size()));
  if (domain.empty() && place == "00:00.0") return std::nullopt;
  std::string out(kDigits - std::min(kDigits, domain.size()), '0');
  out += domain;
  out += ':';
  out += place;
  return out;
}

std::optional<std::string> nvidia_uuid(std::string_view text) {
  std::string_view uuid = text;
  if (uuid.starts_with("gpu-") || uuid.starts_with("mig-")) uuid.remove_prefix(4);
  constexpr size_t kLength = 36;
  if (uuid.size() != kLength) return std::nullopt;
  bool zero = true;
  for (size_t i = 0; i < kLength; ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? uuid[i] != '-' : !is_hex(uuid[i])) return std::nullopt;
    zero = zero && (dash || uuid[i] == '0');
  }
  return zero ? std::nullopt : std::optional<std::string>(text);
}

}  // namespace

std::optional<std::string> canonical(std::string_view space, std::string_view text) {
  if (text.empty() || text.size() > kMaxValueBytes) return std::nullopt;
  std::string lower(text);
  for (char& c : lower) {
    if (c < '!' || c > '~') return std::nullopt;
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  if (space == kPci) return pci(lower);
  if (space == kNvidiaUuid) return nvidia_uuid(lower);
  return lower;
}

}  // namespace dra::identity
