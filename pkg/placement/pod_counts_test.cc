// The answers of PodCounts against a plain loop, and the bytes that its queries may take.
#include "pkg/placement/pod_counts.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <map>

#include "pkg/base/clock.h"
#include "pkg/base/random.h"

namespace dra::placement::pod_counts_test {
namespace {

PodQuery query_of(NamespaceSet namespaces, api::LabelSelectorRequirement requirement) {
  PodQuery out;
  out.parts.push_back({std::move(namespaces), Selector(api::LabelSelector{{}, {std::move(requirement)}})});
  return out;
}

// Matches every pod, and has a text of its own.
PodQuery all_but(const std::string& value) {
  return query_of({true, {}}, {"index", "NotIn", {value}});
}

struct Fleet {
  explicit Fleet(PodCounts& counts, size_t sets) : counts_(counts) {
    for (size_t i = 0; i < sets; ++i) {
      ids.push_back(counts.acquire("default", {{"index", std::to_string(i)}}));
      counts.add(ids.back(), static_cast<NodeIndex>(i % 200), false, 1);
    }
  }
  void leave() {
    for (size_t i = 0; i < ids.size(); ++i) {
      counts_.add(ids[i], static_cast<NodeIndex>(i % 200), false, -1);
      counts_.release(ids[i]);
    }
  }
  PodCounts& counts_;
  std::vector<PodCounts::SetId> ids;
};

// 30 pods with 220 such terms each took 196 MiB, and each further pod more: forgotten queries stayed in the lists of
// the 3,000 label sets.
TEST(PodCounts, ManyDifferentQueriesStayWithinTheBytes) {
  PodCounts counts;
  Fleet fleet(counts, 3000);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 700; ++i) {
      EXPECT_EQ(counts.matching(all_but("x" + std::to_string(i))).size(), 200u);
      if (i % 20 == 0) counts.trim();
      ASSERT_LE(counts.bytes(), PodCounts::kMaxBytes);
      ASSERT_LE(counts.links(), PodCounts::kMaxBytes / 32);
    }
  }
  EXPECT_GT(counts.queries(), 0u);
  EXPECT_EQ(counts.links(), counts.queries() * 3000) << "no label set lists a forgotten query";
}

TEST(PodCounts, IdleQueriesAreForgottenAndLeaveNothingBehind) {
  PodCounts counts;
  Fleet fleet(counts, 100);
  for (int i = 0; i < 50; ++i) counts.matching(all_but("x" + std::to_string(i)));
  EXPECT_EQ(counts.queries(), 50u);
  for (uint64_t i = 0; i <= PodCounts::kIdleDecisions; ++i) {
    counts.trim();
    counts.matching(all_but("x0"));
  }
  EXPECT_EQ(counts.queries(), 1u);
  EXPECT_EQ(counts.links(), 100u);
  fleet.leave();
  EXPECT_EQ(counts.links(), 0u);
  for (uint64_t i = 0; i <= PodCounts::kIdleDecisions; ++i) counts.trim();
  EXPECT_EQ(counts.queries(), 0u);
  EXPECT_EQ(counts.bytes(), 0u);
}

TEST(PodCounts, QueriesUnusedSinceADecisionGoOneByOneUntilTheyTakeLittle) {
  PodCounts counts;
  Fleet fleet(counts, 300);
  while (counts.bytes() < 2 * PodCounts::kLittleBytes) counts.matching(all_but("x" + std::to_string(counts.queries())));
  const size_t before = counts.queries();
  EXPECT_FALSE(counts.forget_one_unused_since(counts.decision()));
  counts.trim();
  counts.matching(all_but("x0"));
  size_t forgotten = 0;
  while (counts.forget_one_unused_since(counts.decision())) ++forgotten;
  EXPECT_EQ(counts.queries(), before - forgotten);
  EXPECT_LE(counts.bytes(), PodCounts::kLittleBytes);
  EXPECT_GT(counts.bytes(), PodCounts::kLittleBytes / 2);
  const size_t kept = counts.queries();
  counts.matching(all_but("x0"));
  EXPECT_EQ(counts.queries(), kept) << "the one in use was still there";
}

