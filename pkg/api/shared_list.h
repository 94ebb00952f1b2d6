// SharedList<T>: a list that equal objects have in common. Pods of one template have the same containers, tolerations
// and claim entries, and claims of one template the same requests: a store of 50,000 pods keeps them once.
//
// To a reader it is a const std::vector<T>. Whoever changes it gets a copy of its own first, so a copy of an object can
// be changed as if it were deep. Safe as a vector is: lists are shared between threads only while nobody changes them.
#pragma once

#include <array>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace dra::api {

template <typename T>
class SharedList {
 public:
  using List = std::vector<T>;
  using value_type = T;
  using const_iterator = typename List::const_iterator;
  using iterator = typename List::iterator;

  SharedList() = default;
  SharedList(List list) : list_(std::make_shared<Held>(std::move(list))) {}  // NOLINT: reads as a vector
  SharedList(std::initializer_list<T> items) : list_(std::make_shared<Held>(List(items))) {}  // NOLINT: likewise

  const List& get() const {
    static const List none;
    return list_ ? list_->items : none;
  }
  operator const List&() const { return get(); }  // NOLINT: reads as a vector

  bool empty() const { return get().empty(); }
  size_t size() const { return get().size(); }
  const_iterator begin() const { return get().begin(); }
  const_iterator end() const { return get().end(); }
  const T& operator[](size_t i) const { return get()[i]; }
  const T& front() const { return get().front(); }
  const T& back() const { return get().back(); }

  // The list to change, which nobody else has.
  List& edit() {
    if (!list_ || list_->common || list_.use_count() > 1) list_ = std::make_shared<Held>(get());
    return list_->items;
  }
  iterator begin() { return edit().begin(); }
  iterator end() { return edit().end(); }
  T& operator[](size_t i) { return edit()[i]; }
  T& front() { return edit().front(); }
  T& back() { return edit().back(); }
  void push_back(T item) { edit().push_back(std::move(item)); }
  template <typename... Args>
  T& emplace_back(Args&&... args) {
    return edit().emplace_back(std::forward<Args>(args)...);
  }
  void resize(size_t size) { edit().resize(size); }
  iterator erase(iterator item) { return edit().erase(item); }
  void clear() { list_.reset(); }

  // Has the list in common with the last equal one that this thread passed here; `hash` is the same for equal lists. A
  // thread knows kKnown lists, and keeps none of them alive.
  void share(size_t hash) {
    if (empty()) return clear();
    if (list_->common) return;
    thread_local std::array<std::weak_ptr<Held>, kKnown> known;
    std::weak_ptr<Held>& slot = known[hash % kKnown];
    if (std::shared_ptr<Held> same = slot.lock(); same && same->items == list_->items) {
      list_ = std::move(same);
      return;
    }
    list_ = std::make_shared<Held>(std::move(edit()));
    list_->items.shrink_to_fit();
    list_->common = true;
    slot = list_;
  }

  friend bool operator==(const SharedList& a, const SharedList& b) { return a.list_ == b.list_ || a.get() == b.get(); }

 private:
  struct Held {
    explicit Held(List list) : items(std::move(list)) {}
    List items;
    bool common = false;  // others may find it, so it never changes; set before they can
  };
  static constexpr size_t kKnown = 512;

  std::shared_ptr<Held> list_;  // null: empty
};

// A hash of texts, one after the other.
class ListHash {
 public:
  ListHash& add(std::string_view text) {
    hash_ = hash_ * 0x9E3779B97F4A7C15 + std::hash<std::string_view>()(text);
    return *this;
  }
  size_t value() const { return hash_ ^ hash_ >> 32; }

 private:
  size_t hash_ = 0;
};

}  // namespace dra::api
