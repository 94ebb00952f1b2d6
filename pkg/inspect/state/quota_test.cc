// What claims count for quotas, against the embedded API server's own rule, and what a book of quotas refuses.
#include "pkg/inspect/state/quota.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "pkg/api/decode/decode.h"
#include "pkg/apiserver/kinds/quota/quota.h"
#include "pkg/apiserver/kinds/resource/kinds.h"
#include "pkg/inspect/state/objects_fixture.h"

namespace dra::inspect::quota_test {
namespace {

using nlohmann::json;

json class_named(const std::string& name, const std::string& extended) {
  json one{{"apiVersion", "resource.k8s.io/v1"}, {"kind", "DeviceClass"}, {"metadata", {{"name", name}}}};
  one["spec"] = json::object();
  if (!extended.empty()) one["spec"]["extendedResourceName"] = extended;
  return one;
}

// Finds the classes, and nothing else.
class Classes : public apiserver::ObjectReader {
 public:
  Classes() {
    for (const json& one : {class_named("gpu", "example.com/gpu"), class_named("nic", ""), class_named("tpu", "")})
      all_[one["metadata"]["name"]] = std::make_shared<const apiserver::Json>(one);
  }
  std::shared_ptr<const apiserver::Json> find(std::string_view, std::string_view plural, std::string_view,
                                              std::string_view name) const override {
    const auto found = all_.find(std::string(name));
    return plural != "deviceclasses" || found == all_.end() ? nullptr : found->second;
  }
  void for_each(std::string_view, std::string_view, std::string_view,
                const std::function<void(const apiserver::Json&)>&) const override {}

  Objects objects() const {
    Objects objects;
    for (const auto& [name, one] : all_) {
      const auto read = api::decode<api::DeviceClass>(one->dump());
      EXPECT_TRUE(read);
      if (read) objects.classes[name] = std::make_shared<const api::DeviceClass>(*read);
    }
    return objects;
  }

 private:
  std::map<std::string, std::shared_ptr<const apiserver::Json>> all_;
};

// As the server stores it: with its defaults.
json random_claim(std::mt19937& random) {
  const auto below = [&](int bound) { return static_cast<int>(random() % static_cast<unsigned>(bound)); };
  const auto part = [&] {
    static const std::vector<std::string> kNames{"gpu", "nic", "tpu", "absent"};
    json one{{"deviceClassName", kNames[static_cast<size_t>(below(4))]}};
    one["allocationMode"] = below(4) == 0 ? "All" : "ExactCount";
    if (one["allocationMode"] == "ExactCount") one["count"] = 1 + below(5);
    return one;
  };
  json requests = json::array();
  for (int i = 0, all = 1 + below(4); i < all; ++i) {
    json request{{"name", "r" + std::to_string(i)}};
    if (below(3) == 0)
      for (int j = 0, most = 1 + below(3); j < most; ++j) {
        json alternative = part();
        alternative["name"] = "a" + std::to_string(j);
        request["firstAvailable"].push_back(std::move(alternative));
      }
    else
      request["exactly"] = part();
    requests.push_back(std::move(request));
  }
  return {{"apiVersion", "resource.k8s.io/v1"},
          {"kind", "ResourceClaim"},
          {"metadata", {{"name", "c"}, {"namespace", "ml"}}},
          {"spec", {{"devices", {{"requests", std::move(requests)}}}}}};
}

TEST(Quota, CountsWhatTheServerCounts) {
  const Classes classes;
  const Objects objects = classes.objects();
  std::mt19937 random(20261127);
  for (int i = 0; i < 500; ++i) {
    const json claim = random_claim(random);
    const auto read = api::decode<api::ResourceClaim>(claim.dump());
    ASSERT_TRUE(read) << read.error().message();
    QuotaCharge expected;
    for (const auto& [resource, amount] :
         apiserver::quota_usage(classes, apiserver::resource_claim_info(), apiserver::Json(claim)))
      expected[resource] = amount.value();
    EXPECT_EQ(charge_of(objects, *read), expected) << claim.dump();
  }
}

TEST(Quota, WhatThePodPaysTheClaimDoesNot) {
  const Objects objects = Classes().objects();
  api::ResourceClaim claim;
  claim.spec.requests.emplace_back();
  claim.spec.requests[0].exactly.emplace().device_class_name = "gpu";  // as a file leaves it: one device
  const QuotaCharge charge = charge_of(objects, claim, {{"example.com/gpu", "gpu"}});
  EXPECT_EQ(charge, (QuotaCharge{{"count/resourceclaims.resource.k8s.io", 1},
                                 {"gpu.deviceclass.resource.k8s.io/devices", 1},
                                 {"requests.deviceclass.resource.kubernetes.io/gpu", 1}}));
}

struct Case {
  std::string hard, used;
  int64_t asked = 0;
  bool refused = false;
};

TEST(Quota, RefusesWhatExceedsIt) {
  const std::string resource = "gpu.deviceclass.resource.k8s.io/devices";
  for (const Case& one : {Case{"4", "2", 2, false}, Case{"4", "3", 2, true}, Case{"4", "", 5, true},
                          Case{"0", "", 1, true}, Case{"4", "9", 1, true}, Case{"1k", "998", 2, false},
                          Case{"many", "", 7, false}, Case{"9223372036854775807", "9223372036854775807", 1, true}}) {
    SCOPED_TRACE(one.hard + " " + one.used + " " + std::to_string(one.asked));
    Objects objects;
    auto quota = named_object<api::ResourceQuota>("ml", "q");
    quota->hard = {{resource, one.hard}};
    if (!one.used.empty()) quota->used = {{resource, one.used}};
    objects.quotas.all["ml/q"] = quota;
    const QuotaBook now(objects, false), empty(objects, true);
    const auto refusal = now.refusal("ml", {{resource, one.asked}});
    EXPECT_EQ(refusal.has_value(), one.refused);
    EXPECT_FALSE(now.refusal("other", {{resource, one.asked}})) << "a quota is of its namespace";
    if (refusal && refusal->asked <= refusal->allowed) {
      EXPECT_FALSE(empty.refusal("ml", {{resource, one.asked}})) << "nothing is used there";
    }
    quota->has_scopes = true;
    EXPECT_FALSE(now.refusal("ml", {{resource, one.asked}})) << "with scopes it counts pods";
  }
}

TEST(Quota, ComparesWithWhatTheServerEnforces) {
  Objects objects;
  auto quota = named_object<api::ResourceQuota>("ml", "q");
  quota->hard = {{"count/resourceclaims.resource.k8s.io", "1"}};
  quota->enforced_hard = {{"count/resourceclaims.resource.k8s.io", "2"}};
  quota->used = {{"count/resourceclaims.resource.k8s.io", "1"}};
  objects.quotas.all["ml/q"] = quota;
  QuotaBook book(objects, false);
  const QuotaCharge one{{"count/resourceclaims.resource.k8s.io", 1}};
  EXPECT_FALSE(book.refusal("ml", one));
  book.add("ml", one);
  const auto refusal = book.refusal("ml", one);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(text_of(*refusal, "the claim"), "ResourceQuota ml/q allows 2 claims, 2 are used, and the claim asks for 1");
  EXPECT_EQ(remedy_of(*refusal),
            "wait until others are gone (kubectl dra top claims -n ml), or raise "
            "spec.hard[\"count/resourceclaims.resource.k8s.io\"] of the quota: kubectl edit resourcequota -n ml q");
  book.take_back("ml", one);
  EXPECT_FALSE(book.refusal("ml", one));
}

}  // namespace
}  // namespace dra::inspect::quota_test
