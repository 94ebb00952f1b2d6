#include "pkg/manager/run/queue_keys.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory_resource>

#include "pkg/queue/work_queue.h"

namespace dra::manager::queue_keys_test {

using reconcile::Key;
using reconcile::Kind;
using Traits = queue::ItemTraits<Key>;

TEST(QueueKeys, AStoredKeyEqualsItsKeyAndHasItsHash) {
  std::pmr::unsynchronized_pool_resource pool;
  for (const Key& key : {Key{Kind::kPod, "default/a-name-longer-than-a-short-string"}, Key{Kind::kClaim, "default/a"},
                         Key{Kind::kTaintRule, "r"}}) {
    const PooledKey pooled(key, &pool);
    EXPECT_EQ(Traits::item(pooled), key);
    EXPECT_EQ(Traits::Hash{}(pooled), Traits::Hash{}(key));
    EXPECT_TRUE(Traits::Equal{}(pooled, key));
    EXPECT_FALSE(Traits::Equal{}(pooled, (Key{Kind::kNode, key.object}))) << "another kind of the same name";
    EXPECT_EQ(pooled.object.get_allocator().resource(), &pool);
  }
}

TEST(QueueKeys, TheEarlierOfTwoDelaysOfAKeyCounts) {
  ManualClock clock;
  queue::WorkQueue<Key> queue(clock);
  const Key pod = reconcile::pod_key("default/a-name-longer-than-a-short-string");
  const Key claim = reconcile::claim_key(pod.object);
  queue.add_after(pod, std::chrono::seconds(3));
  queue.add_after(claim, std::chrono::seconds(2));
  queue.add_after(pod, std::chrono::seconds(1));
  EXPECT_EQ(queue.delayed(), 2u);
  clock.advance(std::chrono::seconds(1));
  EXPECT_EQ(queue.get(), pod);
  EXPECT_EQ(queue.get(), std::nullopt);
  clock.advance(std::chrono::seconds(1));
  EXPECT_EQ(queue.get(), claim);
}

}  // namespace dra::manager::queue_keys_test
