#include "pkg/cel/lib/time_zone.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "pkg/cel/lib/time_zone_rule.h"

namespace dra::cel::lib {

namespace {

constexpr size_t kMaxZoneFile = 1 << 20;

struct Zone {
  std::vector<int64_t> transitions;  // Unix seconds, ascending
  std::vector<uint8_t> types;        // the type from each transition on
  std::vector<int32_t> offsets;      // of each type, seconds east
  uint8_t first_type = 0;            // before the first transition
  std::optional<ZoneRule> rule;      // behind the last one
};

// Big-endian numbers out of a file that may end too early.
class ZoneReader {
 public:
  explicit ZoneReader(std::string_view data) : rest_(data) {}

  bool ok() const { return ok_; }
  std::string_view rest() const { return rest_; }
  void skip(uint64_t bytes) { (void)take(bytes); }
  uint8_t byte() { return static_cast<uint8_t>(number(1)); }
  int64_t number(size_t bytes) {
    const std::string_view data = take(bytes);
    uint64_t value = bytes > 0 && !data.empty() && (data[0] & 0x80) != 0 ? ~uint64_t{0} : 0;
    for (const char c : data) value = value << 8 | static_cast<unsigned char>(c);
    return static_cast<int64_t>(value);
  }

 private:
  std::string_view take(uint64_t bytes) {
    if (!ok_ || bytes > rest_.size()) {
      ok_ = false;
      return {};
    }
    const std::string_view data = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return data;
  }

  std::string_view rest_;
  bool ok_ = true;
};

struct ZoneHeader {
  char version = 0;
  uint64_t utc_flags = 0, standard_flags = 0, leaps = 0, transitions = 0, types = 0, letters = 0;
};

bool read_zone_header(ZoneReader& in, ZoneHeader& h) {
  if (!in.rest().starts_with("TZif")) return false;
  in.skip(4);
  h.version = static_cast<char>(in.byte());
  in.skip(15);
  for (uint64_t* field : {&h.utc_flags, &h.standard_flags, &h.leaps, &h.transitions, &h.types, &h.letters})
    *field = static_cast<uint64_t>(in.number(4)) & 0xffffffff;
  return in.ok();
}

bool read_zone_body(ZoneReader& in, const ZoneHeader& h, size_t time_bytes, Zone& zone) {
  if (h.types == 0 || h.types > 256 || h.transitions > kMaxZoneFile) return false;
  for (uint64_t i = 0; i < h.transitions && in.ok(); ++i) zone.transitions.push_back(in.number(time_bytes));
  for (uint64_t i = 0; i < h.transitions && in.ok(); ++i) zone.types.push_back(in.byte());
  std::vector<bool> daylight;
  for (uint64_t i = 0; i < h.types; ++i) {
    zone.offsets.push_back(static_cast<int32_t>(in.number(4)));
    daylight.push_back(in.byte() != 0);
    in.skip(1);
  }
  in.skip(h.letters + h.leaps * (time_bytes + 4) + h.standard_flags + h.utc_flags);
  const bool types_known = std::all_of(zone.types.begin(), zone.types.end(), [&](uint8_t t) { return t < h.types; });
  if (!in.ok() || !types_known || !std::is_sorted(zone.transitions.begin(), zone.transitions.end())) return false;
  const auto standard = std::find(daylight.begin(), daylight.end(), false);
  zone.first_type = daylight[0] && standard != daylight.end() ? static_cast<uint8_t>(standard - daylight.begin()) : 0;
  return true;
}

std::optional<Zone> parse_zone(std::string_view data) {
  ZoneReader in(data);
  ZoneHeader header;
  Zone zone;
  if (!read_zone_header(in, header)) return std::nullopt;
  if (header.version == 0) {
    if (!read_zone_body(in, header, 4, zone)) return std::nullopt;
    return zone;
  }
  // Newer files repeat everything with 64-bit times, and end with a rule for the time behind the table.
  in.skip(header.transitions * 5 + header.types * 6 + header.letters + header.leaps * 8 + header.standard_flags +
          header.utc_flags);
  if (!read_zone_header(in, header) || !read_zone_body(in, header, 8, zone)) return std::nullopt;
  std::string_view footer = in.rest();
  if (footer.starts_with('\n')) {
    footer.remove_prefix(1);
    zone.rule = parse_zone_rule(footer.substr(0, footer.find('\n')));
  }
  return zone;
}

// Names may not leave the folder of the database.
bool is_zone_name(std::string_view name) {
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '+' || c == '/';
  });
  return plain && name.size() <= 255 && !name.empty() && name.front() != '/' && name.back() != '/';
}

std::shared_ptr<const Zone> load_zone(std::string_view name) {
  if (!is_zone_name(name)) return nullptr;
  for (const char* folder : {"/usr/share/zoneinfo/", "/usr/share/lib/zoneinfo/", "/etc/zoneinfo/"}) {
    std::ifstream file(folder + std::string(name), std::ios::binary);
    if (!file) continue;
    std::string data(kMaxZoneFile, '\0');
    file.read(data.data(), static_cast<std::streamsize>(data.size()));
    data.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
    if (auto zone = parse_zone(data)) return std::make_shared<const Zone>(std::move(*zone));
  }
  return nullptr;
}

struct ZoneCache {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<const Zone>, std::less<>> zones;

  std::shared_ptr<const Zone> find(std::string_view name) {
    const std::lock_guard lock(mutex);
    const auto found = zones.find(name);
    return found == zones.end() ? nullptr : found->second;
  }
};

ZoneCache& zone_cache() {
  static ZoneCache cache;
  return cache;
}

// Null for unknown names; those are not kept, so that nobody can fill the cache with them.
std::shared_ptr<const Zone> find_zone(std::string_view name) {
  ZoneCache& cache = zone_cache();
  if (auto known = cache.find(name)) return known;
  auto zone = load_zone(name);
  const std::lock_guard lock(cache.mutex);
  if (zone != nullptr && cache.zones.size() < kMaxCachedZones) cache.zones.emplace(name, zone);
  return zone;
}

int64_t offset_at(const Zone& zone, int64_t time) {
  const auto next = std::upper_bound(zone.transitions.begin(), zone.transitions.end(), time);
  if (next == zone.transitions.end() && zone.rule) return rule_offset(*zone.rule, time);
  if (next == zone.transitions.begin()) return zone.offsets[zone.first_type];
  return zone.offsets[zone.types[static_cast<size_t>(next - zone.transitions.begin()) - 1]];
}

}  // namespace

bool zone_is_at_hand(std::string_view name) {
  return name.empty() || name == "UTC" || !is_zone_name(name) || zone_cache().find(name) != nullptr;
}

Outcome<int64_t> zone_offset(std::string_view name, int64_t unix_seconds) {
  if (name.empty() || name == "UTC") return 0;
  const auto zone = find_zone(name);
  if (zone == nullptr) return failure(RuntimeCategory::kTimeZone, "unknown time zone " + std::string(name));
  return offset_at(*zone, unix_seconds);
}

}  // namespace dra::cel::lib
