// Seeded causes, singly and in pairs: the verdict names the right one first, and its counts add up.
#include "pkg/verdict/verdict.h"

#include <gmock/gmock.h>

#include "pkg/base/utf8.h"
#include "pkg/verdict/verdict_fixture.h"

namespace dra::verdict::verdict_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

void check_sums(const Verdict& verdict, const std::string& what) {
  for (const RequestVerdict& request : verdict.requests) {
    uint64_t sum = request.not_selected;
    for (const DeviceGroup& group : request.groups) sum += group.devices;
    EXPECT_EQ(sum, request.examined) << what << ": " << sentence(verdict);
    EXPECT_EQ(request.examined, request.asked) << what;
  }
  uint32_t nodes = 0;
  for (const NodeGroup& group : verdict.node_groups) nodes += group.nodes;
  if (verdict.main != Verdict::Main::kRefused) {
    EXPECT_EQ(nodes, verdict.nodes) << what;
  }
}

size_t place_of(const std::string& text, const std::string& words) {
  return text.find(words);
}

TEST(Verdict, FitsWhereNothingIsWrong) {
  VerdictWorld world;
  const Verdict verdict = world.judge();
  EXPECT_EQ(verdict.answer, Answer::kFits) << sentence(verdict);
  EXPECT_EQ(verdict.node, "n0");
  EXPECT_THAT(text(verdict), StartsWith("Fits on node n0.\n  gpu: gpu.example.com/"));
}

