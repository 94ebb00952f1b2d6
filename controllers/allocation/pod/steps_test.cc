// The steps of a pod by themselves: contexts made by hand, without objects from which they would be derived. Which step
// takes which state, what it adds, and that it changes nothing that it reads.
#include "controllers/allocation/pod/steps.h"

#include <string>
#include <string_view>
#include <vector>

#include "controllers/allocation/allocation_fixture.h"
#include "controllers/allocation/kept/kept_members.h"
#include "controllers/allocation/kept/promised_devices.h"
#include "controllers/allocation/state.h"
#include "pkg/protocol/leaving.h"

namespace dra::allocation::steps_test {

using namespace protocol;
using namespace reconcile;

namespace {

// "allocate c, event FailedAllocation, parked": the outcome, but for metrics and notes.
std::string words_of(const ReconcileResult& out) {
  std::string text;
  const auto say = [&text](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  for (const Effect& effect : out.effects) {
    if (const Write* write = std::get_if<Write>(&effect)) say(write->purpose + " " + write->object.name);
    if (const Event* event = std::get_if<Event>(&effect)) say("event " + event->reason.str());
  }
  if (out.park || out.park_unless_written) say("parked");
  if (text.empty() && out.requeue_after) say("requeued");
  return text;
}

class Steps : public AllocationTest {
 public:
  using AllocationTest::nodes;
  using AllocationTest::options;

  Steps() : gangs(inventory, allocator, {}), pod(make_pod("p", {})) { facts.role = Role::kGated; }

  // One of the pod's claims: unallocated, or with a device of node n1.
  protocol::ClaimState claim(const std::string& name) {
    protocol::ClaimState one;
    one.claim = std::make_shared<api::ResourceClaim>(make_claim(name));
    one.in_stream = true;
    return one;
  }
  protocol::ClaimState allocated_claim(const std::string& name, bool ours) {
    protocol::ClaimState one = claim(name);
    api::ResourceClaim object = *one.claim;
    object.status.allocation = on("n1", "gpu-0");
    one.claim = std::make_shared<api::ResourceClaim>(object);
    one.ours = ours;
    return one;
  }
  // Ours, with the mark, and the pod in all lists.
  protocol::ClaimState settled_claim(const std::string& name) {
    protocol::ClaimState one = allocated_claim(name, true);
    one.proven = one.reserved = one.listed = one.reserved_in_stream = true;
    return one;
  }
  void ask_for(const std::string& resource) { facts.extended = {{resource, "gpu"}}; }

  WhyHere why_here;
  KeptNodes kept_nodes;
  KeptDevices kept_devices;
  KeptClaims kept_claims;
  PromisedDevices promised;
  gang::Gangs gangs;
  GroupLeaders leaders;
  KeptMembers kept;
  api::Pod pod;
  PodFacts facts;
  const Tools tools{options,      inventory, allocator, nodes,   why_here, kept_nodes,
                    kept_devices, promised,  gangs,     leaders, kept,     kept_claims};
};

struct Case {
  const char* state;
  void (*make)(Steps& test);
  std::string_view step;
  std::string_view effects;
};

const Case kCases[] = {
    {"it announced to leave a claim at this version",
     [](Steps& t) {
       t.facts.state.claims = {t.settled_claim("c")};
       t.pod.metadata.annotations[std::string(kLeavingAnnotation)] = "c-uid@5";
     },
     "leave", "leave c"},
    {"it has left that claim",
     [](Steps& t) {
       t.facts.state.claims = {t.claim("c")};
       t.pod.metadata.annotations[std::string(kLeavingAnnotation)] = "c-uid@4";
     },
     "allocate", "allocate c"},
    {"a claim that it cannot use is allocated for it",
     [](Steps& t) { t.facts.state.abandoned = {t.allocated_claim("old", true)}; }, "drop", "withdraw old"},
    {"the same, of a pod that somebody else starts",
     [](Steps& t) {
       t.facts.role = Role::kExplain;
       t.facts.state.abandoned = {t.allocated_claim("old", true)};
     },
     "use", ""},
    {"before an uninstall a claim is unallocated",
     [](Steps& t) {
       t.options.release_gates = true;
       t.facts.state.claims = {t.claim("c")};
     },
     "release", "lift-gate p"},
    {"before an uninstall a claim is missing",
     [](Steps& t) {
       t.options.release_gates = true;
       t.facts.state.waits_for = "a claim does not exist";
     },
     "release", "lift-gate p"},
    {"before an uninstall an allocation is not proven",
     [](Steps& t) {
       t.options.release_gates = true;
       t.facts.state.claims = {t.allocated_claim("c", true)};
     },
     "prove", "prove c"},
    {"a claim is missing for too long", [](Steps& t) { t.facts.state.waits_for = "a claim does not exist"; }, "wait",
     "event FailedAllocation"},
    {"a claim is missing, as is ordinary",
     [](Steps& t) {
       t.facts.state.waits_for = "a claim is not created yet";
       t.facts.state.ordinary_wait = true;
     },
     "wait", ""},
    {"another claim is missing and one is unallocated",
     [](Steps& t) {
       t.facts.state.claims = {t.claim("c")};
       t.facts.state.waits_for = "a claim is not created yet";
       t.facts.state.ordinary_wait = true;
     },
     "wait", ""},
    {"no node's device plugin serves its extended resource", [](Steps& t) { t.ask_for("example.com/gpu"); }, "extended",
     "event ExtendedResource, parked"},
    {"bind mode: there is no node for a claim for its extended resource",
     [](Steps& t) {
       t.options.mode = Mode::kBind;
       t.pod.scheduler_name = "ours";
       t.facts.role = Role::kToBind;
       t.ask_for("example.com/gpu");
     },
     "extended", "event FailedScheduling, parked"},
    {"a claim is unallocated", [](Steps& t) { t.facts.state.claims = {t.claim("c")}; }, "allocate", "allocate c"},
    {"one claim is unallocated, and one is allocated on n1",
     [](Steps& t) {
       t.facts.state.claims = {t.settled_claim("c"), t.claim("d")};
     },
     "allocate", "allocate d"},
    {"observe mode: a claim is unallocated",
     [](Steps& t) {
       t.facts.role = Role::kExplain;
       t.facts.state.claims = {t.claim("c")};
     },
     "allocate", ""},
    {"before an uninstall a claim of a pod without our gate is unallocated",
     [](Steps& t) {
       t.options.release_gates = true;
       t.facts.role = Role::kToBind;
       t.facts.state.claims = {t.claim("c")};
     },
     "allocate", ""},
    {"no node takes it",
     [](Steps& t) {
       t.nodes.refused = {"n1", "n2"};
       t.facts.state.claims = {t.claim("c")};
     },
     "allocate", "event FailedScheduling, parked"},
    {"an allocation is not proven", [](Steps& t) { t.facts.state.claims = {t.allocated_claim("c", true)}; }, "prove",
     "prove c"},
    {"the watch has not delivered it yet",
     [](Steps& t) {
       t.facts.state.claims = {t.allocated_claim("c", true)};
       t.facts.state.claims[0].in_stream = false;
     },
     "prove", ""},
    {"its node does not take the pod any more",
     [](Steps& t) {
       t.nodes.refused = {"n1"};
       t.facts.state.claims = {t.allocated_claim("c", true)};
     },
     "prove", "withdraw c"},
    {"others allocated its claim", [](Steps& t) { t.facts.state.claims = {t.allocated_claim("c", false)}; }, "use",
     "reserve c"},
    {"the watch has not delivered the reservation yet",
     [](Steps& t) {
       t.facts.state.claims = {t.settled_claim("c")};
       t.facts.state.claims[0].reserved_in_stream = false;
     },
     "use", ""},
    {"all is proven and reserved, and not published",
     [](Steps& t) {
       t.facts.state.claims = {t.settled_claim("c")};
       t.facts.state.unpublished = true;
     },
     "use", "requeued"},
    {"all is proven and reserved", [](Steps& t) { t.facts.state.claims = {t.settled_claim("c")}; }, "use",
     "lift-gate p"},
    {"all is proven and reserved, bind mode",
     [](Steps& t) {
       t.options.mode = Mode::kBind;
       t.facts.role = Role::kToBind;
       t.facts.state.claims = {t.settled_claim("c")};
     },
     "use", "bind p, event Allocated"},
    {"it has no claims", [](Steps&) {}, "use", "lift-gate p"},
};

TEST_F(Steps, EachStateIsTheBusinessOfOneStep) {
  const Options usual = options;
  const api::Pod usual_pod = pod;
  for (const auto& [state, make, step, effects] : kCases) {
    SCOPED_TRACE(state);
    options = usual;
    pod = usual_pod;
    nodes.refused.clear();
    facts = {};
    facts.role = Role::kGated;
    make(*this);
    if (facts.role == Role::kToBind && !facts.extended.empty()) facts.claimed.emplace();
    const PodContext context = context_of(view, pod, facts, tools);
    ReconcileResult out;
    EXPECT_EQ(run_steps(context, pod_steps(), out), step);
    EXPECT_EQ(words_of(out), effects);
    for (const PodStep& other : pod_steps()) {
      ReconcileResult one;
      if (other.take(context, one)) break;
      EXPECT_FALSE(one.has_writes()) << other.name;
    }
    // Nothing that it read has changed, so the same context gives the same answer.
    ReconcileResult again;
    EXPECT_EQ(run_steps(context, pod_steps(), again), step);
    EXPECT_EQ(words_of(again), effects);
  }
}

// Before an uninstall a pod may lose its gate without devices: the event does not say that it has some.
TEST_F(Steps, AGateThatIsReleasedWithoutDevicesIsCalledThat) {
  options.release_gates = true;
  for (const bool allocated : {false, true}) {
    facts.state.claims = {allocated ? settled_claim("c") : claim("c")};
    ReconcileResult out;
    EXPECT_EQ(run_steps(context_of(view, pod, facts, tools), pod_steps(), out), allocated ? "use" : "release");
    const Write* write = nullptr;
    for (const Effect& effect : out.effects)
      if (const Write* one = std::get_if<Write>(&effect); one != nullptr && one->success_event) write = one;
    ASSERT_NE(write, nullptr) << words_of(out);
    EXPECT_EQ(write->success_event->reason.str(), allocated ? "Allocated" : "GateReleased");
    EXPECT_EQ(write->success_event->note.find("the gate is lifted without devices") == 0, !allocated);
  }
}

TEST_F(Steps, TheFirstStepThatTakesThePodIsTheLastToRun) {
  static std::vector<std::string_view> ran;
  ran.clear();
  const PodStep steps[] = {
      {"first", [](const PodContext&, ReconcileResult&) { return ran.push_back("first"), false; }},
      {"second",
       [](const PodContext& context, ReconcileResult& out) {
         ran.push_back("second");
         out.add(LiveGet{{Kind::kPod, "", context.pod.metadata.name, ""}, ""});
         return true;
       }},
      {"third", [](const PodContext&, ReconcileResult&) { return ran.push_back("third"), true; }},
  };
  const PodContext context = context_of(view, pod, facts, tools);
  ReconcileResult out;
  EXPECT_EQ(run_steps(context, steps, out), "second");
  EXPECT_EQ(ran, (std::vector<std::string_view>{"first", "second"}));
  EXPECT_TRUE(out.has_live_gets());
  ReconcileResult none;
  EXPECT_EQ(run_steps(context, std::span(steps).first(1), none), "");
  EXPECT_TRUE(none.effects.empty());
}

// What a group supposes about one member is in the context, and not in what it refers to.
TEST_F(Steps, ACopyOfAContextSupposesSomethingElse) {
  options.mode = Mode::kBind;
  pod.scheduler_name = "ours";
  facts.role = Role::kToBind;
  ask_for("example.com/gpu");
  const std::vector<ExtendedResource> all = facts.extended;
  const PodContext context = context_of(view, pod, facts, tools);
  EXPECT_EQ(context.claimed, nullptr);
  PodContext supposing = context;
  supposing.claimed = &all;
  EXPECT_EQ(context.claimed, nullptr);
  EXPECT_EQ(&supposing.state, &facts.state);
}

}  // namespace
}  // namespace dra::allocation::steps_test
