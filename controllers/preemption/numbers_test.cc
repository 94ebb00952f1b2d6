#include "controllers/preemption/numbers.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <string>

#include "pkg/base/random.h"

namespace dra::preemption {
namespace {

// As a map from keys, of which the first object counts.
TEST(Numbers, FindWhatAMapFinds) {
  SeededRandom random(1);
  for (const size_t most : {0, 1, 15, 16, 17, 500}) {
    std::deque<api::ObjectMeta> objects;
    std::map<std::string, uint32_t> expected;
    Numbers numbers;
    EXPECT_EQ(numbers.find("a/b"), nullptr) << "before anything is known";
    numbers.reserve(most);
    for (uint32_t i = 0; i < most; ++i) {
      api::ObjectMeta& object = objects.emplace_back();
      object.ns = "ns" + std::to_string(random.below(3));
      object.name = std::to_string(random.below(most));
      numbers.add(object, i);
      expected.emplace(object.key(), i);
    }
    for (int ns = 0; ns < 4; ++ns)
      for (size_t name = 0; name < most + 2; ++name) {
        const std::string key = "ns" + std::to_string(ns) + "/" + std::to_string(name);
        const auto known = expected.find(key);
        const uint32_t* found = numbers.find(key);
        ASSERT_EQ(found != nullptr, known != expected.end()) << key;
        ASSERT_EQ(found == nullptr ? 0 : *found, known == expected.end() ? 0 : known->second) << key;
      }
    EXPECT_EQ(numbers.find("without-a-slash"), nullptr);
  }
}

}  // namespace
}  // namespace dra::preemption