TEST(Verdict, EachSeededCauseIsNamedFirst) {
  ASSERT_GE(seeded_causes().size(), 24u);
  for (const SeededCause& cause : seeded_causes()) {
    VerdictWorld world;
    cause.seed(world);
    const Verdict verdict = world.judge();
    ASSERT_EQ(verdict.answer, Answer::kDoesNotFit) << cause.name;
    check_sums(verdict, cause.name);
    const std::string said = sentence(verdict), page = text(verdict, {10'000, false});
    ASSERT_THAT(said, HasSubstr(cause.words)) << cause.name;
    // The page's headline is about the same obstacle.
    EXPECT_THAT(page.substr(0, page.find('\n')), HasSubstr(cause.headline.empty() ? cause.words : cause.headline))
        << cause.name << "\n"
        << page;
    for (const SeededCause& other : seeded_causes()) {
      if (other.words == cause.words) continue;
      EXPECT_EQ(place_of(said, other.words), std::string::npos)
          << cause.name << " names " << other.name << ": " << said;
    }
  }
}

// A refusal of the claims or the pod as such comes first, then what keeps the pod off every node, in kube-scheduler's
// order; then devices.
TEST(Verdict, PairsNameTheOneThatRanksFirst) {
  size_t pairs = 0;
  for (size_t i = 0; i < seeded_causes().size(); ++i)
    for (size_t j = i + 1; j < seeded_causes().size(); ++j) {
      const SeededCause &first = seeded_causes()[i], &second = seeded_causes()[j];
      if (first.excludes == second.excludes && !first.excludes.empty()) continue;
      VerdictWorld world;
      first.seed(world);
      second.seed(world);
      const std::string what = first.name + " and " + second.name;
      const Verdict verdict = world.judge();
      ASSERT_EQ(verdict.answer, Answer::kDoesNotFit) << what;
      check_sums(verdict, what);
      const std::string said = sentence(verdict);
      const size_t a = place_of(said, first.words), b = place_of(said, second.words);
      if (first.rank != second.rank) {
        EXPECT_LT(first.rank < second.rank ? a : b, first.rank < second.rank ? b : a) << what << ": " << said;
      } else {
        EXPECT_NE(std::min(a, b), std::string::npos) << what << ": " << said;
      }
      ++pairs;
    }
  std::printf("%zu pairs of %zu causes\n", pairs, seeded_causes().size());
}

// The pod asks for 100 CPUs beside free GPUs: the nodes are the problem, not the devices.
TEST(Verdict, FreeDevicesOnNodesThatThePodCannotUse) {
  VerdictWorld world;
  world.nodes[2].devices = 0;
  world.nodes[2].cpu = "128";
  world.cpu = "100";
  const Verdict verdict = world.judge();
  EXPECT_EQ(sentence(verdict),
            "0/3 nodes are available: 2 nodes (all with the devices: n0, n1): asks 100 cpu, node has at most 8; 1 node "
            "without the devices; devices for 1 x gpu: 4 devices free on nodes that the pod cannot use");
  EXPECT_EQ(verdict.node_groups[0].with_devices, 2u);
}

// Enough devices in all, but not on one node: that is the main obstacle, whatever else blocks some of them.
TEST(Verdict, TooFewOnOneNodeComesFirst) {
  VerdictWorld some_held;
  some_held.count = 3;
  some_held.nodes[0].devices = some_held.nodes[1].devices = 4;
  some_held.hold(0, 3);
  some_held.hold(1, 2);
  Verdict verdict = some_held.judge();
  EXPECT_THAT(sentence(verdict), StartsWith("no node can provide 3 x gpu: 5 devices usable, but at most 2 on one node, "
                                            "5 in use by claim"));
  EXPECT_THAT(text(verdict), StartsWith("Does not fit: no node has 3 x gpu: 5 devices usable, but at most 2 on one"));
  EXPECT_FALSE(verdict.requests.at(0).most_there) << "two nodes have four";

  VerdictWorld never;
  never.count = 5;
  never.hold_all();
  verdict = never.judge();
  EXPECT_EQ(verdict.requests.at(0).most_there, 2u);
  EXPECT_EQ(
      sentence(verdict, {.name_holders = false}),
      "no node can provide 5 x gpu: never fits, as no node has more than 2 of the 6 devices of class gpu, 6 in use");
  EXPECT_THAT(text(verdict, {200, false}),
              StartsWith("Does not fit, and never will: no node has more than 2 of the 6 devices of class gpu"));
  EXPECT_THAT(text(verdict, {200, false}),
              HasSubstr("  no node has more than 2 of the 6 devices of class gpu, in use or not\n"));
  VerdictWorld waits;
  waits.count = 2;
  waits.hold_all();
  EXPECT_NE(kind(verdict), kind(waits.judge())) << "waiting helps";

  // Nodes with enough devices do not accept the pod; those that do have too few.
  VerdictWorld elsewhere;
  elsewhere.count = 3;
  elsewhere.hold_all();
  elsewhere.nodes[2].devices = 4;
  elsewhere.nodes[2].unschedulable = true;
  EXPECT_THAT(sentence(elsewhere.judge()),
              StartsWith("no node can provide 3 x gpu: no node that takes the pod has more than 2 of the 8 devices of "
                         "class gpu, 8 in use"));
}

// kube-scheduler: "number of requested devices 33 exceeds the claim limit of 32".
TEST(Verdict, ModeAllOfMoreDevicesThanAClaimCanHaveNamesTheLimit) {
  for (const int devices : {32, 33, 40}) {
    VerdictWorld world;
    world.all = true;
    for (WorldNode& node : world.nodes) node.devices = devices;
    const Verdict verdict = world.judge();
    EXPECT_EQ(verdict.answer, devices <= 32 ? Answer::kFits : Answer::kDoesNotFit) << sentence(verdict);
    if (devices <= 32) continue;
    check_sums(verdict, std::to_string(devices));
    for (const std::string& said : {sentence(verdict), text(verdict, {10'000, false})})
      EXPECT_THAT(said, HasSubstr("mode All takes all " + std::to_string(devices) +
                                  " of a node, and a claim can have at most 32"));
  }
}

// Parts of the pool not seen yet may be enough. A device that serves several requests serves each of them once.
TEST(Verdict, TooFewOnOneNodeIsSaidOnlyWhereItIsKnown) {
  VerdictWorld incomplete;
  incomplete.count = 5;
  incomplete.incomplete = true;
  EXPECT_FALSE(incomplete.judge().requests.at(0).most_there);
  VerdictWorld shared;
  shared.count = 5;
  shared.multiple = true;
  shared.capacity = {{"memory", "30Gi"}};
  const Verdict verdict = shared.judge();
  EXPECT_EQ(verdict.requests.at(0).most_there, 2u);
  EXPECT_THAT(sentence(verdict), HasSubstr("never fits, as no node has more than 2 of the 6 devices of class gpu"));
}

// Devices that the class does not select are not a reason, unless it selects nothing.
TEST(Verdict, DevicesOfOtherClassesAreNotCounted) {
  VerdictWorld world;
  world.hold_all();
  const Verdict verdict = world.judge();
  EXPECT_EQ(verdict.requests.at(0).not_selected, 3u);
  EXPECT_EQ(sentence(verdict),
            "no node can provide 1 x gpu: 6 devices in use by claim other/h0 (pod other/p0), other/h1 "
            "(pod other/p1) and 4 more");
  EXPECT_THAT(text(verdict), HasSubstr("(3 of 9 devices are not of this class)"));
}

TEST(Verdict, NamesAreHiddenWhereNobodySaysThem) {
  VerdictWorld world;
  world.hold_all();
  world.name_holders = false;
  EXPECT_EQ(sentence(world.judge()), "no node can provide 1 x gpu: 6 devices in use");
}

// Names are most of what an explanation costs: only those that the sentence has are asked for.
TEST(Verdict, AsksForTheNamesThatTheSentenceHas) {
  VerdictWorld world;
  world.hold_all();
  world.judge();
  size_t asked = 0;
  const NameOfHolder names = [&](std::string_view uid) {
    Holder holder;
    if (++asked > 1) holder.claim = "ns/" + std::string(uid);  // the first may not be named
    return holder;
  };
  NodeFindings findings;
  const std::vector<inventory::NodeId> passed = world.inventory.nodes();
  findings.nodes = findings.passed = static_cast<uint32_t>(passed.size());
  const auto say = [&](size_t most) {
    asked = 0;
    return sentence(
        explain({world.inventory, world.allocator, names, most}, world.question, findings, passed, nullptr));
  };
  const std::string all = say(kMaxNames);
  EXPECT_GT(asked, 3u);
  EXPECT_EQ(say(kNamedInSentence), all);
  EXPECT_EQ(asked, 3u);
  EXPECT_THAT(all, HasSubstr("in use by claim ns/"));
}

// Where every node is out for another reason, how many devices one of them has is not in the sentence.
TEST(Verdict, SaysNothingOfTooFewDevicesWhereNoNodeTakesThePod) {
  VerdictWorld world;
  world.cpu = "1000";
  EXPECT_THAT(sentence(world.judge()), Not(HasSubstr("at most 0")));
}

TEST(Verdict, TwoClaimsOfOnePod) {
  VerdictWorld world;
  world.claims.push_back(world.claim("nic", "nic", 2));
  const Verdict verdict = world.judge();
  EXPECT_EQ(sentence(verdict),
            "no node can provide 2 x nic (claim nic): never fits, as no node has more than 1 of the 3 devices of class "
            "nic, 3 usable");
  EXPECT_THAT(sentence(verdict, {.claim = "ns/nic"}), HasSubstr("2 x nic"));
  check_sums(verdict, "two claims");
}

// A device of each kind behind one root, and all network cards are taken: no accelerator has a common root with a free
// card, but what would help is a card.
TEST(Verdict, TheRequestThatLacksMoreThanACommonValueComesFirst) {
  VerdictWorld world;
  world.judge();  // creates the nodes
  const auto publish = [&](const std::string& driver, size_t node) {
    api::ResourceSlice slice;
    slice.metadata.name = driver + std::to_string(node);
    slice.driver = driver + ".example.com";
    slice.node_name = "n" + std::to_string(node);
    slice.pool = {slice.node_name, 1, 1};
    api::Device& device = slice.devices.emplace_back();
    device.name = "d";
    device.attributes["root.example.com/root"] = slice.node_name;
    world.inventory.apply_slice(slice);
  };
  api::ResourceClaim pair;
  pair.metadata.ns = "ns";
  pair.metadata.name = pair.metadata.uid = "pair";
  for (const std::string driver : {"acc", "net"}) {
    api::DeviceClass of_driver;
    of_driver.metadata.name = driver;
    of_driver.selectors = {"device.driver == \"" + driver + ".example.com\""};
    world.inventory.apply_class(of_driver);
    for (size_t node = 0; node < 3; ++node) publish(driver, node);
    api::DeviceRequest& request = pair.spec.requests.emplace_back();
    request.name = driver;
    request.exactly.emplace().device_class_name = driver;
    request.exactly->count = 1;
  }
  pair.spec.constraints.push_back({{}, "root.example.com/root", std::nullopt});
  for (size_t node = 0; node < 3; ++node) {
    api::ResourceClaim holder;
    holder.metadata.ns = "other";
    holder.metadata.name = holder.metadata.uid = "n" + std::to_string(node) + "-net";
    holder.status.allocation.emplace().results.push_back({"r", "net.example.com", "n" + std::to_string(node), "d"});
    world.inventory.apply_claim(holder);
  }
  Question question = world.question;
  question.claims = {std::make_shared<const api::ResourceClaim>(pair)};
  Facts facts = world.facts();
  facts.name_of_holder = nullptr;
  const Verdict verdict = judge(facts, question);
  EXPECT_THAT(sentence(verdict), StartsWith("no node can provide 1 x net: 3 devices in use"));
  EXPECT_THAT(text(verdict), StartsWith("Does not fit: no node has 1 x net: 3 devices in use."));
}

// "Never" is said of a request only if none of its alternatives can fit, whatever ends; and alternatives of one request
// are never missed together.
TEST(Verdict, AlternativesAreJudgedTogether) {
  VerdictWorld world;
  world.held = true;  // all GPUs
  world.judge();
  const auto of = [&](int first, int second) {
    api::ResourceClaim claim;
    claim.metadata.ns = "ns";
    claim.metadata.name = claim.metadata.uid = "either";
    api::DeviceRequest& request = claim.spec.requests.emplace_back();
    request.name = "g";
    for (const auto& [name, count] : {std::pair{"large", first}, std::pair{"small", second}}) {
      api::DeviceSubRequest& one = request.first_available.emplace_back();
      one.name = name;
      one.device_class_name = "gpu";
      one.count = count;
    }
    Question question = world.question;
    question.claims = {std::make_shared<const api::ResourceClaim>(claim)};
    return judge(world.facts(), question);
  };
  const Verdict waits = of(5, 2);
  EXPECT_THAT(text(waits), StartsWith("Does not fit: no node has 2 x g/small: 6 devices in use; nor 5 x g/large."));
  EXPECT_THAT(text(waits), Not(HasSubstr("never")));
  EXPECT_THAT(sentence(waits), Not(HasSubstr("never")));
  EXPECT_THAT(sentence(waits), HasSubstr("5 x g/large: no node has more than 2 of the 6 devices"));
  const Verdict never = of(5, 3);
  EXPECT_THAT(text(never, {0, false}),
              StartsWith("Does not fit, and never will: no node has more than 2 of the 6 devices of class "
                         "gpu (wanted: 5 x g/large; nor 3 x g/small)."));
}

// A comparison that nothing passes is said with what there is.
TEST(Verdict, NamesTheValuesThatExist) {
  VerdictWorld memory;
  memory.selectors = {"device.capacity[\"gpu.example.com\"].memory.compareTo(quantity(\"96Gi\")) >= 0"};
  EXPECT_THAT(sentence(memory.judge()), HasSubstr("(memory >= 96Gi: the largest has 80Gi)"));
  VerdictWorld product;
  product.selectors = {"device.attributes[\"gpu.example.com\"].productName == \"H200\""};
  EXPECT_THAT(sentence(product.judge()), HasSubstr("(productName == \"H200\": there are A100 (6))"));
  VerdictWorld of_class;
  of_class.class_selectors = {
      "device.driver == \"gpu.example.com\" && "
      "device.attributes[\"gpu.example.com\"].productName == \"H200\""};
  EXPECT_THAT(sentence(of_class.judge()), HasSubstr("productName == \"H200\": there are A100 (6)"));
  // Where some device passes, the values are not why.
  VerdictWorld passes;
  passes.hold_all();
  passes.selectors = {"device.attributes[\"gpu.example.com\"].productName == \"A100\""};
  EXPECT_THAT(sentence(passes.judge()), Not(HasSubstr("there are")));
}

TEST(Verdict, KindLeavesOutFiguresAndNames) {
  VerdictWorld six, five;
  six.hold_all();
  five.hold_all();
  five.nodes[2].devices = 1;
  EXPECT_EQ(kind(six.judge()), kind(five.judge()));
  VerdictWorld cordoned;
  for (auto& node : cordoned.nodes) node.unschedulable = true;
  EXPECT_NE(kind(six.judge()), kind(cordoned.judge()));
}

// Control bytes, invalid UTF-8, selectors of a megabyte, very many of everything.
TEST(Verdict, HostileTextsStayBoundedAndReadable) {
  const std::string bad = std::string("\x1b[31m\0\xff\xc3\n\r\t\xe2\x80\xae", 15) + std::string(1 << 20, '\xc3');
  for (int what = 0; what < 7; ++what) {
    VerdictWorld world;
    if (what == 0) world.selectors = {"device.driver == \"" + std::string(1 << 20, 'x') + "\""};
    if (what == 1) world.node_taint = {bad, bad, "NoSchedule", ""};
    if (what == 2) world.device_taint = {bad, bad, "NoSchedule", ""};
    if (what == 3) {
      world.request_name = bad;
      world.hold_all();
    }
    if (what == 4) world.node_selector = {{bad, bad}};
    if (what == 5) world.class_selectors = {"device.driver == \"" + std::string(1 << 20, 'x') + "\""};
    if (what == 6) world.capacity = {{bad, "1"}};
    const Verdict verdict = world.judge();
    ASSERT_NE(verdict.answer, Answer::kFits) << what;
    for (const std::string& said : {sentence(verdict), text(verdict)}) {
      EXPECT_TRUE(is_valid_utf8(said)) << what;
      EXPECT_EQ(said.find_first_of(std::string("\x1b\0\r\t", 4)), std::string::npos) << what;
      EXPECT_LT(said.size(), 8192u) << what;
    }
    EXPECT_LE(sentence(verdict).size(), kMaxSentence) << what;
    EXPECT_EQ(sentence(verdict).find('\n'), std::string::npos);
  }
}

TEST(Words, CleanCutsOnWholeCharacters) {
  for (size_t limit = 0; limit < 12; ++limit) {
    const std::string cut = clean("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80 abc\x01 d", limit);
    EXPECT_LE(cut.size(), limit);
    EXPECT_TRUE(is_valid_utf8(cut)) << limit;
  }
  EXPECT_EQ(clean("a\n\n b\xff", 64), "a b\xEF\xBF\xBD");
}

}  // namespace
}  // namespace dra::verdict::verdict_test
