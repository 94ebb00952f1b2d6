#include "pkg/apiserver/patch/patch.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pkg/apiserver/kinds/folders.h"
#include "pkg/apiserver/model/json_text.h"
#include "pkg/base/random.h"

namespace dra::apiserver::patch_test {

Json operation(const char* op, const std::string& path, const Json& value) {
  return {{"op", op}, {"path", path}, {"value", value}};
}

Json relocation(const char* op, const std::string& from, const std::string& path) {
  return {{"op", op}, {"from", from}, {"path", path}};
}

size_t depth_of(const Json& value) {
  size_t below = 0;
  if (!value.is_structured()) return 0;
  for (const auto& v : value) below = std::max(below, depth_of(v));
  return below + 1;
}

TEST(JsonPatch, CopiesIntoTheirOwnLeafAreRefusedBeforeTheyNestTooDeep) {
  Json patch = Json::array();
  std::string leaf = "/a";
  for (int i = 0; i < 18; ++i) {
    patch.push_back(relocation("copy", "/a", leaf + "/x"));
    leaf += leaf.substr(2) + "/x";
  }
  const auto out = apply_json_patch({{"a", Json::object()}}, patch);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, 422);
  EXPECT_EQ(out.error().reason, "Invalid");
}

// Each operation moves the chain below a new one, so that it nests one level deeper.
TEST(JsonPatch, MovesMayNotNestDeeperThanBodies) {
  Json patch = Json::array();
  for (int i = 0; i < kMaxJsonDepth + 5; ++i) {
    patch.push_back(operation("add", "/b", Json::object()));
    patch.push_back(relocation("move", "/a", "/b/x"));
    patch.push_back(relocation("move", "/b", "/a"));
  }
  EXPECT_FALSE(apply_json_patch({{"a", 1}}, patch));
  const Json few(Json::array_t(patch.begin(), patch.begin() + 3 * (kMaxJsonDepth - 1)));
  const auto out = apply_json_patch({{"a", 1}}, few);
  ASSERT_TRUE(out);
  EXPECT_EQ(depth_of(*out), static_cast<size_t>(kMaxJsonDepth));
}

TEST(JsonPatch, CopiedBytesAreBounded) {
  const Json document = {{"a", {{"text", std::string(1000, 'x')}}}};
  Json patch = Json::array();
  for (int i = 0; i < 30; ++i) patch.push_back(relocation("copy", "/a", "/a/c" + std::to_string(i)));
  EXPECT_FALSE(apply_json_patch(document, patch));
  Json large = {{"a", std::string(1'000'000, 'x')}};
  Json three = Json::array();
  for (int i = 0; i < 3; ++i) three.push_back(relocation("copy", "/a", "/b" + std::to_string(i)));
  EXPECT_TRUE(apply_json_patch(large, three));
  three.push_back(relocation("copy", "/a", "/b3"));
  EXPECT_FALSE(apply_json_patch(large, three));
}

