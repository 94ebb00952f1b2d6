// ObjectStore: the known objects of one resource, in two layers (docs/design/stores.md).
//
// The stream layer is the server's state at one revision R, as delivered by list and watch. On top of it are the
// answers to our own writes and live GETs that are newer than R. The laws:
//   1. An answer at or below R, or not newer than what is known of the object, changes nothing.
//   2. When the stream reaches an answer's revision, that answer is dropped.
//   3. Stream reads never see an answer.
//   4. A stream event at or below R changes nothing (repeats are harmless).
//   5. An object that a live GET found absent (by uid) is hidden until the stream delivers its deletion.
// Combined reads see both layers. When an object is replaced by another of the same name, handlers see a deletion, then
// an addition.
//
// Not thread-safe: the reactor's thread owns it. Handlers run inside the mutating call, after all layers and indexes
// are up to date; they may read but not change the store (CheckFailed).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/informer/entry.h"
#include "pkg/base/spread_map.h"

namespace dra::client {

// before == nullptr: added; after == nullptr: deleted; both set: changed (same uid, other revision). The pointers are
// valid only during the call.
struct EntryChange {
  const Entry* before = nullptr;
  const Entry* after = nullptr;
};

class ObjectStore {
 public:
  using ChangeHandler = std::function<void(const EntryChange&)>;
  using Objects = std::map<std::string, Entry, std::less<>>;  // by key
  // Returns the values under which an object is indexed.
  using IndexFunction = std::function<std::vector<std::string>(const Entry&)>;

  ObjectStore() = default;
  ObjectStore(const ObjectStore&) = delete;  // by_key_ points into stream_
  ObjectStore& operator=(const ObjectStore&) = delete;

  // --- stream layer
  // The complete state at `revision`, from a list or a WatchList. A revision below the current one means that the
  // server's history was rewound; all answers are then dropped.
  // Returns the entries that it did not need, because the stream layer has the same versions: freeing many takes time.
  Objects replace(Objects state, uint64_t revision);
  // Adds an object of the first list while that list is still being read, so that replace(), which gets the complete
  // list, calls fewer handlers in one task. The store is not synced before replace().
  void fill(Entry entry);
  // ADDED or MODIFIED; returns false if the event is a repeat.
  bool apply(Entry entry);
  // DELETED; the revision of `entry` is that of the deletion.
  bool remove(const Entry& entry);
  void bookmark(uint64_t revision);

  // --- answers
  // The object returned by a write or a live GET.
  void answer(Entry entry);
  // A live GET found nothing, or another uid: this instance no longer exists.
  void answer_absent(std::string_view key, std::string_view uid);
  // Drops all answers (a new term of leadership begins without assumptions).
  void drop_answers();

  // --- reading; pointers are valid until the next change
  const Entry* find(std::string_view key) const;
  const Entry* find_in_stream(std::string_view key) const;
  // In key order.
  void for_each(const std::function<void(const Entry&)>& f) const;
  void for_each_in_stream(const std::function<void(const Entry&)>& f) const;
  // At most `most` entries with keys after `key`, in key order, to walk the combined view in portions.
  std::vector<const Entry*> after(std::string_view key, size_t most) const;
  // At most `most` entries of the stream layer with keys after `key`, in key order, to walk the layer in portions.
  std::vector<const Entry*> stream_after(std::string_view key, size_t most) const;
  // Of the combined view. Costs a look-up for each answer, not for each object.
  size_t size() const;
  size_t answers() const { return answers_.size() + absent_.size(); }
  // R of the stream layer; 0 before the first replace().
  uint64_t stream_revision() const { return revision_; }
  bool synced() const { return synced_; }
  // How often replace() was given a revision below the current one. Objects of equal uid and revision may differ then,
  // and no handler is called for them.
  uint64_t rewinds() const { return rewinds_; }

  // --- indexes, over the combined view
  void add_index(const std::string& name, IndexFunction function);
  // In key order, at most `most`, with keys after `key`.
  std::vector<const Entry*> by_index(std::string_view index, std::string_view value, size_t most = SIZE_MAX,
                                     std::string_view key = {}) const;
  // How many objects by_index() would return, without looking them up.
  size_t index_size(std::string_view index, std::string_view value) const;

  // --- handlers: objects already in the store are reported at once as additions
  // Changes of the combined view: what reconcilers see.
  void on_change(ChangeHandler handler);
  // Changes of the stream layer alone.
  void on_stream_change(ChangeHandler handler);
  // Called after R has grown, after the change handlers.
  void on_progress(std::function<void(uint64_t revision)> handler);
  // Called at the end of each replace().
  void on_replaced(std::function<void()> handler);

 private:
  // In key order, from the first key after `key`, until `visit` returns false.
  template <typename Visit>
  void visit_after(std::string_view key, const Visit& visit) const;
  struct Absence {
    std::string uid;
    uint64_t since = 0;  // the deletion has a revision above this
  };
  struct Index {
    IndexFunction function;
    SpreadMap<std::string, std::set<std::string, std::less<>>> keys;  // by value
  };
  // The state of a key before a change.
  struct Before {
    std::string key;
    std::optional<Entry> streamed;
    std::optional<Entry> combined;
  };

  // Runs `change`, then updates the indexes and notifies the handlers of what changed for `keys`.
  void transact(std::vector<std::string> keys, const std::function<void()>& change);
  // Law 2 when the stream reaches `revision`: finds the affected keys, then applies it.
  void keys_of_dying_answers(uint64_t revision, std::vector<std::string>& keys) const;
  void advance(uint64_t revision);
  void set_in_stream(std::string key, Entry entry);
  void erase_from_stream(std::string_view key);
  void drop_answer(std::string_view key);
  void settle_absence(const std::string& key);
  void reindex(const std::string& key, const Entry* before, const Entry* after);
  void emit(const std::vector<ChangeHandler>& handlers, const std::vector<EntryChange>& changes);

  Objects stream_;
  SpreadMap<std::string_view, const Entry*> by_key_;  // of stream_
  Objects answers_;
  std::set<std::pair<uint64_t, std::string>> answer_order_;  // by revision, for law 2
  std::map<std::string, Absence, std::less<>> absent_;
  uint64_t revision_ = 0;
  bool synced_ = false;
  uint64_t rewinds_ = 0;
  bool emitting_ = false;
  std::map<std::string, Index, std::less<>> indexes_;
  std::vector<ChangeHandler> change_handlers_;
  std::vector<ChangeHandler> stream_handlers_;
  std::vector<std::function<void(uint64_t)>> progress_handlers_;
  std::vector<std::function<void()>> replaced_handlers_;
};

}  // namespace dra::client
