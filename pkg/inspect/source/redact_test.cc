// Redaction of the places where a text has names in a form of its own. That no other text survives: test/fields.
#include "pkg/inspect/source/redact.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pkg/api/decode/decode.h"
#include "pkg/inspect/state/successor.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/proof.h"

namespace dra::inspect {
namespace {

using nlohmann::json;

struct Item {
  std::string plural;
  json object;
};

std::vector<json> redact_all(std::vector<Item> items, Redaction redaction = Redaction::kNames) {
  Redactor redactor(redaction);
  for (const Item& item : items) redactor.learn(item.plural, item.object);
  redactor.settle();
  std::vector<json> out;
  for (Item& item : items) {
    redactor.apply(item.plural, item.object);
    out.push_back(std::move(item.object));
  }
  return out;
}

json claim_with(const json& annotations) {
  json claim = json::parse(R"({"metadata": {"name": "train-gpu-x7", "namespace": "ml", "uid": "c1"},
    "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "a"}}]}},
    "status": {"allocation": {"devices": {"results": [
      {"request": "gpu", "driver": "d.example.com", "pool": "node-a", "device": "gpu-0"}]}}}})");
  claim["metadata"]["annotations"] = annotations;
  return claim;
}

TEST(Redactor, AClaimBearsTheProofOfItsRedactedAllocation) {
  const auto allocation = api::decode<api::ResourceClaim>(claim_with(json::object()).dump())->status.allocation;
  json annotations;
  annotations["dra-controller-manager/proven"] = protocol::proof_value("p1", *allocation);
  annotations["dra-controller-manager/proven-for"] = "train-0/p1,train-1/~p2";
  const json claim = claim_with(annotations);
  const json pod =
      json::parse(R"({"metadata": {"name": "train-0", "namespace": "ml", "uid": "p1", "generateName": "train-"}})");
  const std::vector<json> out = redact_all({{"resourceclaims", claim}, {"pods", pod}});
  EXPECT_EQ((json(out).dump()).find("train"), std::string::npos) << json(out).dump(1);
  const auto redacted = api::decode<api::ResourceClaim>(out[0].dump());
  ASSERT_TRUE(redacted);
  EXPECT_NE(redacted->status.allocation->results[0].pool, "node-a");
  EXPECT_TRUE(protocol::bears_mark_of(*redacted, *redacted->status.allocation));
  EXPECT_EQ(protocol::proven_for(*redacted), out[1]["metadata"]["uid"].get<std::string>());
  EXPECT_EQ(redacted->metadata.annotations.at("dra-controller-manager/proven-for"),
            out[1]["metadata"]["name"].get<std::string>() + "/" + out[1]["metadata"]["uid"].get<std::string>() +
                ",pod-000002/~uid-000003");
}

// Who wrote the pod decides what of it comes again (state/successor.h): redaction leaves that as it was.
TEST(Redactor, WhatTheManagerWroteIsStillItsOwn) {
  const json pod = json::parse(
      R"({"metadata": {"name": "p", "namespace": "ml"}, "spec": {"nodeName": "n", "affinity": {"nodeAffinity":
    {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": [
      {"key": "metadata.name", "operator": "In", "values": ["n"]}]}]}}}}})");
  const json node = json::parse(R"({"metadata": {"name": "n"}})");
  for (const auto& [manager, ours] :
       {std::pair("dra-controller-manager", true), std::pair("ancient-changes", true), std::pair("corp-tool", false)}) {
    SCOPED_TRACE(manager);
    json written = pod;
    written["metadata"]["managedFields"] = {{{"manager", manager}, {"operation", "Update"}, {"apiVersion", "v1"}}};
    for (const Redaction redaction : {Redaction::kNames, Redaction::kStrict}) {
      const json out = redact_all({{"nodes", node}, {"pods", written}}, redaction)[1];
      EXPECT_EQ(out["metadata"]["managedFields"][0]["manager"] == manager, ours) << out.dump(1);
      for (const json& one : {written, out}) {
        const auto read = api::decode<api::Pod>(one.dump());
        ASSERT_TRUE(read);
        EXPECT_EQ(successor_of(*read, {}, nullptr).node_affinity.has_value(), !ours) << one.dump(1);
      }
    }
  }
}

