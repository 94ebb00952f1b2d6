#include "pkg/allocator/groups/group_counter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <numeric>

#include "pkg/base/random.h"

namespace dra::allocator::group_counter_test {
namespace {

using Answer = GroupCounter::Answer;
constexpr uint64_t kNoLimit = UINT64_MAX / 4;

struct Device {
  std::vector<uint32_t> values;
  std::vector<uint32_t> terms;  // that could take it; of several, only one
  bool taken = false;
};

struct Instance {
  std::vector<uint32_t> numbers;
  std::vector<uint32_t> more;
  std::vector<Device> devices;
};

std::vector<GroupTerm> terms_of(const Instance& one) {
  std::vector<GroupTerm> terms(one.numbers.size());
  for (uint32_t t = 0; t < terms.size(); ++t) {
    terms[t].number = one.numbers[t];
    terms[t].more = one.more[t];
  }
  for (uint32_t d = 0; d < one.devices.size(); ++d) {
    const Device& device = one.devices[d];
    for (const uint32_t t : device.terms) {
      if (device.values.empty()) {
        terms[t].taken_without_value += device.taken;
        continue;
      }
      GroupDevice added{device.values.data(), device.values.data() + device.values.size(),
                        device.terms.size() > 1 ? d : kNoRival};
      (device.taken ? terms[t].taken : terms[t].free).push_back(added);
    }
  }
  return terms;
}

// Every way to let free devices be taken by a term, or not, and to stand for a value.
bool by_trial(const Instance& one, uint64_t groups) {
  std::map<uint32_t, std::vector<uint32_t>> standing;
  std::vector<uint32_t> left = one.more;
  std::function<bool(size_t)> decide = [&](size_t d) {
    if (d == one.devices.size()) {
      uint64_t sum = 0;
      for (const auto& [value, counts] : standing) {
        uint64_t least = UINT64_MAX;
        for (size_t t = 0; t < counts.size(); ++t) least = std::min<uint64_t>(least, counts[t] / one.numbers[t]);
        sum += least;
      }
      return sum >= groups;
    }
    const Device& device = one.devices[d];
    if (decide(d + 1)) return true;
    for (const uint32_t t : device.terms) {
      if (!device.taken && left[t] == 0) continue;
      left[t] -= !device.taken;
      for (const uint32_t value : device.values) {
        std::vector<uint32_t>& counts = standing[value];
        counts.resize(one.numbers.size(), 0);
        ++counts[t];
        const bool found = decide(d + 1);
        --standing[value][t];
        if (found) return true;
      }
      left[t] += !device.taken;
    }
    return false;
  };
  return decide(0);
}

Instance random_instance(Random& random, bool taken) {
  Instance one;
  const auto terms = static_cast<uint32_t>(1 + random.below(3));
  const bool lists = random.below(2) == 0, rivals = random.below(3) == 0;
  const uint64_t values = 1 + random.below(4);
  for (uint32_t t = 0; t < terms; ++t) {
    one.numbers.push_back(static_cast<uint32_t>(1 + random.below(3) / 2));
    one.more.push_back(taken ? static_cast<uint32_t>(random.below(4)) : 100);
  }
  const uint64_t devices = 2 + random.below(6);
  for (uint64_t d = 0; d < devices; ++d) {
    Device& device = one.devices.emplace_back();
    if (random.below(12) > 0) device.values.push_back(static_cast<uint32_t>(random.below(values)));
    for (uint32_t v = 0; v < values && lists; ++v)
      if (random.below(3) == 0) device.values.push_back(v);
    std::sort(device.values.begin(), device.values.end());
    device.values.erase(std::unique(device.values.begin(), device.values.end()), device.values.end());
    device.taken = taken && random.below(2) == 0;
    device.terms.push_back(static_cast<uint32_t>(random.below(terms)));
    if (rivals && !device.taken && terms > 1) device.terms = {0, 1};
  }
  return one;
}

TEST(GroupCounter, CountsWhatTrialFinds) {
  SeededRandom random(11);
  GroupCounter counter;
  uint64_t most_seen = 0;
  for (int round = 0; round < 4000; ++round) {
    const Instance one = random_instance(random, false);
    const std::vector<GroupTerm> terms = terms_of(one);
    uint32_t most = 0;
    while (by_trial(one, most + 1)) ++most;
    most_seen += most;
    ASSERT_EQ(counter.most(terms, 9, kNoLimit), most) << "round " << round;
    ASSERT_EQ(counter.can_form(terms, most + 1, kNoLimit), Answer::kNo) << "round " << round;
    ASSERT_EQ(counter.can_form(terms, most, kNoLimit), Answer::kYes) << "round " << round;
  }
  EXPECT_GT(most_seen, 2000u);
}

// With devices taken, "no" must be right; "yes" is a bound, and mostly right.
TEST(GroupCounter, RefusesNothingThatTrialFinds) {
  SeededRandom random(12);
  GroupCounter counter;
  uint64_t refused = 0, missed = 0;
  for (int round = 0; round < 6000; ++round) {
    const Instance one = random_instance(random, true);
    const std::vector<GroupTerm> terms = terms_of(one);
    for (uint64_t groups = 1; groups < 4; ++groups) {
      // So many devices are taken in the end, or the state would not be one of a search.
      const Answer answer = counter.can_form(terms, groups, kNoLimit);
      const bool possible = by_trial(one, groups);
      if (possible) {
        ASSERT_NE(answer, Answer::kNo) << "round " << round << ", " << groups;
      }
      refused += answer == Answer::kNo;
      missed += answer != Answer::kNo && !possible;
    }
  }
  std::cout << refused << " refused, " << missed << " more could have been\n";
  EXPECT_GT(refused, 5000u);
  EXPECT_LT(missed, refused / 20);
}

// The worst that a tenant and a driver can write: bounded, and "unknown" at the limit.
TEST(GroupCounter, EndsAtItsLimit) {
  SeededRandom random(13);
  std::vector<std::vector<uint32_t>> lists;
  for (int d = 0; d < 8 * 32; ++d) {
    std::vector<uint32_t>& list = lists.emplace_back();
    for (uint32_t v = 0; v < 128; ++v)
      if (random.below(2) == 0) list.push_back(v);
  }
  std::vector<GroupTerm> terms(8);
  for (size_t t = 0; t < terms.size(); ++t) {
    terms[t].number = static_cast<uint32_t>(1 + t % 3);
    terms[t].more = 32;
    for (size_t d = 0; d < 32; ++d) {
      const std::vector<uint32_t>& list = lists[t * 32 + d];
      terms[t].free.push_back({list.data(), list.data() + list.size(), kNoRival});
    }
  }
  GroupCounter counter;
  for (const uint64_t limit : {uint64_t{0}, uint64_t{1000}, uint64_t{100'000}}) {
    const uint64_t before = counter.work();
    counter.can_form(terms, 10, limit);
    EXPECT_LT(counter.work() - before, limit + 3'000'000);
  }
}

}  // namespace
}  // namespace dra::allocator::group_counter_test
