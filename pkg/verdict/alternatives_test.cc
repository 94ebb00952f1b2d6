// Random clusters and claims with `firstAvailable`: "never" is said of a request if and only if none of its
// alternatives could be had on a node with all devices free, as a slow twin counts; and alternatives of one request are
// never called missing together.
// DRA_SEED picks another start, DRA_ALTERNATIVE_CASES another number of clusters (1000).
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "pkg/base/random.h"
#include "pkg/verdict/device_words.h"
#include "pkg/verdict/verdict.h"
#include "test/support/environment.h"

namespace dra::verdict::alternatives_test {
namespace {

struct Card {
  bool fast = false, held = false;
};
struct Host {
  bool cordoned = false;
  std::vector<Card> cards;
};
struct Wish {
  int count = 1;
  bool fast = false;  // only such cards
};
using Alternatives = std::vector<Wish>;  // one: the request is no choice

struct Scene {
  std::vector<Host> hosts;
  std::vector<Alternatives> requests;
};

// ---- the twin

int cards_on(const Host& host, const Wish& wish, bool held_too) {
  return static_cast<int>(std::count_if(host.cards.begin(), host.cards.end(), [&](const Card& card) {
    return (held_too || !card.held) && (card.fast || !wish.fast);
  }));
}

// Each request has an alternative; the cards of one are taken away for the next.
bool has_all(const Scene& scene, size_t request, int fast, int slow) {
  if (request == scene.requests.size()) return true;
  for (const Wish& wish : scene.requests[request])
    for (int of_fast = 0; of_fast <= std::min(wish.count, fast); ++of_fast) {
      const int of_slow = wish.count - of_fast;
      if (of_slow > (wish.fast ? 0 : slow)) continue;
      if (has_all(scene, request + 1, fast - of_fast, slow - of_slow)) return true;
    }
  return false;
}
bool does_fit(const Scene& scene) {
  return std::any_of(scene.hosts.begin(), scene.hosts.end(), [&](const Host& host) {
    const int fast = cards_on(host, {1, true}, false);
    return !host.cordoned && has_all(scene, 0, fast, cards_on(host, {1, false}, false) - fast);
  });
}

// Whatever ends, no node has enough for the alternative; and that there are too few is not the selector's doing.
bool is_short_forever(const Scene& scene, const Wish& wish) {
  int all = 0, most = 0;
  bool rejects = false;
  for (const Host& host : scene.hosts) {
    all += cards_on(host, wish, true);
    most = std::max(most, cards_on(host, wish, true));
    rejects = rejects || cards_on(host, wish, true) < static_cast<int>(host.cards.size());
  }
  return wish.count > most && wish.count > 1 && (rejects ? all >= wish.count : all > 0);
}
bool is_never(const Scene& scene, const Alternatives& request) {
  const bool every_host =
      std::none_of(scene.hosts.begin(), scene.hosts.end(), [](const Host& h) { return h.cordoned; });
  return every_host &&
         std::all_of(request.begin(), request.end(), [&](const Wish& wish) { return is_short_forever(scene, wish); });
}

// ---- the same as objects

template <typename Request>
void ask(Request& request, const Wish& wish) {
  request.device_class_name = "card";
  request.count = wish.count;
  if (wish.fast) request.selectors = {"device.attributes[\"x.test\"].fast"};
}

class World {
 public:
  explicit World(const Scene& scene) {
    for (size_t i = 0; i < scene.hosts.size(); ++i) add("host-" + std::to_string(i), scene.hosts[i]);
    api::DeviceClass of_cards;
    of_cards.metadata.name = "card";
    of_cards.selectors = {"device.driver == \"x.test\""};
    inventory_.apply_class(of_cards);
    pod_.metadata.name = pod_.metadata.uid = "p";
    pod_.metadata.ns = "ns";
    auto claim = std::make_shared<api::ResourceClaim>();
    claim->metadata.ns = "ns";
    claim->metadata.name = claim->metadata.uid = "c";
    for (size_t r = 0; r < scene.requests.size(); ++r) {
      api::DeviceRequest& request = claim->spec.requests.emplace_back();
      request.name = "r" + std::to_string(r);
      if (scene.requests[r].size() == 1) ask(request.exactly.emplace(), scene.requests[r][0]);
      for (size_t a = 0; scene.requests[r].size() > 1 && a < scene.requests[r].size(); ++a) {
        api::DeviceSubRequest& one = request.first_available.emplace_back();
        one.name = "a" + std::to_string(a);
        ask(one, scene.requests[r][a]);
      }
    }
    question_.pod = &pod_;
    question_.claims = {claim};
  }
  Verdict judge() { return verdict::judge({cluster_, inventory_, allocator_, {}}, question_); }

