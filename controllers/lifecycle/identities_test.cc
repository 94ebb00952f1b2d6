// The note of what others allocated: written once, on the seen version, also by a leader that was not there at the
// allocation; removed with the allocation; few in a minute.
#include "controllers/lifecycle/identities.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "controllers/lifecycle/lifecycle.h"
#include "pkg/identity/record.h"
#include "pkg/inventory/device_index.h"
#include "pkg/protocol/memory_view.h"
#include "pkg/protocol/pod_claims.h"
#include "test/support/objects.h"
#include "test/support/whole_controller.h"

namespace dra::lifecycle::identities_test {
namespace {

using namespace protocol;
using namespace reconcile;
using namespace std::chrono_literals;

class Identities : public testing::Test {
 protected:
  Identities() { trust(true); }
  void trust(bool on) {
    identity::Rules rules;
    rules.annotations = on;
    inventory.device_index().set_identity_rules(rules);
  }
  void publish(const std::string& bus) {
    slice = test::local_slice("drv", "n1", "dev-", 1);
    slice.devices[0].attributes["resource.kubernetes.io/pciBusID"] = bus;
    inventory.apply_slice(slice);
  }
  void add_claim(const std::string& name, const std::string& manager = "kube-scheduler") {
    api::ResourceClaim claim = test::named<api::ResourceClaim>(name);
    claim.metadata.resource_version = "5";
    claim.metadata.finalizers = {"keep/me"};
    claim.metadata.managed_fields.push_back({manager, "Update", "status"});
    claim.status.allocation.emplace().results.push_back({"gpu", "drv", "n1", "dev-0"});
    view.put(claim);
  }
  // One reconcile, its write applied as the server would. What was written, or "".
  std::string pass(const std::string& name = "c") {
    last = controller->reconcile(view, claim_key("default/" + name));
    std::string did;
    for (const Effect& effect : last.effects) {
      const Write* write = std::get_if<Write>(&effect);
      if (write == nullptr) continue;
      EXPECT_EQ(write->purpose, "note-identities");
      EXPECT_EQ(write->resource_version, "5") << "a second leader's write is refused";
      EXPECT_EQ(write->subresource, "");
      const auto body = nlohmann::json::parse(write->body);
      EXPECT_EQ(body["metadata"]["finalizers"], nlohmann::json({"keep/me"}));
      EXPECT_FALSE(body.contains("status"));
      const auto& value = body["metadata"]["annotations"][std::string(identity::kIdentitiesAnnotation)];
      auto& annotations = view.claims.at("default/" + name).metadata.annotations;
      if (value.is_null()) {
        annotations.erase(std::string(identity::kIdentitiesAnnotation));
        did += "removed";
      } else {
        annotations[std::string(identity::kIdentitiesAnnotation)] = value.get<std::string>();
        did += value.get<std::string>();
      }
    }
    inventory.apply_claim(view.claims.at("default/" + name));
    return did;
  }
  void restart() { controller.emplace(parts({}, &inventory)); }

  MemoryView view;
  inventory::Inventory inventory;
  api::ResourceSlice slice;
  std::optional<test::WholeController> controller{parts({}, &inventory)};
  ReconcileResult last;
};

TEST_F(Identities, AreNotedOnceAndGoWithTheAllocation) {
  add_claim("c");
  EXPECT_EQ(pass(), "") << "its device is not published yet";
  publish("0000:1a:00.0");
  // Another manager allocated it and died: any leader notes it.
  restart();
  EXPECT_NE(pass().find(R"("drv/n1/dev-0":{"is":["pci 0000:1a:00.0"],"node":"n1")"), std::string::npos);
  EXPECT_EQ(pass(), "");
  restart();
  EXPECT_EQ(pass(), "");
  inventory.remove_slice(slice.metadata.name);
  EXPECT_EQ(pass(), "") << "withdrawn, and noted";
  view.claims.at("default/c").status.allocation.reset();
  EXPECT_EQ(pass(), "removed");
  EXPECT_EQ(pass(), "");
}

// kube-scheduler gave the claim another device, whose status keeps the old metadata.
TEST_F(Identities, FollowTheAllocation) {
  publish("0000:1a:00.0");
  add_claim("c");
  EXPECT_NE(pass(), "");
  view.claims.at("default/c").status.allocation->results[0].device = "dev-9";
  EXPECT_EQ(pass(), "removed");
}

TEST_F(Identities, OnlyWhenItIsSaidToBeSafe) {
  trust(false);
  publish("0000:1a:00.0");
  add_claim("c");
  EXPECT_EQ(pass(), "");
}

TEST_F(Identities, NotOfWhatMayBeWithdrawn) {
  publish("0000:1a:00.0");
  add_claim("c", std::string(kAllocationManager));
  view.ages[to_text(claim_key("default/c"))] = 1s;
  EXPECT_EQ(pass(), "") << "ours and not proven";
}

TEST_F(Identities, FewInAMinute) {
  publish("0000:1a:00.0");
  size_t noted = 0;
  for (size_t i = 0; i < kMostNotesAMinute + 5; ++i) {
    const std::string name = "c" + std::to_string(i);
    add_claim(name);
    noted += pass(name).empty() ? 0 : 1;
  }
  EXPECT_EQ(noted, kMostNotesAMinute);
  EXPECT_EQ(last.requeue_after, Duration(10s));
  view.time += 61s;
  EXPECT_NE(pass("c" + std::to_string(kMostNotesAMinute + 4)), "");
}

}  // namespace
}  // namespace dra::lifecycle::identities_test
