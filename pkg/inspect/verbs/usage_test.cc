// usage: what is held now by the claims, the leader's totals beside it, and what a Prometheus answers.
#include "pkg/inspect/verbs/usage.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "pkg/inspect/state/objects_fixture.h"
#include "pkg/inspect/verbs/doctor.h"
#include "pkg/protocol/manager_lease.h"

namespace dra::inspect::usage_test {

// A node with one card of which halves are published, and a device that several claims may share.
struct Fleet {
  Objects objects;

  Fleet() {
    parse_rfc3339("2026-03-01T12:00:00Z", objects.taken);
    objects.server_version = "v1.36.2";
    objects.dra_versions = {"v1"};
    auto counters = named_object<api::ResourceSlice>("", "a"), devices = named_object<api::ResourceSlice>("", "b");
    for (const auto& slice : {counters, devices}) {
      slice->driver = "d";
      slice->pool = {"n", 1, 2};
      slice->node_name = "n";
      objects.slices[slice->metadata.name] = slice;
    }
    counters->shared_counters.push_back({"card", {{"memory", "8"}, {"engines", "4"}}});
    for (const char* name : {"half-0", "half-1"}) {
      api::Device device;
      device.name = name;
      device.consumes_counters.push_back({"card", {{"memory", "4"}, {"engines", "2"}}});
      devices->devices.push_back(device);
    }
    api::Device shared;
    shared.name = "shared";
    shared.allow_multiple_allocations = true;
    devices->devices.push_back(shared);
    objects.classes["gpu"] = named_object<api::DeviceClass>("", "gpu");
  }

