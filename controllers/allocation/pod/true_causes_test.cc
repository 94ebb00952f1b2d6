// Waits whose cause is not that devices are in use: devices that the pod avoids, pools of other drivers, nodes and
// devices that are kept for groups.
#include "controllers/allocation/allocation_fixture.h"
#include "controllers/allocation/bind/bind_conditions.h"
#include "controllers/allocation/causes.h"
#include "pkg/base/timestamp.h"
#include "pkg/protocol/groups.h"

namespace dra::allocation::true_causes_test {

using namespace protocol;
using namespace reconcile;
using namespace std::chrono_literals;
using testing::Test;

class TrueCauses : public AllocationTest {
 protected:
  TrueCauses() {
    quiet_claims = true;
    options.mode = Mode::kBind;
  }
  api::Pod put_pod(const std::string& name, std::vector<std::string> claims) {
    api::Pod pod = make_pod(name, std::move(claims), false);
    pod.scheduler_name = "ours";
    view.put(pod);
    return pod;
  }
  bool says(const std::string& words) const { return event().note.find(words) != std::string::npos; }
  bool parks_under(const std::string& cause) const {
    return last.park && std::find(last.park->causes.begin(), last.park->causes.end(), cause) != last.park->causes.end();
  }
  // Invalid or incomplete pools of another driver on these nodes.
  void spoil(std::vector<std::string> on, bool invalid) {
    for (const std::string& node : on) {
      api::ResourceSlice slice = test::local_slice("other.example.com", node, "nic-", 2);
      slice.metadata.name = "other-" + node;
      slice.pool.name = "bad-" + node;
      if (invalid)
        slice.devices[1].name = slice.devices[0].name;
      else
        slice.pool.resource_slice_count = 2;
      inventory.apply_slice(slice);
    }
  }
};

TEST_F(TrueCauses, DevicesThatCouldNotBePreparedAreNotInUse) {
  api::Pod pod = put_pod("p", {"c"});
  put(make_claim("c"));
  std::vector<AvoidedDevice> avoided;
  for (const char* node : {"n1", "n2"})
    for (const char* device : {"gpu-0", "gpu-1"})
      avoided.push_back({{"gpu.example.com", node, device}, view.time + 20min});
  pod.metadata.annotations[std::string(kAvoidedDevices)] = avoided_text(avoided);
  view.put(pod);
  EXPECT_EQ(pass(), "event FailedAllocation, parked");
  EXPECT_TRUE(says("4 devices avoided for this pod, since they could not be prepared")) << event().note;
  EXPECT_TRUE(says("the driver could not prepare gpu.example.com/n1/gpu-0")) << event().note;
  EXPECT_TRUE(says("until " + format_rfc3339(view.time + 20min))) << event().note;
  EXPECT_FALSE(says("in use")) << event().note;
  // Some are in use as well: each is counted as what it is.
  allocated("x", "n1", "gpu-0", false, {});
  avoided.erase(avoided.begin());
  pod.metadata.annotations[std::string(kAvoidedDevices)] = avoided_text(avoided);
  view.put(pod);
  pass();
  EXPECT_TRUE(says("3 devices avoided for this pod")) << event().note;
  EXPECT_TRUE(says("1 in use")) << event().note;
}

TEST_F(TrueCauses, ABadPoolOfAnotherDriverIsNamedAndItsEndUnparksThePod) {
  for (const bool invalid : {true, false}) {
    SCOPED_TRACE(invalid);
    spoil({"n1", "n2"}, invalid);
    put_pod("p", {"c"});
    api::ResourceClaim claim = make_claim("c", 0);
    claim.spec.requests[0].exactly->allocation_mode = "All";
    put(claim);
    view.emitted.clear();
    EXPECT_EQ(pass(), "event FailedAllocation, parked");
    EXPECT_TRUE(
        says("on every node, all devices need each pool there complete and valid, and pool "
             "other.example.com/bad-n1 is " +
             std::string(invalid ? "invalid" : "incomplete")))
        << event().note;
    test::WholeController reconciler(parts(options, inventory, allocator, nodes));
    api::ResourceSlice gone = test::local_slice("other.example.com", "n1", "nic-", 2);
    EnqueueRequests enqueued;
    reconciler.on_slice(view, &gone, nullptr, enqueued);
    EXPECT_TRUE(std::any_of(enqueued.causes.begin(), enqueued.causes.end(),
                            [&](const Cause& cause) { return parks_under(cause); }));
    // On one of the nodes alone it is not why the pod waits.
    inventory.remove_slice("other-n1");
    inventory.remove_slice("other-n2");
    EXPECT_EQ(pass(), "allocate c");
  }
}

TEST_F(TrueCauses, TheSameForAGroup) {
  spoil({"n1", "n2"}, true);
  for (const char* name : {"a", "b"}) {
    api::Pod pod = put_pod(name, {std::string("c") + name});
    pod.metadata.creation_timestamp = format_rfc3339(view.time - 1min);
    pod.metadata.owner_references.push_back({"batch/v1", "Job", "train", "job-uid", true});
    pod.metadata.annotations[std::string(kGroupAnnotation)] = "2";
    view.put(pod);
    api::ResourceClaim claim = make_claim(std::string("c") + name, 0);
    claim.spec.requests[0].exactly->allocation_mode = "All";
    put(claim);
  }
  pass("a");
  EXPECT_TRUE(parks_under(std::string(kSlicesCause)) || last.park_unless_written) << event().note;
}

// Members of a group get their condition with the first, not at their next turn.
TEST_F(TrueCauses, MembersThatFitNowhereAreToldWithTheirLeader) {
  for (const char* name : {"a", "b", "d"}) {
    api::Pod pod = put_pod(name, {std::string("c") + name});
    pod.metadata.creation_timestamp = format_rfc3339(view.time - 1s);
    pod.metadata.owner_references.push_back({"batch/v1", "Job", "train", "job-uid", true});
    pod.metadata.annotations[std::string(kGroupAnnotation)] = "3";
    view.put(pod);
    put(make_claim(std::string("c") + name, 2));
  }
  EXPECT_EQ(pass("a"), "event GroupWaits, show-waiting a");
  std::set<std::string> run;
  for (const Key& key : last.enqueue) run.insert(key.object);
  EXPECT_EQ(run, (std::set<std::string>{"default/b", "default/d"}));
  for (const Effect& effect : last.effects)
    if (const Note* note = std::get_if<Note>(&effect); note && !note->text.empty())
      view.notes[{note->uid, note->topic}] = {note->text, view.time};
  EXPECT_EQ(pass("b"), "show-waiting b");
  EXPECT_EQ(last.turn_since, view.pods.at("default/a").metadata.creation_timestamp);
  pass("a");
  EXPECT_TRUE(last.enqueue.empty()) << "no news";
  // Its condition does not make the leader look at the whole group again; another change does.
  test::WholeController reconciler(parts(options, inventory, allocator, nodes));
  const api::Pod before = view.pods.at("default/b");
  api::Pod after = before;
  after.metadata.resource_version = "12";
  after.conditions.push_back({"PodScheduled", "False", "Unschedulable", "", "", 0});
  EnqueueRequests enqueued;
  reconciler.on_pod(view, &before, &after, enqueued);
  EXPECT_EQ(enqueued.keys, (std::vector<Key>{pod_key("default/b")}));
  after.metadata.labels["a"] = "b";
  enqueued = {};
  reconciler.on_pod(view, &before, &after, enqueued);
  EXPECT_EQ(enqueued.keys.size(), 2u);
}

}  // namespace dra::allocation::true_causes_test