TEST(PodCounts, AQueryAskedOnceDoesNotDisplaceOneInUse) {
  PodCounts counts(size_t{1} << 20);
  Fleet fleet(counts, 300);
  for (int i = 0; i < 20; ++i) counts.matching(all_but("used" + std::to_string(i)));
  const size_t used = counts.queries();
  for (int i = 0; i < 1000; ++i) counts.matching(all_but("once" + std::to_string(i)));
  const size_t kept = counts.queries();
  EXPECT_LE(counts.bytes(), (size_t{1} << 20) / 2);
  for (int i = 0; i < 20; ++i) counts.matching(all_but("used" + std::to_string(i)));
  EXPECT_EQ(used, 20u);
  EXPECT_EQ(counts.queries(), kept) << "all 20 were still there";
  counts.matching(all_but("twice"));
  EXPECT_EQ(counts.queries(), kept);
  counts.matching(all_but("twice"));
  EXPECT_EQ(counts.queries(), kept + 1);
}

// With room for all queries, for few and for none.
TEST(PodCountsProperty, AnswersEqualAPlainLoopWhateverIsForgotten) {
  const uint64_t seed = entropy_seed();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  SeededRandom random(seed);
  const auto letter = [&](size_t of) { return std::string(1, static_cast<char>('a' + random.below(of))); };
  const auto some_query = [&] {
    const NamespaceSet in = random.below(2) == 0 ? NamespaceSet{true, {}} : NamespaceSet{false, {letter(2)}};
    PodQuery query = query_of(in, {letter(2), random.below(2) == 0 ? "In" : "NotIn", {letter(3)}});
    if (random.below(4) == 0)
      query.parts.push_back({in, Selector(api::LabelSelector{{}, {{letter(2), "Exists", {}}}})});
    return query;
  };
  struct Pod {
    std::string ns;
    api::StringMap labels;
    PodCounts::SetId set = 0;
    NodeIndex node = 0;
    bool terminating = false;
  };
  for (const size_t max_bytes : {size_t{1} << 20, size_t{9000}, size_t{0}}) {
    PodCounts counts(max_bytes);
    std::vector<Pod> pods;
    for (int step = 0; step < 4000; ++step) {
      if (pods.size() > 20 || (!pods.empty() && random.below(3) == 0)) {
        const size_t at = random.below(pods.size());
        counts.add(pods[at].set, pods[at].node, pods[at].terminating, -1);
        counts.release(pods[at].set);
        pods.erase(pods.begin() + static_cast<ptrdiff_t>(at));
      } else {
        Pod pod{letter(2), {{letter(2), letter(3)}}, 0, static_cast<NodeIndex>(random.below(4)), random.below(5) == 0};
        pod.labels.emplace(letter(2), letter(3));
        pod.set = counts.acquire(pod.ns, pod.labels);
        counts.add(pod.set, pod.node, pod.terminating, 1);
        pods.push_back(std::move(pod));
      }
      if (random.below(8) == 0) counts.trim();
      const PodQuery query = some_query();
      std::map<NodeIndex, std::pair<int32_t, int32_t>> expected, actual;
      for (const Pod& pod : pods)
        if (query.matches(pod.ns, pod.labels))
          ++(pod.terminating ? expected[pod.node].second : expected[pod.node].first);
      for (const auto& [node, count] : counts.matching(query)) actual[node] = {count.running, count.terminating};
      ASSERT_EQ(actual, expected) << "seed " << seed << ", step " << step << ", " << max_bytes << " bytes";
    }
    EXPECT_TRUE(max_bytes > 0 || counts.queries() == 0);
    while (!pods.empty()) {
      counts.add(pods.back().set, pods.back().node, pods.back().terminating, -1);
      counts.release(pods.back().set);
      pods.pop_back();
    }
    EXPECT_EQ(counts.sets(), 0u);
    EXPECT_EQ(counts.links(), 0u);
  }
}

}  // namespace
}  // namespace dra::placement::pod_counts_test
