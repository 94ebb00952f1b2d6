#include "pkg/base/spread_map.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace dra::spread_map_test {
namespace {

TEST(SpreadMap, IsAMapWhoseValuesStayInPlace) {
  for (uint32_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 dice(seed);
    SpreadMap<std::string, int> map;
    std::map<std::string, std::pair<int, int*>> known;  // the value, and where it is
    for (int step = 0; step < 20'000; ++step) {
      const std::string key = "namespace/" + std::to_string(dice() % 2'000);
      const auto at = known.find(key);
      if (dice() % 3 == 0) {
        ASSERT_EQ(map.erase(key), at != known.end());
        if (at != known.end()) known.erase(at);
      } else {
        const auto [value, added] = map.try_emplace(key, step);
        ASSERT_EQ(added, at == known.end());
        if (added) known[key] = {step, value};
      }
      const auto expected = known.find(key);
      int* const found = map.find(key);
      ASSERT_EQ(found, expected == known.end() ? nullptr : expected->second.second);
      if (found) {
        ASSERT_EQ(*found, expected->second.first);
      }
    }
    for (const auto& [key, value] : known) ASSERT_EQ(*map.find(key), value.first);
  }
}

}  // namespace
}  // namespace dra::spread_map_test