TEST(JsonPatch, WorkIsBounded) {
  Json patch = Json::array({operation("add", "/a", Json(Json::array_t(100'000, Json(0))))});
  for (int i = 0; i < 9'000; ++i) patch.push_back(operation("add", "/a/0", 1));
  EXPECT_FALSE(apply_json_patch(Json::object(), patch));
}

TEST(JsonPatch, ReplaceCreatesMembersOfObjectsOnly) {
  EXPECT_EQ(*apply_json_patch(Json::object(), Json::array({operation("replace", "/a", 1)})), Json({{"a", 1}}));
  EXPECT_FALSE(apply_json_patch({{"a", {1}}}, Json::array({operation("replace", "/a/1", 1)})));
  EXPECT_FALSE(apply_json_patch(Json::object(), Json::array({operation("replace", "/a/b", 1)})));
}

// Random patches have the same result as the JSON library's own implementation.
TEST(JsonPatch, EqualsTheLibrary) {
  const uint64_t seed = 20261121;
  SeededRandom random(seed);
  const std::vector<std::string> paths = {"",     "/a",   "/b",    "/c",      "/a/x",  "/a/y",
                                          "/b/0", "/b/1", "/b/2",  "/b/-",    "/b/01", "/b/x",
                                          "/c/0", "/d~1", "/d~0e", "nothing", "/a/z",  "/c/0/0"};
  const Json document = {{"a", {{"x", 1}, {"y", {{"z", 2}}}}}, {"b", {1, 2}}, {"c", {{1, 2}, {3}}}, {"d~e", 1}};
  int done = 0;
  for (int i = 0; i < 20'000; ++i) {
    Json patch = Json::array();
    for (uint64_t k = 1 + random.below(3); k > 0; --k) {
      const auto& path = paths[random.below(paths.size())];
      const auto& from = paths[random.below(paths.size())];
      static constexpr const char* kOps[] = {"add", "remove", "copy", "move", "test", "other"};
      const std::string op = kOps[random.below(6)];
      if (op == "remove" && path.empty()) continue;
      if (op == "move" && (from.empty() || path == from + "/x" || path.starts_with(from + "/"))) continue;
      Json one = operation(op.c_str(), path, random.below(2) == 0 ? Json(1) : Json::array({1, 2}));
      one["from"] = from;
      patch.push_back(std::move(one));
    }
    const auto mine = apply_json_patch(document, patch);
    Json theirs = document;
    try {
      for (const auto& one : patch) {
        // The library silently removes members from scalars and crashes when adding them there.
        const Json::json_pointer path(one["path"].get<std::string>());
        if (!path.empty() && !theirs.at(path.parent_pointer()).is_structured()) (void)theirs.at(path);
        theirs.patch_inplace(Json::array({one}));
      }
    } catch (const Json::exception&) {
      EXPECT_FALSE(mine) << "seed " << seed << " " << patch;
      continue;
    }
    ASSERT_TRUE(mine) << "seed " << seed << " " << patch;
    EXPECT_EQ(*mine, theirs) << "seed " << seed << " " << patch;
    ++done;
  }
  EXPECT_GT(done, 1000);
}

Json strategic(const char* kind, const Json& target, const Json& patch) {
  const auto merged = apply_strategic_patch(target, patch, builtin_schemas().find("core/v1", kind));
  return merged ? *merged : Json(merged.error().message);
}

// Ports may have the same merge key in one list: the first of them is meant, and the next once that is deleted.
TEST(StrategicPatch, ElementsOfOneKeyAreMetInTheirOrder) {
  const auto port = [](int number, const char* protocol) {
    return Json{{"containerPort", number}, {"protocol", protocol}};
  };
  const auto remove = [](int number) { return Json{{"containerPort", number}, {"$patch", "delete"}}; };
  const Json target = {{"ports", Json::array({port(1, "TCP"), port(2, "TCP"), port(1, "UDP"), port(1, "SCTP")})}};
  EXPECT_EQ(strategic("Container", target, {{"ports", Json::array({remove(1)})}})["ports"],
            Json::array({port(2, "TCP"), port(1, "UDP"), port(1, "SCTP")}));
  EXPECT_EQ(
      strategic("Container", target, {{"ports", Json::array({remove(1), remove(1), remove(1), remove(1)})}})["ports"],
      Json::array({port(2, "TCP")}));
  const Json named = {{"containerPort", 1}, {"name", "n"}};
  Json first = port(1, "UDP");
  first["name"] = "n";
  EXPECT_EQ(strategic("Container", target, {{"ports", Json::array({remove(1), named})}})["ports"],
            Json::array({port(2, "TCP"), first, port(1, "SCTP")}));
  // Numbers are compared by value.
  EXPECT_EQ(strategic("Container", target,
                      {{"ports", Json::array({Json{{"containerPort", 2u}, {"$patch", "delete"}}})}})["ports"]
                .size(),
            3u);
}

// With 50,000 elements each of these took minutes while elements were searched for.
TEST(StrategicPatch, ListsOfThousandsOfElements) {
  constexpr int kMany = 8'000;
  Json variables = Json::array(), reversed = Json::array(), names = Json::array(), order = Json::array();
  for (int i = 0; i < kMany; ++i) {
    variables.push_back({{"name", "v" + std::to_string(i)}, {"value", "x"}});
    reversed.push_back({{"name", "v" + std::to_string(kMany - 1 - i)}, {"value", "y"}});
    order.push_back({{"name", "v" + std::to_string(kMany - 1 - i)}});
    names.push_back("example.com/f" + std::to_string(i));
  }
  EXPECT_EQ(strategic("Container", {{"env", variables}}, {{"env", reversed}})["env"], reversed);
  Json moved = reversed;
  for (Json& variable : moved) variable["value"] = "x";
  EXPECT_EQ(strategic("Container", {{"env", variables}}, {{"$setElementOrder/env", order}})["env"], moved);
  for (Json& variable : reversed) variable["$patch"] = "delete";
  EXPECT_EQ(strategic("Container", {{"env", variables}}, {{"env", reversed}})["env"], Json::array());
  const auto finalizers = [](const Json& list) { return Json{{"metadata", {{"finalizers", list}}}}; };
  EXPECT_EQ(strategic("Pod", finalizers(names), finalizers(names)), finalizers(names));
  EXPECT_EQ(strategic("Pod", finalizers(names), {{"metadata", {{"$deleteFromPrimitiveList/finalizers", names}}}}),
            finalizers(Json::array()));
}

}  // namespace dra::apiserver::patch_test