 private:
  void add(const std::string& name, const Host& host) {
    auto node = std::make_shared<api::Node>();
    node->metadata.name = name;
    node->allocatable = {{"pods", "110"}};
    node->unschedulable = host.cordoned;
    inventory_.apply_node(name, {});
    cluster_.set_node(std::move(node));
    if (host.cards.empty()) return;
    api::ResourceSlice slice;
    slice.metadata.name = slice.pool.name = slice.node_name = name;
    slice.driver = "x.test";
    slice.pool.generation = slice.pool.resource_slice_count = 1;
    api::ResourceClaim holder;
    holder.metadata.ns = "other";
    holder.metadata.name = holder.metadata.uid = name;
    for (const Card& card : host.cards) {
      api::Device& device = slice.devices.emplace_back();
      device.name = "card-" + std::to_string(slice.devices.size());
      device.attributes["fast"] = card.fast;
      if (!card.held) continue;
      if (!holder.status.allocation) holder.status.allocation.emplace();
      api::DeviceRequestAllocationResult& result = holder.status.allocation->results.emplace_back();
      result.driver = "x.test";
      result.pool = name;
      result.device = device.name;
    }
    inventory_.apply_slice(slice);
    if (holder.status.allocation) inventory_.apply_claim(holder);
  }

  placement::Cluster cluster_;
  inventory::Inventory inventory_{inventory::Features::all()};
  SeededRandom random_{1};
  allocator::Allocator allocator_{inventory_, {}, random_};
  api::Pod pod_;
  Question question_;
};

Scene random_scene(uint64_t seed) {
  SeededRandom random(seed);
  Scene scene;
  const bool crowded = random.below(2) == 0;
  for (size_t i = 0, hosts = 1 + random.below(4); i < hosts; ++i) {
    Host& host = scene.hosts.emplace_back();
    host.cordoned = random.below(12) == 0;
    for (size_t c = 0, cards = random.below(5); c < cards; ++c)
      host.cards.push_back({random.below(2) == 0, crowded || random.below(2) == 0});
  }
  for (size_t r = 0, requests = 1 + random.below(2); r < requests; ++r) {
    Alternatives& request = scene.requests.emplace_back();
    for (size_t a = 0, alternatives = 1 + random.below(4); a < alternatives; ++a)
      request.push_back({static_cast<int>(1 + random.below(6)), random.below(3) == 0});
  }
  return scene;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Alternatives, NeverIsSaidOnlyIfNoneOfThemCouldBeHad) {
  const uint64_t first = test::number_from("DRA_SEED", 1), cases = test::number_from("DRA_ALTERNATIVE_CASES", 1000);
  size_t refusals = 0, never = 0, saved = 0;
  for (uint64_t seed = first; seed < first + cases; ++seed) {
    SCOPED_TRACE("DRA_SEED=" + std::to_string(seed));
    const Scene scene = random_scene(seed);
    World world(scene);
    const Verdict verdict = world.judge();
    ASSERT_EQ(verdict.answer == Answer::kFits, does_fit(scene)) << sentence(verdict);
    if (verdict.answer == Answer::kFits) continue;
    ++refusals;
    const std::string said = sentence(verdict), page = text(verdict, {0, true});
    SCOPED_TRACE(said + "\n" + page);
    size_t of_never = 0;
    for (const RequestVerdict& request : verdict.requests) {
      const Alternatives& wishes = scene.requests.at(static_cast<size_t>(request.request[1] - '0'));
      const bool wanted = is_never(scene, wishes);
      EXPECT_EQ(never_fits(verdict, request), wanted) << request.request;
      of_never += wanted ? 1 : 0;
      // Another alternative is short forever, this one is not.
      saved += !wanted && std::any_of(wishes.begin(), wishes.end(),
                                      [&](const Wish& wish) { return is_short_forever(scene, wish); });
    }
    if (of_never == 0) {
      EXPECT_FALSE(has(said, "never fits"));
      EXPECT_FALSE(has(page, "never"));
    } else if (verdict.main == Verdict::Main::kDevices) {
      ++never;
      EXPECT_TRUE(has(said, "never fits"));
      EXPECT_EQ(page.starts_with("Does not fit, and never will"),
                is_never(scene, scene.requests.at(
                                    static_cast<size_t>(verdict.requests[verdict.main_request].request[1] - '0'))));
    }
    if (scene.requests.size() == 1) {
      EXPECT_NE(verdict.main, Verdict::Main::kTogether);
      EXPECT_FALSE(has(page, "not all together"));
    }
    if (testing::Test::HasFailure()) return;
  }
  std::cout << refusals << " refusals of " << cases << " questions, " << never << " never fit, " << saved
            << " alternatives of which another is short forever\n";
  EXPECT_GT(never, cases / 100);
  EXPECT_GT(saved, cases / 100);
}

}  // namespace
}  // namespace dra::verdict::alternatives_test
