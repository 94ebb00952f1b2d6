#include "pkg/cel/lib/time_zone.h"

#include <cctz/time_zone.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>

namespace dra::cel::lib {

namespace {

constexpr const char* kFolder = "/usr/share/zoneinfo/";

// Names may not leave the folder of the database, nor name cctz's own zones ("Fixed/...", "libc:localtime").
bool is_zone_name(std::string_view name) {
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '+' || c == '/';
  });
  return plain && name.size() <= 255 && !name.empty() && name.front() != '/' && name.back() != '/';
}

// cctz keeps every name it is asked for, known or not, so it is asked only for files that exist.
std::optional<cctz::time_zone> load_zone(const std::string& name) {
  std::error_code ignored;
  cctz::time_zone zone;
  if (!is_zone_name(name) || !std::filesystem::is_regular_file(kFolder + name, ignored)) return std::nullopt;
  if (!cctz::load_time_zone(kFolder + name, &zone)) return std::nullopt;
  return zone;
}

// What was loaded so far; as many entries at most as the database has files.
struct ZoneCache {
  std::mutex mutex;
  std::map<std::string, cctz::time_zone, std::less<>> zones;

  std::optional<cctz::time_zone> find(std::string_view name) {
    const std::lock_guard lock(mutex);
    const auto found = zones.find(name);
    return found == zones.end() ? std::nullopt : std::optional(found->second);
  }
};

ZoneCache& zone_cache() {
  static ZoneCache cache;
  return cache;
}

std::optional<cctz::time_zone> find_zone(std::string_view name) {
  ZoneCache& cache = zone_cache();
  if (auto known = cache.find(name)) return known;
  const std::string key(name);
  const auto zone = load_zone(key);
  const std::lock_guard lock(cache.mutex);
  if (zone) cache.zones.emplace(key, *zone);
  return zone;
}

}  // namespace

bool zone_is_at_hand(std::string_view name) {
  return name.empty() || name == "UTC" || !is_zone_name(name) || zone_cache().find(name).has_value();
}

Outcome<int64_t> zone_offset(std::string_view name, int64_t unix_seconds) {
  if (name.empty() || name == "UTC") return 0;
  const auto zone = find_zone(name);
  if (!zone) return failure(RuntimeCategory::kTimeZone, "unknown time zone " + std::string(name));
  using Seconds = std::chrono::time_point<std::chrono::system_clock, cctz::seconds>;
  return zone->lookup(Seconds(cctz::seconds(unix_seconds))).offset;
}

}  // namespace dra::cel::lib
