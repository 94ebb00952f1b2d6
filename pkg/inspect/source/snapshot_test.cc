#include "pkg/inspect/source/snapshot.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <nlohmann/json.hpp>

#include "pkg/inspect/source/redact.h"

namespace dra::inspect {
namespace {

using nlohmann::json;

json list_of(std::vector<json> items) {
  return {{"kind", "List"}, {"metadata", {{"resourceVersion", "7"}}}, {"items", std::move(items)}};
}

const json kPod =
    json::parse(R"({"metadata":{"name":"train","namespace":"secret-ns","uid":"u1","annotations":{"x":"password"},
  "labels":{"kubernetes.io/hostname":"node-a"}},
  "spec":{"nodeName":"node-a","schedulingGroup":{"podGroupName":"quiet-group"},"nodeSelector":{"kubernetes.io/hostname":"node-a"},"containers":[{"name":"gpu","image":"registry/img:1",
  "env":[{"name":"TOKEN","value":"hunter2"}],"args":["--key=hunter2"]}],"resourceClaims":[{"name":"gpu","resourceClaimName":"my-claim"}]},
  "status":{"phase":"Running","conditions":[{"type":"Ready","status":"True","message":"pod train is ready"}]}})");
const json kClaim = json::parse(R"({"metadata":{"name":"my-claim","namespace":"secret-ns","uid":"c1"},
  "spec":{"devices":{"requests":[{"name":"gpu","exactly":{"deviceClassName":"gpu"}}]}},
  "status":{"allocation":{"devices":{"results":[{"request":"gpu","driver":"d","pool":"node-a-pool","device":"gpu-0"}]}},
  "reservedFor":[{"resource":"pods","name":"train","uid":"u1"}]}})");
const json kSlice = json::parse(R"({"metadata":{"name":"node-a-slice"},"spec":{"driver":"d","nodeName":"node-a",
  "pool":{"name":"node-a-pool","generation":1,"resourceSliceCount":1},"devices":[{"name":"gpu-0","attributes":{"type":{"string":"gpu"}}}]}})");
const json kGroup = json::parse(R"({"metadata":{"name":"quiet-group","namespace":"secret-ns"},
  "spec":{"schedulingPolicy":{"gang":{"minCount":3}}}})");
const json kNode =
    json::parse(R"({"metadata":{"name":"node-a"},"status":{"images":[{"names":["registry/img:1"],"sizeBytes":7}]}})");

const json kVolume =
    json::parse(R"({"metadata":{"name":"disk"},"spec":{"capacity":{"storage":"1Gi"},"csi":{"driver":"csi.example.com",
  "volumeHandle":"h1","volumeAttributes":{"key":"hush"},"nodeStageSecretRef":{"name":"hush","namespace":"hush"}}}})");

