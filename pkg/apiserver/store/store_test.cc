#include "pkg/apiserver/store/store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "pkg/apiserver/store/sqlite_store.h"
#include "pkg/base/random.h"

namespace dra::apiserver::store_test {

Json document(int value) {
  return {{"metadata", Json::object()}, {"value", value}};
}

// After random writes, the state at every revision within the window equals what a model recorded there.
TEST(Store, SnapshotsEqualAModel) {
  const uint64_t seed = 42;
  SeededRandom random(seed);
  Store store({.max_changes = 50, .parsed_changes = 5});
  std::map<uint64_t, std::map<std::string, int>> history;
  std::map<std::string, int> model;
  for (int i = 0; i < 400; ++i) {
    const std::string key = "k" + std::to_string(random.below(8));
    if (model.contains(key) && random.below(3) == 0) {
      store.remove("t", key);
      model.erase(key);
    } else {
      store.put("t", key, document(i));
      model[key] = i;
    }
    history[store.revision()] = model;
  }
  for (const auto& [revision, expected] : history) {
    const auto got = store.objects_at("t", revision);
    ASSERT_EQ(got.has_value(), revision >= store.floor("t")) << "seed " << seed << " revision " << revision;
    if (!got) continue;
    std::map<std::string, int> values;
    for (const auto& [key, object] : *got) values[key] = object->document()->at("value");
    EXPECT_EQ(values, expected) << "seed " << seed << " revision " << revision;
  }
  EXPECT_EQ(store.changes_since("t", store.floor("t")).size(), 50U);
}

TEST(Store, TheLogIsBoundedByBytesToo) {
  const auto big = [](char c) { return Json{{"metadata", Json::object()}, {"value", std::string(1000, c)}}; };
  Store store({.max_changes = 1000, .max_change_bytes = 10'000, .max_change_bytes_of_large_state = 0});
  for (int i = 0; i < 20; ++i) store.put("t", "a", big('x'));
  const size_t kept = store.changes_since("t", store.floor("t")).size();
  EXPECT_GE(kept, 8U);
  EXPECT_LE(kept, 10U);
  EXPECT_FALSE(store.objects_at("t", store.floor("t") - 1));
  for (int i = 0; i < 20; ++i) store.put("t", "new" + std::to_string(i), big('x'));
  EXPECT_EQ(store.changes_since("t", store.floor("t")).size(), kept + 20) << "the objects are there anyway";
  store.remove("t", "a");
  EXPECT_LT(store.changes_since("t", store.floor("t")).size(), kept + 21);
}

// A watch that falls behind would have to read them instead.
TEST(Store, TheLogMayTakeAsMuchAsTheObjects) {
  const Json big = {{"metadata", Json::object()}, {"value", std::string(1000, 'x')}};
  Store store({.max_changes = 1000, .max_change_bytes = 10'000, .max_change_bytes_of_large_state = 50'000});
  const auto kept = [&] { return store.changes_since("t", store.floor("t")).size(); };
  const auto replace = [&](int times) {
    for (int i = 0; i < times; ++i) store.put("t", "0", big);
  };
  for (int i = 0; i < 30; ++i) store.put("t", std::to_string(i), big);
  replace(200);
  EXPECT_NEAR(kept(), 30, 2);
  for (int i = 30; i < 100; ++i) store.put("t", std::to_string(i), big);
  replace(200);
  EXPECT_NEAR(kept(), 48, 2) << "the limit for a large state";
  for (int i = 1; i < 100; ++i) store.remove("t", std::to_string(i));
  EXPECT_NEAR(kept(), 5, 2) << "a removal keeps two objects, and few objects are left";
}

// Parsed, a large object takes several times the memory of its text.
TEST(Store, OnlyTheNewestBytesOfTheLogKeepTheirDocuments) {
  const Json big = {{"metadata", Json::object()}, {"value", std::string(1000, 'x')}};
  Store store({.max_changes = 1000, .max_change_bytes = 10'000, .max_change_bytes_of_large_state = 100'000});
  for (int i = 0; i < 50; ++i) store.put("t", std::to_string(i), big);
  const StoredPtr first = store.get("t", "0");
  const std::weak_ptr<const Json> document = first->document();
  store.put("t", "0", big);
  for (int i = 0; i < 5; ++i) store.put("t", "1", big);
  EXPECT_FALSE(document.expired());
  for (int i = 0; i < 10; ++i) store.put("t", "1", big);
  EXPECT_TRUE(document.expired());
  EXPECT_TRUE(store.objects_at("t", first->revision())) << "the log still has it";
}

TEST(Store, ListenersMayLeaveWhileTheyRun) {
  Store store;
  int calls = 0;
  uint64_t id = 0;
  id = store.listen("t", [&](const ChangePtr&) {
    ++calls;
    store.unlisten("t", id);
  });
  store.put("t", "a", document(1));
  store.put("t", "a", document(2));
  EXPECT_EQ(calls, 1);
}

TEST(Store, AListenerThatThrowsCostsNobodyElseTheChange) {
  Store store;
  int calls = 0;
  store.listen("t", [](const ChangePtr&) { throw std::runtime_error("broken"); });
  store.listen("t", [&](const ChangePtr&) { ++calls; });
  EXPECT_TRUE(store.put("t", "a", document(1)));
  EXPECT_EQ(calls, 1);
}

TEST(Store, RawTextsStayUntilReplacedAndSurviveARestart) {
  const std::string directory = ::testing::TempDir() + "raw_texts_" + std::to_string(::getpid());
  const RawTexts raw_texts{{"/value", " 1\n"}, {"/x", "\"\""}};
  {
    Store store;
    auto persistence = SqliteStore::open(directory, store);
    ASSERT_TRUE(persistence) << persistence.error().message();
    store.set_persistence(persistence->get());
    store.put("t", "raw", document(1), raw_texts);
    store.put("t", "raw", document(2));
    EXPECT_EQ(store.get("t", "raw")->raw_texts(), raw_texts);
    store.put("t", "plain", document(3), raw_texts);
    store.put("t", "plain", document(4), RawTexts());
  }
  Store store;
  auto persistence = SqliteStore::open(directory, store);
  ASSERT_TRUE(persistence) << persistence.error().message();
  EXPECT_EQ(store.get("t", "raw")->raw_texts(), raw_texts);
  EXPECT_EQ(store.get("t", "raw")->document()->at("value"), 2);
  EXPECT_EQ(store.get("t", "raw")->text().find('\n'), std::string::npos);
  EXPECT_TRUE(store.get("t", "plain")->raw_texts().empty());
  const auto mode = std::filesystem::status(directory + "/objects.db").permissions();
  EXPECT_EQ(mode, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  std::filesystem::remove_all(directory);
}

}  // namespace dra::apiserver::store_test
