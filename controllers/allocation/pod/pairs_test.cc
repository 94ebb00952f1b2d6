// Pairs of a pod and its claims in a reconcile: they are honoured, refused with a sentence, or short of groups.
#include "controllers/allocation/pod/pairs.h"

#include <gmock/gmock.h>

#include "controllers/allocation/allocation_fixture.h"

namespace dra::allocation::pairs_test {

using testing::HasSubstr;

// On each node gpu-0 and gpu-1 on two roots; nics on roots 1 and 2.
class Pairs : public AllocationTest {
 protected:
  Pairs() {
    api::DeviceClass nic;
    nic.metadata.name = "nic";
    nic.selectors = {"device.driver == 'nic.example.com'"};
    inventory.apply_class(nic);
    api::DeviceClass gpu;
    gpu.metadata.name = "gpu";
    gpu.selectors = {"device.driver == 'gpu.example.com'"};
    inventory.apply_class(gpu);
    for (const char* node : {"n1", "n2"}) {
      inventory.apply_slice(on_roots("gpu.example.com", node, "gpu-", 0));
      inventory.apply_slice(on_roots("nic.example.com", node, "nic-", 1));
    }
  }
  static api::ResourceSlice on_roots(const std::string& driver, const std::string& node, const std::string& prefix,
                                     int first) {
    api::ResourceSlice slice = test::local_slice(driver, node, prefix, 2);
    slice.metadata.resource_version = "9";
    if (first > 0) slice.metadata.name += "-nics";
    for (int i = 0; i < 2; ++i)
      slice.devices[static_cast<size_t>(i)].attributes["example.com/root"] = "root-" + std::to_string(first + i);
    return slice;
  }
  void put_both(const std::string& gpu_pairs, int gpus, int nics) {
    api::ResourceClaim claim = make_claim("c", gpus);
    claim.spec.requests.push_back(test::exactly("nic", "nic", nics));
    if (!gpu_pairs.empty()) claim.metadata.annotations["dra-controller-manager/pairs"] = gpu_pairs;
    put(claim);
    view.put(make_pod("p", {"c"}));
  }
  std::vector<std::string> devices() const {
    for (const reconcile::Effect& effect : last.effects)
      if (const auto* write = std::get_if<reconcile::Write>(&effect); write && write->assume) {
        std::vector<std::string> names;
        for (const auto& result : write->assume->results) names.push_back(result.device);
        return names;
      }
    return {};
  }
};

TEST_F(Pairs, OfAClaimAreHonoured) {
  put_both("gpu+nic by example.com/root", 1, 1);
  pass();
  EXPECT_EQ(devices(), (std::vector<std::string>{"gpu-1", "nic-0"}));
}

TEST_F(Pairs, TooFewAreCountedInTheEvent) {
  put_both("gpu+nic by example.com/root", 2, 2);
  EXPECT_EQ(pass(), "event FailedAllocation, event FailedAllocation, parked");
  EXPECT_THAT(event().note, HasSubstr("has 1 such pair (gpu+nic by example.com/root), 2 are asked"));
}

TEST_F(Pairs, OfAPodSpanClaims) {
  put(make_claim("g"));
  api::ResourceClaim nic = make_claim("n");
  nic.spec.requests = {test::exactly("nic", "nic", 1)};
  put(nic);
  api::Pod pod = make_pod("p", {"g", "n"});
  pod.metadata.annotations["dra-controller-manager/pairs"] = "g/gpu+n/nic by example.com/root";
  view.put(pod);
  pass();
  EXPECT_EQ(devices(), (std::vector<std::string>{"gpu-1"}));
}

TEST_F(Pairs, MalformedOnesMakeThePodWait) {
  put_both("gpu+nik by example.com/root", 1, 1);
  EXPECT_EQ(pass(), "event FailedAllocation, event FailedAllocation");
  EXPECT_THAT(event().note, HasSubstr("\"gpu+nik by example.com/root\""));
  EXPECT_TRUE(devices().empty());
  remember();
  EXPECT_EQ(pass(), "") << "once";
}

TEST_F(Pairs, MalformedOnesOfThePodMakeItWait) {
  put_both("", 1, 1);
  api::Pod pod = make_pod("p", {"c"});
  pod.metadata.annotations["dra-controller-manager/pairs"] = "gpu+nic by example.com/root";
  view.put(pod);
  EXPECT_EQ(pass(), "event FailedAllocation");
  EXPECT_THAT(event().note, HasSubstr("without its claim"));
}

}  // namespace dra::allocation::pairs_test
