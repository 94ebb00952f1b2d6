#include "pkg/api/shared_list.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "pkg/api/share_lists.h"
#include "pkg/base/random.h"

namespace dra::api::shared_list_test {

using List = SharedList<std::string>;

TEST(SharedList, EqualListsAreOneAndChangesAreNotShared) {
  List a{"x", "y"}, b{"x", "y"}, c{"z"};
  for (List* list : {&a, &b, &c}) list->share(7);
  EXPECT_NE(&a.get(), &c.get()) << "the same hash is no proof";
  EXPECT_EQ(&a.get(), &b.get());
  b[0] = "changed";
  EXPECT_EQ(a, (List{"x", "y"}));
  EXPECT_EQ(b, (List{"changed", "y"}));

  List alone{"only"};
  alone.share(8);
  const auto* const found = &alone.get();
  alone.push_back("more");
  EXPECT_NE(&alone.get(), found) << "another thread may be comparing it";
  List later{"only"};
  later.share(8);
  EXPECT_EQ(later, List{"only"}) << "what is found is what was shared, not what became of it";
  EXPECT_EQ(alone.size(), 2U);
}

TEST(SharedList, NobodyKeepsAListAlive) {
  std::weak_ptr<int> watched;
  {
    SharedList<std::shared_ptr<int>> list{std::make_shared<int>(1)};
    watched = list.get()[0];
    list.share(1);
  }
  EXPECT_TRUE(watched.expired());
}

// Copies that are changed and shared in any order behave as vectors.
TEST(SharedList, BehavesAsAVector) {
  SeededRandom random(5);
  std::vector<List> lists(6);
  std::vector<std::vector<std::string>> twins(6);
  for (int step = 0; step < 20'000; ++step) {
    const size_t at = random.below(lists.size()), other = random.below(lists.size());
    const std::string text(1, static_cast<char>('a' + random.below(3)));
    switch (random.below(6)) {
      case 0:
        lists[at].push_back(text), twins[at].push_back(text);
        break;
      case 1:
        lists[at] = lists[other], twins[at] = twins[other];
        break;
      case 2:
        if (!twins[at].empty()) lists[at].front() = text, twins[at].front() = text;
        break;
      case 3:
        if (!twins[at].empty()) lists[at].erase(lists[at].begin()), twins[at].erase(twins[at].begin());
        break;
      case 4:
        if (twins[at].size() > 4) lists[at].clear(), twins[at].clear();
        break;
      default: {
        ListHash hash;
        for (const std::string& one : lists[at].get()) hash.add(one);
        lists[at].share(hash.value());
      }
    }
    for (size_t i = 0; i < lists.size(); ++i) ASSERT_EQ(lists[i].get(), twins[i]) << "step " << step;
  }
}

TEST(SharedList, PodsOfOneTemplateHaveTheirListsInCommon) {
  const auto pod = [](const std::string& name, const std::string& cpu) {
    Pod made;
    made.metadata.name = name;
    made.metadata.managed_fields = {{"kubelet", "Update", "status"}};
    made.containers.push_back({"main", "image", {{"cpu", cpu}}});
    made.tolerations.push_back({"key", "Exists"});
    made.resource_claims.push_back({"gpu", std::nullopt, "template"});
    share_lists(made);
    return made;
  };
  const Pod a = pod("a", "1"), b = pod("b", "1"), c = pod("c", "2");
  EXPECT_EQ(&a.metadata.managed_fields.get(), &b.metadata.managed_fields.get());
  EXPECT_EQ(&a.containers.get(), &b.containers.get());
  EXPECT_EQ(&a.tolerations.get(), &c.tolerations.get());
  EXPECT_EQ(&a.resource_claims.get(), &b.resource_claims.get());
  EXPECT_NE(&a.containers.get(), &c.containers.get());
}

}  // namespace dra::api::shared_list_test