std::string snapshot_bytes(bool redact) {
  SnapshotWriter writer(redact ? Redaction::kNames : Redaction::kNone);
  EXPECT_TRUE(writer.add("nodes", list_of({kNode}).dump()));
  EXPECT_TRUE(writer.add("resourceslices", list_of({kSlice}).dump()));
  EXPECT_TRUE(writer.add("resourceclaims", list_of({kClaim}).dump()));
  EXPECT_TRUE(writer.add("pods", list_of({kPod}).dump()));
  EXPECT_TRUE(writer.add("podgroups", list_of({kGroup}).dump()));
  Objects objects;
  objects.taken = WallTime{std::chrono::seconds{1'700'000'000}};
  objects.server_version = "v1.36.2";
  objects.hidden = {{redact ? "pods outside namespace secret-ns" : "pods outside namespace x", "forbidden"},
                    {redact ? "claims outside namespace hush" : "claims outside namespace x", "forbidden"}};
  objects.storage_read = true;
  objects.hidden_storage = {{"persistentvolumeclaims outside namespace secret-ns", "forbidden"}};
  EXPECT_TRUE(writer.add("persistentvolumes", list_of({kVolume}).dump()));
  return writer.bytes(objects);
}

std::string unpack(const std::string& bytes) {
  z_stream stream{};
  inflateInit2(&stream, 31);
  std::string text(1 << 20, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  inflate(&stream, Z_FINISH);
  text.resize(text.size() - stream.avail_out);
  inflateEnd(&stream);
  return text;
}

std::string pack(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY);
  std::string out(text.size() + 1000, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

TEST(Snapshot, GivesBackWhatDecisionsRead) {
  const auto objects = read_snapshot_bytes(snapshot_bytes(false), "x.dra");
  ASSERT_TRUE(objects) << objects.error().message();
  EXPECT_EQ(objects->server_version, "v1.36.2");
  EXPECT_EQ(objects->hidden.size(), 2u);
  EXPECT_TRUE(objects->hides("pods"));
  ASSERT_TRUE(objects->pods.contains("secret-ns/train"));
  EXPECT_EQ(objects->pods.at("secret-ns/train")->node_name, "node-a");
  ASSERT_TRUE(objects->claim_by_uid.contains("c1"));
  EXPECT_EQ(consumers_of(*objects, *objects->claim_by_uid.at("c1")), std::vector<std::string>{"train"});
  EXPECT_EQ(objects->slices.at("node-a-slice")->devices.at(0).name, "gpu-0");
  EXPECT_EQ(objects->pods.at("secret-ns/train")->pod_group_name, "quiet-group");
  EXPECT_EQ(objects->pod_groups.at(reconcile::GroupApi::kCore).at("secret-ns/quiet-group")->min_count, 3);
}

TEST(Snapshot, LeavesOutWhatNoDecisionReads) {
  const std::string text = unpack(snapshot_bytes(false));
  EXPECT_EQ(text.find("hunter2"), std::string::npos);
  EXPECT_EQ(text.find("password"), std::string::npos);
  EXPECT_NE(text.find("secret-ns"), std::string::npos);
}

TEST(Snapshot, KeepsOfVolumesWhatDecides) {
  const std::string bytes = snapshot_bytes(false);
  EXPECT_EQ(unpack(bytes).find("hush"), std::string::npos) << "secrets and parameters of drivers";
  const auto objects = read_snapshot_bytes(bytes, "x.dra");
  ASSERT_TRUE(objects) << objects.error().message();
  EXPECT_TRUE(objects->storage_read);
  EXPECT_EQ(objects->hidden_storage.size(), 1u);
  EXPECT_EQ(objects->volumes.at("disk")->csi_handle, "h1");
  EXPECT_EQ(objects->volumes.at("disk")->storage, "1Gi");
  const auto redacted = read_snapshot_bytes(snapshot_bytes(true), "x.dra");
  ASSERT_TRUE(redacted);
  EXPECT_FALSE(redacted->storage_read);
}

// What counts claims and devices stays, and still names its class when that is numbered.
TEST(Snapshot, KeepsOfQuotasWhatCountsDevices) {
  for (const Redaction redaction : {Redaction::kNone, Redaction::kNames, Redaction::kStrict}) {
    SnapshotWriter writer(redaction);
    ASSERT_TRUE(writer.add("deviceclasses", R"({"items":[{"metadata":{"name":"big.gpu"}}]})"));
    ASSERT_TRUE(writer.add(
        "resourcequotas",
        R"({"items":[{"metadata":{"name":"quiet-quota","namespace":"secret-ns"},"spec":{"hard":{"pods":"1",)"
        R"("fast-disks.storageclass.storage.k8s.io/requests.storage":"1Ti","count/resourceclaims.resource.k8s.io":"9",)"
        R"("big.gpu.deviceclass.resource.k8s.io/devices":"4","requests.example.com/gpu":"5"},"scopes":["BestEffort"]},)"
        R"("status":{"used":{"pods":"1","big.gpu.deviceclass.resource.k8s.io/devices":"3"}}}]})"));
    Objects read;
    read.quotas.asked = true;
    read.quotas.hidden = {{"resourcequotas outside namespace secret-ns", "forbidden"}};
    const std::string bytes = writer.bytes(read);
    EXPECT_EQ(unpack(bytes).find("fast-disks"), std::string::npos);
    const auto objects = read_snapshot_bytes(bytes, "x.dra");
    ASSERT_TRUE(objects) << objects.error().message();
    EXPECT_TRUE(objects->quotas.asked);
    EXPECT_EQ(objects->quotas.hidden.size(), 1u);
    ASSERT_EQ(objects->quotas.all.size(), 1u);
    const api::ResourceQuota& quota = *objects->quotas.all.begin()->second;
    const std::string counted_class = objects->classes.begin()->first + ".deviceclass.resource.k8s.io/devices";
    EXPECT_EQ(quota.hard.size(), 3u);
    EXPECT_EQ(quota.hard.at(counted_class), "4") << unpack(bytes);
    EXPECT_EQ(quota.hard.at("count/resourceclaims.resource.k8s.io"), "9");
    EXPECT_EQ(quota.used, (api::StringMap{{counted_class, "3"}}));
    EXPECT_TRUE(quota.has_scopes);
    EXPECT_EQ(unpack(bytes).find("secret-ns") == std::string::npos, redaction != Redaction::kNone);
    EXPECT_EQ(unpack(bytes).find("quiet-quota") == std::string::npos, redaction != Redaction::kNone);
    EXPECT_EQ(unpack(bytes).find("example.com") == std::string::npos, redaction == Redaction::kStrict);
  }
}

TEST(Snapshot, RedactedNamesNobody) {
  const std::string bytes = snapshot_bytes(true);
  const std::string text = unpack(bytes);
  for (const char* name : {"secret-ns", "train", "my-claim", "node-a", "registry/img", "hush", "quiet", "disk"})
    EXPECT_EQ(text.find(name), std::string::npos) << name << " in " << text;
  const auto objects = read_snapshot_bytes(bytes, "x.dra");
  ASSERT_TRUE(objects) << objects.error().message();
  EXPECT_TRUE(objects->redacted);
  // References between objects still hold, and texts that only look like names are unchanged.
  const api::Pod& pod = *objects->pods.begin()->second;
  EXPECT_TRUE(objects->nodes.contains(pod.node_name));
  EXPECT_EQ(pod.node_selector.begin()->second, pod.node_name);
  EXPECT_TRUE(objects->claims.contains(pod.metadata.ns + "/" + *pod.resource_claims[0].resource_claim_name));
  EXPECT_EQ(pod.resource_claims[0].name, "entry-000001");
  EXPECT_TRUE(objects->pod_groups.at(reconcile::GroupApi::kCore).contains(pod.metadata.ns + "/" + pod.pod_group_name));
  const api::ResourceSlice& slice = *objects->slices.begin()->second;
  EXPECT_EQ(slice.pool.name, objects->claims.begin()->second->status.allocation->results[0].pool);
  EXPECT_EQ(std::get<std::string>(slice.devices[0].attributes.at("type")), "gpu");
}

TEST(Snapshot, EveryTruncationIsRefused) {
  const std::string bytes = snapshot_bytes(false);
  for (size_t length = 0; length < bytes.size(); ++length) {
    const auto objects = read_snapshot_bytes(std::string_view(bytes).substr(0, length), "cut.dra");
    ASSERT_FALSE(objects) << length;
    EXPECT_TRUE(objects.error().message().starts_with("snapshot \"cut.dra\": ")) << objects.error().message();
  }
}

TEST(Snapshot, EveryFlippedByteIsRefusedOrRead) {
  const std::string bytes = snapshot_bytes(false);
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x15);
    const auto objects = read_snapshot_bytes(damaged, "x");
    if (!objects) {
      EXPECT_FALSE(objects.error().message().empty());
    }
  }
}

TEST(Snapshot, ForeignFilesAreRefusedInOneSentence) {
  const auto why = [](const std::string& bytes) {
    const auto objects = read_snapshot_bytes(bytes, "x");
    return objects ? "read" : objects.error().message();
  };
  EXPECT_EQ(why("hello, this is not a snapshot at all"),
            "file \"x\": it is neither a snapshot (make one with: kubectl dra snapshot FILE) nor a list of objects "
            "(kubectl get nodes,deviceclasses,resourceslices,resourceclaims,resourceclaimtemplates,pods -A -o yaml)");
  EXPECT_EQ(why(pack("{\"kind\":\"Pod\"}\n")),
            "snapshot \"x\": it is not a snapshot of kubectl-dra; make one with: kubectl dra snapshot FILE");
  EXPECT_EQ(why(pack(R"({"format":"kubectl-dra snapshot","version":2,"taken":"2026-01-01T00:00:00Z"})"
                     "\n")),
            "snapshot \"x\": its version is 2, this program reads version 1");
  const std::string header = R"({"format":"kubectl-dra snapshot","version":1,"taken":"2026-01-01T00:00:00Z"})"
                             "\n";
  EXPECT_EQ(why(pack(header + "secrets\t{\"items\":[]}\n")),
            "snapshot \"x\": line 2: lists of \"secrets\" are not read");
  EXPECT_EQ(why(pack(header + "pods\n")), "snapshot \"x\": line 2 names no kind");
  EXPECT_NE(why(pack(header + "pods\t[[[[\n")).find("line 2"), std::string::npos);
  EXPECT_EQ(why(pack(header)), "read");
  EXPECT_EQ(why(pack("{\"format\":\"kubectl-dra snapshot\",\"version\":1,\"taken\":7}\n")),
            "snapshot \"x\": \"taken\" of its header is not a time");
}

TEST(Redactor, KeepsTheOrderOfNames) {
  Redactor redactor(Redaction::kNames);
  for (const char* name : {"zebra", "apple", "mango"}) redactor.learn("nodes", {{"metadata", {{"name", name}}}});
  redactor.settle();
  const auto renamed = [&](const char* name) { return redactor.renamed(Word::kNode, name); };
  EXPECT_LT(renamed("apple"), renamed("mango"));
  EXPECT_LT(renamed("mango"), renamed("zebra"));
  EXPECT_EQ(renamed("unknown"), std::nullopt);
}

}  // namespace
}  // namespace dra::inspect
