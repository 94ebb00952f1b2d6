// Arena: memory that lives until its owner dies. Blocks are taken from an inline buffer first, so that evaluations with
// few temporaries allocate nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

namespace dra::cel {

// Not thread-safe: one thread owns an arena while it grows. Memory handed out never moves.
class Arena {
 public:
  // `inline_buffer` (may be null) is used before the heap and must outlive the arena.
  explicit Arena(void* inline_buffer = nullptr, size_t inline_size = 0)
      : next_(static_cast<char*>(inline_buffer)), end_(next_ + inline_size) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  void* allocate(size_t bytes, size_t align = alignof(std::max_align_t)) {
    auto at = reinterpret_cast<uintptr_t>(next_);
    auto aligned = (at + align - 1) & ~(static_cast<uintptr_t>(align) - 1);
    if (next_ == nullptr || bytes > reinterpret_cast<uintptr_t>(end_) - at ||
        aligned - at > reinterpret_cast<uintptr_t>(end_) - at - bytes) {
      return allocate_slow(bytes, align);
    }
    next_ = reinterpret_cast<char*>(aligned + bytes);
    used_ += bytes;
    return reinterpret_cast<void*>(aligned);
  }

  // Objects with destructors are destroyed with the arena, in reverse order.
  template <typename T, typename... Args>
  T* make(Args&&... args) {
    T* object = new (allocate(sizeof(T), alignof(T))) T(std::forward<Args>(args)...);
    if constexpr (!std::is_trivially_destructible_v<T>) {
      add_cleanup(object, [](void* p) { static_cast<T*>(p)->~T(); });
    }
    return object;
  }

  template <typename T>
  T* array(size_t count) {
    static_assert(std::is_trivially_destructible_v<T>);
    T* items = static_cast<T*>(allocate(sizeof(T) * (count == 0 ? 1 : count), alignof(T)));
    for (size_t i = 0; i < count; ++i) new (items + i) T();
    return items;
  }

  std::string_view copy(std::string_view text) {
    if (text.empty()) return "";  // not null: library functions want a pointer
    char* p = static_cast<char*>(allocate(text.size(), 1));
    std::memcpy(p, text.data(), text.size());
    return {p, text.size()};
  }

  // Bytes handed out so far.
  size_t used() const { return used_; }

 private:
  struct Block {
    Block* previous;
  };
  struct Cleanup {
    void (*destroy)(void*);
    void* object;
    Cleanup* previous;
  };

  void* allocate_slow(size_t bytes, size_t align);
  void add_cleanup(void* object, void (*destroy)(void*));

  char* next_;
  char* end_;
  size_t used_ = 0;
  size_t next_block_ = 512;  // most programs are small, and many are kept
  Block* blocks_ = nullptr;
  Cleanup* cleanups_ = nullptr;
};

}  // namespace dra::cel
