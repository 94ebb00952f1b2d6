// Store<T>: a typed view of an ObjectStore. Reads return shared pointers to const objects, which may be kept.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/informer/object_store.h"

namespace dra::client {

template <class T>
using ObjectPtr = std::shared_ptr<const T>;

// before == nullptr: added; after == nullptr: deleted; both set: the same uid at another revision.
template <class T>
struct Change {
  ObjectPtr<T> before;
  ObjectPtr<T> after;
};

template <class T>
class Store {
 public:
  explicit Store(ObjectStore& objects) : objects_(objects) {}

  // By "namespace/name" or "name"; nullptr if unknown. Combined view, then the stream layer alone.
  ObjectPtr<T> get(std::string_view key) const { return cast(objects_.find(key)); }
  ObjectPtr<T> get_from_stream(std::string_view key) const { return cast(objects_.find_in_stream(key)); }

  // In key order.
  std::vector<ObjectPtr<T>> list() const {
    std::vector<ObjectPtr<T>> all;
    objects_.for_each([&](const Entry& entry) { all.push_back(cast(&entry)); });
    return all;
  }
  std::vector<ObjectPtr<T>> list_stream_after(std::string_view key, size_t most) const {
    std::vector<ObjectPtr<T>> part;
    for (const Entry* entry : objects_.stream_after(key, most)) part.push_back(cast(entry));
    return part;
  }
  std::vector<ObjectPtr<T>> list_after(std::string_view key, size_t most) const {
    std::vector<ObjectPtr<T>> part;
    for (const Entry* entry : objects_.after(key, most)) part.push_back(cast(entry));
    return part;
  }
  std::vector<ObjectPtr<T>> by_index(std::string_view index, std::string_view value, size_t most = SIZE_MAX,
                                     std::string_view after = {}) const {
    std::vector<ObjectPtr<T>> found;
    for (const Entry* entry : objects_.by_index(index, value, most, after)) found.push_back(cast(entry));
    return found;
  }
  size_t index_size(std::string_view index, std::string_view value) const { return objects_.index_size(index, value); }

  void add_index(const std::string& name, std::function<std::vector<std::string>(const T&)> function) {
    objects_.add_index(name, [function = std::move(function)](const Entry& entry) { return function(of(entry)); });
  }
  void on_change(std::function<void(const Change<T>&)> handler) {
    objects_.on_change([handler = std::move(handler)](const EntryChange& c) {
      handler({cast(c.before), cast(c.after)});
    });
  }
  void on_stream_change(std::function<void(const Change<T>&)> handler) {
    objects_.on_stream_change([handler = std::move(handler)](const EntryChange& c) {
      handler({cast(c.before), cast(c.after)});
    });
  }

  ObjectStore& objects() { return objects_; }
  const ObjectStore& objects() const { return objects_; }

 private:
  static const T& of(const Entry& entry) { return entry.ref<T>(); }
  static ObjectPtr<T> cast(const Entry* entry) { return entry == nullptr ? nullptr : entry->object<T>(); }

  ObjectStore& objects_;
};

}  // namespace dra::client
