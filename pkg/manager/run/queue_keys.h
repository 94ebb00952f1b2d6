// How the work queues hold reconcile::Key: by value, hashed as reconcile::KeyHash does; delayed keys in a pool.
#pragma once

#include <memory_resource>
#include <string>
#include <string_view>
#include <utility>

#include "pkg/queue/item.h"
#include "pkg/reconcile/key.h"

namespace dra::manager {

struct PooledKey {
  using allocator_type = std::pmr::polymorphic_allocator<>;
  PooledKey(const reconcile::Key& key, const allocator_type& pool) : kind(key.kind), object(key.object, pool) {}
  PooledKey(const PooledKey& other, const allocator_type& pool) : kind(other.kind), object(other.object, pool) {}
  PooledKey(PooledKey&& other, const allocator_type& pool) : kind(other.kind), object(std::move(other.object), pool) {}

  reconcile::Kind kind;
  std::pmr::string object;
};

}  // namespace dra::manager

template <>
struct dra::queue::ItemTraits<dra::reconcile::Key> {
  using Key = dra::reconcile::Key;
  using Pooled = dra::manager::PooledKey;
  struct Hash {
    using is_transparent = void;
    size_t operator()(const Key& key) const { return dra::reconcile::KeyHash{}(key); }
    size_t operator()(const Pooled& key) const { return dra::reconcile::KeyHash::of(key.kind, key.object); }
  };
  struct Equal {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return a.kind == b.kind && std::string_view(a.object) == std::string_view(b.object);
    }
  };
  static Key item(const Pooled& pooled) { return {pooled.kind, std::string(pooled.object)}; }
};