// doctor counts who allocated, and explain says it.
TEST(Redactor, WhoAllocatedAClaimIsKept) {
  for (const auto& [manager, ours] :
       {std::pair(std::string(protocol::kAllocationManager), true), std::pair(std::string("corp-allocator"), false)})
    for (const Redaction redaction : {Redaction::kNames, Redaction::kStrict}) {
      json claim = json::parse(R"({"metadata": {"name": "c", "namespace": "ml"}, "spec": {"devices": {}}})");
      claim["metadata"]["managedFields"] = {
          {{"manager", manager}, {"operation", "Update"}, {"apiVersion", "v1"}, {"subresource", "status"}}};
      const json out = redact_all({{"resourceclaims", claim}}, redaction)[0];
      EXPECT_EQ(out["metadata"]["managedFields"][0]["manager"] == manager, ours) << out.dump(1);
    }
}

// A number that Gt or Lt compares stays one; the same label elsewhere, too.
TEST(Redactor, NumbersThatSelectorsCompareStay) {
  const json node = json::parse(R"({"metadata": {"name": "n", "labels": {"corp/generation": "7", "corp/rack": "7"}}})");
  const json pod = json::parse(R"({"metadata": {"name": "p", "namespace": "ml"}, "spec": {"affinity": {"nodeAffinity":
    {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [
      {"key": "corp/generation", "operator": "Gt", "values": ["5"]}]}]}}}}})");
  const std::vector<json> out = redact_all({{"nodes", node}, {"pods", pod}});
  EXPECT_EQ(out[0]["metadata"]["labels"], json::parse(R"({"key-000001": "7", "key-000002": "value-000001"})"));
  const json& term = out[1]["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
                        ["nodeSelectorTerms"][0]["matchExpressions"][0];
  EXPECT_EQ(term, json::parse(R"({"key": "key-000001", "operator": "Gt", "values": ["5"]})"));
}

TEST(Redactor, AnImageWithoutATagIsThatOfTheNode) {
  const json node =
      json::parse(R"({"metadata": {"name": "n"}, "status": {"images": [{"names": ["corp/img:latest"]}]}})");
  const json pod =
      json::parse(R"({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "corp/img"}]}})");
  const std::vector<json> out = redact_all({{"nodes", node}, {"pods", pod}});
  EXPECT_EQ(out[0]["status"]["images"][0]["names"][0], out[1]["spec"]["containers"][0]["image"]);
}

// What a newer server added still makes the object one with an unknown field, without its content.
TEST(Redactor, UnknownFieldsStayWithoutTheirContent) {
  const json slice =
      json::parse(R"({"metadata": {"name": "s"}, "spec": {"driver": "d", "future": {"secret": "word"}}})");
  const json out = redact_all({{"resourceslices", slice}})[0];
  EXPECT_EQ(out["spec"]["future"], json::parse(R"({"redacted": true})"));
}

TEST(Redactor, StrictRenamesWhatDriversSayAndSelectorsFollow) {
  const json slice =
      json::parse(R"({"metadata": {"name": "s"}, "spec": {"driver": "gpu.corp.com", "pool": {"name": "n"},
    "devices": [{"name": "titan-0", "capacity": {"vram": {"value": "80Gi"}},
      "attributes": {"model": {"string": "Titan"}, "firmware": {"version": "1.2.3"}}}]}})");
  json device_class = json::parse(R"({"metadata": {"name": "corp-gpu"}, "spec": {"selectors": [{"cel": {}}]}})");
  device_class["spec"]["selectors"][0]["cel"]["expression"] =
      "device.driver == 'gpu.corp.com' && device.attributes[\"gpu.corp.com\"].model == r'Titan' && "
      "device.capacity['gpu.corp.com'].vram >= quantity('40Gi') // our titans";
  const std::vector<json> out =
      redact_all({{"resourceslices", slice}, {"deviceclasses", device_class}}, Redaction::kStrict);
  EXPECT_EQ(out[1]["spec"]["selectors"][0]["cel"]["expression"],
            "device.driver == \"driver-000001.example\" && "
            "device.attributes[\"driver-000001.example\"].attribute_000002 == \"text-000001\" && "
            "device.capacity[\"driver-000001.example\"].capacity_000001 >= quantity(\"40Gi\") ");
  const json& device = out[0]["spec"]["devices"][0];
  EXPECT_EQ(device["attributes"]["attribute_000002"], json::parse(R"({"string": "text-000001"})"));
  EXPECT_EQ(device["attributes"]["attribute_000001"], json::parse(R"({"version": "1.2.3"})"));
  for (const char* word : {"corp", "itan", "vram", "model"})
    EXPECT_EQ(json(out).dump().find(word), std::string::npos) << word << " in " << json(out).dump(1);
}

}  // namespace
}  // namespace dra::inspect
