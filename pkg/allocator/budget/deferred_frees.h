// DeferredFrees: frees what caches have dropped, in portions. Freeing 100,000 small nodes at once takes 20 ms and more,
// longer than any task may run on the reactor.
//
//   frees.add(outcomes, 1);       // `outcomes` is empty now
//   frees.free_some();            // once per decision
//
// A decision frees about as much as one slice can allocate, so what is left to free never exceeds what the caches
// contained. One thread.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <utility>

namespace dra::allocator {

class DeferredFrees {
 public:
  // Not `in_pieces`: frees at once. For owners that decide without slices.
  explicit DeferredFrees(bool in_pieces) : in_pieces_(in_pieces) {}

  // The frees in one call of free_some(): 1 to 2 ms.
  static constexpr size_t kFreesACall = 16'384;

  // Takes over all elements of a vector, set or map. `frees_each`: about how many free() calls each element needs.
  template <class Container>
  void add(Container& dropped, size_t frees_each) {
    if (dropped.empty()) return;
    Container taken = std::exchange(dropped, {});
    if (in_pieces_) heaps_.push_back(std::make_unique<HeapOf<Container>>(std::move(taken), frees_each));
  }

  void free_some() {
    if (heaps_.empty()) return;
    size_t left = kFreesACall;
    while (left > 0 && !heaps_.empty()) {
      left -= heaps_.front()->free(left);
      if (heaps_.front()->empty()) heaps_.pop_front();
    }
  }
  bool empty() const { return heaps_.empty(); }

 private:
  class Heap {
   public:
    virtual ~Heap() = default;
    // Destroys elements with about `frees` frees in total, at least one; returns the number of frees, at most `frees`.
    virtual size_t free(size_t frees) = 0;
    virtual bool empty() const = 0;
  };

  template <class Container>
  class HeapOf : public Heap {
   public:
    HeapOf(Container dropped, size_t frees_each) : dropped_(std::move(dropped)), frees_each_(frees_each) {}
    size_t free(size_t frees) override {
      size_t done = 0;
      while (done < frees && !dropped_.empty()) {
        if constexpr (requires { dropped_.pop_back(); }) {
          dropped_.pop_back();
        } else {
          dropped_.erase(dropped_.begin());
        }
        done += frees_each_;
      }
      return done < frees ? done : frees;
    }
    bool empty() const override { return dropped_.empty(); }

   private:
    Container dropped_;
    size_t frees_each_;
  };

  bool in_pieces_;
  std::deque<std::unique_ptr<Heap>> heaps_;
};

}  // namespace dra::allocator
