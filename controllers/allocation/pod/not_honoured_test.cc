// Pods that others place and that ask for pairs or rails: one event.
#include "controllers/allocation/pod/not_honoured.h"

#include "controllers/allocation/allocation_fixture.h"

namespace dra::allocation::not_honoured_test {

class PairsNotHonoured : public AllocationTest {
 protected:
  // Whether the change of a pod enqueues it, and what the reconcile then does.
  std::string after(const api::Pod& now) {
    view.put(now);
    test::WholeController reconciler(parts(options, inventory, allocator, nodes));
    reconcile::EnqueueRequests enqueued;
    reconciler.on_pod(view, nullptr, &now, enqueued);
    return enqueued.keys.empty() ? "not checked" : pass();
  }
  api::ResourceClaim aligned(const std::string& name) {
    api::ResourceClaim claim = make_claim(name);
    claim.metadata.annotations["dra-controller-manager/pairs"] = "gpu*2 by example.com/nvlink";
    put(claim);
    return claim;
  }
};

TEST_F(PairsNotHonoured, IsSaidOnceOfAClaim) {
  aligned("c");
  const api::Pod pod = make_pod("p", {"c"}, false);
  EXPECT_EQ(after(pod), "event PairsNotHonoured");
  EXPECT_EQ(event().note,
            "annotation dra-controller-manager/pairs of claim \"default/c\" has no effect: scheduler \"\" places the "
            "pod, and not this manager, so that the devices may be on different roots or rails; make the pod anew with "
            "the scheduling gate dra-controller-manager/allocation");
  remember();
  EXPECT_EQ(pass(), "");
}

TEST_F(PairsNotHonoured, IsSaidOfThePodItself) {
  put(make_claim("c"));
  api::Pod pod = make_pod("p", {"c"}, false);
  EXPECT_EQ(after(pod), "not checked") << "it asks for nothing";
  pod.metadata.annotations["dra-controller-manager/same-across-members-preferred"] = "c/gpu by a/b";
  EXPECT_EQ(after(pod), "event PairsNotHonoured");
  pod.phase = "Succeeded";
  EXPECT_EQ(after(pod), "not checked");
}

TEST_F(PairsNotHonoured, IsNotSaidOfPodsThatArePlacedHere) {
  aligned("c");
  api::Pod pod = make_pod("p", {"c"});
  view.put(pod);
  EXPECT_FALSE(not_honoured(view, pod, options));
  pod.scheduling_gates.push_back("example.com/other");
  EXPECT_FALSE(not_honoured(view, pod, options)) << "it is placed here once the other gate is lifted";
  pod.scheduling_gates.clear();
  EXPECT_TRUE(not_honoured(view, pod, options));
  pod.scheduler_name = "ours";
  EXPECT_TRUE(not_honoured(view, pod, options)) << "gate mode binds nothing";
  options.mode = Mode::kBind;
  EXPECT_FALSE(not_honoured(view, pod, options));
  options.mode = Mode::kObserve;
  EXPECT_TRUE(not_honoured(view, pod, options));
}

TEST_F(PairsNotHonoured, IsNotSaidOnceOurGateIsLifted) {
  api::ResourceClaim claim = proven(allocated("c", "n1", "gpu-0", true, {"p"}), "p");
  claim.metadata.annotations["dra-controller-manager/pairs"] = "gpu*2 by example.com/nvlink";
  put(claim);
  api::Pod pod = make_pod("p", {"c"}, false);
  pod.node_name = "n1";
  EXPECT_EQ(after(pod), "not checked");
}

TEST_F(PairsNotHonoured, IsSaidWhenTheClaimComesLater) {
  const api::Pod pod = make_pod("p", {"c"}, false);
  EXPECT_EQ(after(pod), "not checked");
  const api::ResourceClaim claim = aligned("c");
  test::WholeController reconciler(parts(options, inventory, allocator, nodes));
  reconcile::EnqueueRequests enqueued;
  reconciler.on_claim(view, nullptr, &claim, enqueued);
  ASSERT_EQ(enqueued.keys.size(), 1u);
  EXPECT_EQ(pass(), "event PairsNotHonoured");
}

}  // namespace dra::allocation::not_honoured_test
