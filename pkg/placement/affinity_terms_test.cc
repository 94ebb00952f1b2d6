#include "pkg/placement/affinity_terms.h"

#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <set>
#include <tuple>

#include "pkg/base/random.h"
#include "test/support/cpu_millis.h"

namespace dra::placement::affinity_terms_test {
namespace {

using test::cpu_millis;

api::PodAffinityTerm term(const std::string& key, const std::string& op, std::vector<std::string> values) {
  api::PodAffinityTerm made;
  made.topology_key = "host";
  made.label_selector = api::LabelSelector{{}, {{key, op, std::move(values)}}};
  return made;
}

struct Placed {
  api::Pod pod;
  NodeIndex node = 0;
  std::vector<AffinityTerms::Carried> carried;
};

// Terms of pods on nodes, and the same answers by asking every term of every pod.
class World {
 public:
  void place(api::Pod pod, NodeIndex node) {
    Placed& made = placed_.emplace_back(Placed{std::move(pod), node, {}});
    made.carried = terms.acquire(made.pod);
    terms.add(made.carried, node, 1);
  }
  void remove(size_t i) {
    terms.add(placed_[i].carried, placed_[i].node, -1);
    terms.release(placed_[i].carried);
    placed_.erase(placed_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  size_t size() const { return placed_.size(); }

  using Sums = std::map<std::string, std::map<NodeIndex, std::tuple<int64_t, int64_t>>>;
  static Sums sums_of(const AffinityTerms::Audience& audience) {
    Sums sums;
    for (const auto& [key, on_nodes] : audience.on_nodes)
      for (const auto& [node, totals] : on_nodes) sums[key][node] = {totals.anti, totals.weight};
    return sums;
  }
  Sums slowly(const std::string& ns, const api::StringMap& ns_labels, const api::StringMap& labels,
              std::set<std::string>& matching, bool& selecting) const {
    Sums sums;
    selecting = false;
    const auto ask = [&](const Placed& one, const api::PodAffinityTerm& asked, int64_t anti, int64_t weight) {
      const AffinityTerm parsed = AffinityTerm::of(asked, one.pod.metadata.ns);
      selecting = selecting || parsed.depends_on_namespace(ns, labels);
      if (!parsed.matches(ns, ns_labels, labels)) return;
      matching.insert(parsed.text());
      auto& [antis, weights] = sums[parsed.topology_key][one.node];
      antis += anti;
      weights += weight;
    };
    for (const Placed& one : placed_) {
      for (const auto& t : one.pod.pod_anti_affinity.required) ask(one, t, 1, 0);
      for (const auto& t : one.pod.pod_affinity.required) ask(one, t, 0, 1);
      for (const auto& t : one.pod.pod_affinity.preferred) ask(one, t.term, 0, t.weight);
      for (const auto& t : one.pod.pod_anti_affinity.preferred) ask(one, t.term, 0, -t.weight);
    }
    return sums;
  }

  AffinityTerms terms;

 private:
  std::vector<Placed> placed_;
};

class Dice {
 public:
  explicit Dice(uint64_t seed) : random_(seed) {}
  bool one_in(uint64_t n) { return random_.below(n) == 0; }
  size_t below(uint64_t n) { return random_.below(n); }
  std::string of(std::initializer_list<const char*> texts) { return *(texts.begin() + below(texts.size())); }
  api::StringMap labels() {
    api::StringMap made;
    for (const char* key : {"app", "index", "team"})
      if (one_in(2)) made[key] = of({"a", "b", "c"});
    return made;
  }
  api::PodAffinityTerm any_term() {
    api::PodAffinityTerm made =
        term(of({"app", "index", "team", "other"}), of({"In", "NotIn", "Exists", "DoesNotExist"}), {});
    auto& requirement = made.label_selector->match_expressions[0];
    if (requirement.op.ends_with("In")) requirement.values = {of({"a", "b"}), of({"b", "c"})};
    if (one_in(3)) made.label_selector->match_labels["app"] = of({"a", "b"});
    made.topology_key = of({"host", "zone"});
    if (one_in(3)) made.namespaces = {of({"n1", "n2"}), of({"n2", "n3"})};
    if (one_in(4)) made.namespace_selector = api::LabelSelector{};
    if (one_in(5)) made.namespace_selector = api::LabelSelector{{{"tier", of({"x", "y"})}}, {}};
    return made;
  }
  api::Pod pod() {
    api::Pod made;
    made.metadata.ns = of({"n1", "n2", "n3"});
    if (one_in(2)) made.pod_anti_affinity.required.push_back(any_term());
    if (one_in(3)) made.pod_affinity.required.push_back(any_term());
    if (one_in(3)) made.pod_affinity.preferred.push_back({5, any_term()});
    if (one_in(3)) made.pod_anti_affinity.preferred.push_back({3, any_term()});
    return made;
  }

 private:
  SeededRandom random_;
};

TEST(AffinityTerms, AudiencesFollowEveryChange) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    Dice dice(seed);
    World world;
    for (int step = 0; step < 120; ++step) {
      if (world.size() == 0 || !dice.one_in(3))
        world.place(dice.pod(), static_cast<NodeIndex>(dice.below(6)));
      else
        world.remove(dice.below(world.size()));
      for (int ask = 0; ask < 2; ++ask) {
        const std::string ns = dice.of({"n1", "n2", "n3", "n4"});
        const api::StringMap labels = dice.labels();
        api::StringMap ns_labels;
        if (dice.one_in(2)) ns_labels["tier"] = dice.of({"x", "y"});
        const AffinityTerms::Audience& audience = world.terms.audience(ns, ns_labels, labels);
        std::set<std::string> matching;
        bool selecting = false;
        ASSERT_EQ(World::sums_of(audience), world.slowly(ns, ns_labels, labels, matching, selecting))
            << "seed " << seed << ", step " << step;
        ASSERT_EQ(audience.terms, matching.size()) << "seed " << seed << ", step " << step;
        ASSERT_EQ(audience.selecting > 0, selecting) << "seed " << seed << ", step " << step;
      }
    }
    while (world.size() > 0) world.remove(0);
    EXPECT_EQ(world.terms.terms(), 0u);
    EXPECT_TRUE(World::sums_of(world.terms.audience("n1", {}, {{"app", "a"}})).empty());
  }
}

// 10,000 pods of a tenant, each with a term of its own that no label excludes.
TEST(AffinityTerms, TermsWithoutALabelCostOtherNamespacesNextToNothing) {
  World world;
  // The terms read the label "app": pods that differ in it meet a namespace's terms one by one.
  const auto ask = [&](const std::string& ns, bool same_app) {
    constexpr int kPods = 500;
    const double before = cpu_millis();
    for (int i = 0; i < kPods; ++i) {
      const std::string index = std::to_string(i);
      world.terms.audience(ns, {}, {{"app", same_app ? "web" : "web" + index}, {"index", index}});
    }
    return (cpu_millis() - before) / kPods;
  };
  for (const bool everywhere : {false, true}) {
    for (int i = 0; i < 10'000; ++i) {
      api::Pod pod;
      pod.metadata.ns = "tenant";
      pod.pod_anti_affinity.preferred.push_back({1, term("app", "NotIn", {"x" + std::to_string(i)})});
      if (everywhere) pod.pod_anti_affinity.preferred[0].term.namespace_selector = api::LabelSelector{};
      world.place(std::move(pod), static_cast<NodeIndex>(i % 1000));
    }
    const double millis = ask("other", everywhere);
    std::cout << (everywhere ? "terms for every namespace: " : "terms for its own namespace: ") << millis * 1e3
              << " us a pod\n";
    EXPECT_LT(millis, 0.1);
  }
  EXPECT_EQ(world.terms.audience("other", {}, {{"app", "web"}}).terms, 10'000u);
  EXPECT_EQ(world.terms.audience("other", {}, {{"app", "x7"}}).terms, 9'999u);
}

}  // namespace
}  // namespace dra::placement::affinity_terms_test