  void hold(const std::string& ns, const std::string& name, const std::string& device, const std::string& owner = "") {
    auto claim = named_object<api::ResourceClaim>(ns, name);
    claim->metadata.uid = "uid-" + ns + "-" + name;
    if (!owner.empty()) claim->metadata.owner_references = {{"x/v1", owner, "o", "u", true}};
    api::DeviceRequest request;
    request.name = "r";
    request.exactly.emplace();
    request.exactly->device_class_name = "gpu";
    claim->spec.requests = {request};
    api::DeviceRequestAllocationResult result;
    result.request = "r";
    result.driver = "d";
    result.pool = "n";
    result.device = device;
    claim->status.allocation.emplace();
    claim->status.allocation->results = {result};
    objects.claims[ns + "/" + name] = claim;
  }
};

std::string csv(const Answer& answer) {
  return render(answer, {Format::kCsv});
}

TEST(UsageVerb, CountsWhatIsHeldNow) {
  Fleet fleet;
  fleet.hold("ml", "a", "half-0", "RayCluster");
  fleet.hold("ml", "b", "half-1");
  for (const char* name : {"c", "d", "e", "f"}) fleet.hold("web", name, "shared");
  const State state(fleet.objects, {});
  EXPECT_EQ(csv(usage_now(state, {}, {})), "namespace,devices,cards\r\nml,2,1.000\r\nweb,4,1.000\r\n");
  EXPECT_EQ(
      csv(usage_now(state, {UsageBy::kAll, "ml"}, {})),
      "namespace,class,driver,ownerKind,devices,cards\r\nml,gpu,d,RayCluster,1,0.500\r\nml,gpu,d,none,1,0.500\r\n");
  const Answer classes = usage_now(state, {UsageBy::kClass, ""}, {std::nullopt, "it is secret"});
  EXPECT_EQ(csv(classes), "class,devices,cards\r\ngpu,6,2.000\r\n");
  EXPECT_EQ(classes.notes.front(), "hours are not shown: it is secret");
  EXPECT_EQ(render(classes, {Format::kName}), "deviceclass/gpu\n");
}

TEST(UsageVerb, ShowsTheTotalsBesideIt) {
  Fleet fleet;
  fleet.hold("ml", "a", "half-0");
  const State state(fleet.objects, {});
  usage::Record record;
  record.groups = {{{"ml", "gpu", "d", "Job"}, 7200, 3600, 1, 0, 0, {}},
                   {{"old", "gpu", "d", "=1+1"}, 360, 90, 0, 0, 5, {}}};
  EXPECT_EQ(csv(usage_now(state, {}, {record, ""})),
            "namespace,devices,cards,deviceHours,cardHours\r\nml,1,0.500,2.00,1.00\r\nold,0,0.000,0.10,0.03\r\n");
  EXPECT_EQ(csv(usage_now(state, {UsageBy::kOwner, ""}, {record, ""})),
            "ownerKind,devices,cards,deviceHours,cardHours\r\nnone,1,0.500,0.00,0.00\r\nJob,0,0.000,2.00,1.00\r\n"
            "\"'=1+1\",0,0.000,0.10,0.03\r\n");
}

TEST(UsageVerb, NothingIsHeld) {
  Fleet fleet;
  const State state(fleet.objects, {});
  EXPECT_EQ(usage_now(state, {}, {}).lines.front(), "no claim holds a device");
  fleet.objects.hidden.push_back({"resourceclaims", std::string(kMayNotList)});
  const State hidden(fleet.objects, {});
  EXPECT_EQ(usage_now(hidden, {}, {}).status, Status::kUnknown);
}

TEST(UsageVerb, PeriodsAreThoseOfPrometheus) {
  for (const char* good : {"1s", "36h", "7d", "1w2d", "4w3d2h1m5s", "520w"}) EXPECT_TRUE(usage_period(good)) << good;
  for (const char* bad : {"", "7", "d", "-1h", "1h7d", "1d1d", "1.5h", "7d]) or vector(1", "99999w",
                          "9999999999999999999999s", "0h", "1 h"})
    EXPECT_FALSE(usage_period(bad)) << bad;
  EXPECT_EQ(usage_query("card_seconds", "7d", true),
            "sum by (claim_namespace, class, driver, owner_kind) (increase(dra:usage_card_seconds:max[7d]))");
  EXPECT_EQ(usage_query("device_seconds", "7d", false),
            "sum by (claim_namespace, class, driver, owner_kind) (increase((max by (claim_namespace, class, driver, "
            "owner_kind) (dra_usage_device_seconds_total))[7d:10m]))");
  EXPECT_NE(usage_query("device_seconds", "36h", false).find("[36h:1m]"), std::string::npos);
}

TEST(UsageVerb, ReadsWhatAPrometheusAnswers) {
  std::vector<UsageOfPeriod> found;
  const auto answer = [](const std::string& results) {
    return R"({"status":"success","data":{"resultType":"vector","result":[)" + results + "]}}";
  };
  ASSERT_TRUE(add_usage_answer(answer(R"({"metric":{"claim_namespace":"ml","class":"gpu"},"value":[1,"7200.5"]},)"
                                      R"({"metric":{"claim_namespace":"web"},"value":[1,"NaN"]})"),
                               true, found));
  ASSERT_TRUE(add_usage_answer(answer(R"({"metric":{"claim_namespace":"ml","class":"gpu"},"value":[1,"36000"]})"),
                               false, found));
  EXPECT_EQ(csv(usage_of_period(found, {}, "7d", true)), "namespace,deviceHours,cardHours\r\nml,10.00,2.00\r\n");
  EXPECT_EQ(usage_of_period(found, {}, "7d", false).notes.size(), 1u);
  const Answer nothing = usage_of_period({}, {UsageBy::kNamespace, "x"}, "7d", true);
  EXPECT_EQ(nothing.lines.front(), "Prometheus has no usage of the last 7d in namespace x");
  EXPECT_EQ(nothing.status, Status::kUnknown);
  for (const char* bad :
       {"", "<html>", "[]", "{}", R"({"status":"success"})", R"({"status":"success","data":{"result":{}}})",
        R"({"status":"success","data":{"result":[{"metric":{},"value":[1,2]}]}})",
        R"({"status":"success","data":{"result":[[]]}})"})
    EXPECT_FALSE(add_usage_answer(bad, true, found)) << bad;
  EXPECT_EQ(add_usage_answer(R"({"status":"error","error":"no such metric"})", true, found).error().message(),
            "the query failed there: no such metric");
}

// The issue's words: without the right the feature is off, and doctor says so.
TEST(UsageVerb, DoctorSaysWhyNothingIsCounted) {
  Fleet fleet;
  auto lease = named_object<api::Lease>("kube-system", "dra-controller-manager");
  lease->holder_identity = "m";
  lease->lease_duration_seconds = 15;
  lease->renew_time = "2026-03-01T11:59:59.000000Z";
  protocol::ManagerNotes notes;
  notes.usage = "Usage is not counted: this manager may not get configmaps";
  notes.preempts = "Nobody is evicted for pods of higher priority: this manager may not list poddisruptionbudgets";
  notes.quarantine = "gpu.example.com/a/gpu-0=" + std::to_string(fleet.objects.taken.seconds() + 60);
  lease->metadata.annotations = protocol::annotations_of(notes);
  fleet.objects.managers.asked = true;
  fleet.objects.managers.leases["kube-system/dra-controller-manager"] = lease;
  const State state(fleet.objects, {});
  const std::vector<Diagnosis> found = diagnose(state);
  const auto about =
      std::find_if(found.begin(), found.end(), [&](const Diagnosis& one) { return one.finding == notes.usage; });
  ASSERT_NE(about, found.end());
  EXPECT_EQ(about->check, "manager");
  EXPECT_EQ(about->health, Health::kWarning);
  EXPECT_EQ(
      std::count_if(found.begin(), found.end(), [&](const Diagnosis& one) { return one.finding == notes.preempts; }),
      1);
  EXPECT_EQ(std::count_if(found.begin(), found.end(),
                          [](const Diagnosis& one) {
                            return one.finding.starts_with("Nobody is given device gpu.example.com/a/gpu-0 until 20");
                          }),
            1);
}

}  // namespace dra::inspect::usage_test
