// ObjectStore: what is known of the objects of one resource, in two layers (docs/design/stores.md).
//
// The stream layer is the server's state at one revision R, as list and watch delivered it. Over it lie the answers to
// our own writes and live GETs that are newer than R. The laws:
//   1. An answer at or below R, or not newer than what is known of the object, changes nothing.
//   2. When the stream reaches an answer's revision, the answer's layer dies.
//   3. Stream reads never see an answer.
//   4. A stream event at or below R changes nothing (repeats are harmless).
//   5. An object confirmed absent (by uid) is hidden until the stream delivered its deletion.
// Combined reads see both layers. An object replaced by another of the same name is reported as a deletion, then an
// addition.
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

namespace dra::client {

// before == nullptr: added; after == nullptr: deleted; both: changed (same uid, other revision). Valid in the call
// only.
struct EntryChange {
  const Entry* before = nullptr;
  const Entry* after = nullptr;
};

class ObjectStore {
 public:
  using ChangeHandler = std::function<void(const EntryChange&)>;
  // Zero or more values an object is found by.
  using IndexFunction = std::function<std::vector<std::string>(const Entry&)>;

  // --- the stream's side
  // The whole state at `revision`, from a list or a WatchList. A revision below the present one means that the server's
  // history was rewound; all answers are forgotten then.
  void replace(std::vector<Entry> entries, uint64_t revision);
  // ADDED or MODIFIED; returns false when the event was a repeat.
  bool apply(Entry entry);
  // DELETED; `entry` carries the revision of the deletion.
  bool remove(const Entry& entry);
  void bookmark(uint64_t revision);

  // --- the answers' side
  // The object a write or a live GET returned.
  void answer(Entry entry);
  // A live GET found nothing, or another uid: this instance is gone.
  void answer_absent(std::string_view key, std::string_view uid);
  // Forgets all answers (a new term of leadership begins without assumptions).
  void drop_answers();

  // --- reading; pointers are valid until the next change
  const Entry* find(std::string_view key) const;
  const Entry* find_in_stream(std::string_view key) const;
  // In key order.
  void for_each(const std::function<void(const Entry&)>& f) const;
  void for_each_in_stream(const std::function<void(const Entry&)>& f) const;
  // At most `most` entries of the stream layer with keys after `key`, in key order: a walk that stops and goes on.
  std::vector<const Entry*> stream_after(std::string_view key, size_t most) const;
  size_t size() const;
  size_t answers() const { return answers_.size() + absent_.size(); }
  // R of the stream layer; 0 before the first replace().
  uint64_t stream_revision() const { return revision_; }
  bool synced() const { return synced_; }

  // --- indexes, over the combined view
  void add_index(const std::string& name, IndexFunction function);
  // In key order.
  std::vector<const Entry*> by_index(std::string_view index, std::string_view value) const;

  // --- handlers: those already in the store come at once as additions
  // Changes of the combined view: what reconcilers see.
  void on_change(ChangeHandler handler);
  // Changes of the stream layer alone.
  void on_stream_change(ChangeHandler handler);
  // Called when R has grown, after the changes.
  void on_progress(std::function<void(uint64_t revision)> handler);
  // Called at the end of each replace().
  void on_replaced(std::function<void()> handler);

  // Events of the stream that were repeats.
  uint64_t repeats() const { return repeats_; }

 private:
  using Map = std::map<std::string, Entry, std::less<>>;
  struct Absence {
    std::string uid;
    uint64_t since = 0;  // no deletion can be at or below this revision
  };
  struct Index {
    IndexFunction function;
    std::map<std::string, std::set<std::string, std::less<>>, std::less<>> keys;
  };
  // What a key looked like before a change.
  struct Before {
    std::string key;
    std::optional<Entry> streamed;
    std::optional<Entry> combined;
  };

  // Runs `change`, then brings indexes up to date and tells the handlers what became of `keys`.
  void transact(std::vector<std::string> keys, const std::function<void()>& change);
  // Law 2 for a stream that reaches `revision`: the keys it touches, and the doing of it.
  void keys_of_dying_answers(uint64_t revision, std::vector<std::string>& keys) const;
  void advance(uint64_t revision);
  void drop_answer(std::string_view key);
  void settle_absence(const std::string& key);
  void reindex(const std::string& key, const Entry* before, const Entry* after);
  void emit(const std::vector<ChangeHandler>& handlers, const std::vector<EntryChange>& changes);

  Map stream_;
  Map answers_;
  std::set<std::pair<uint64_t, std::string>> answer_order_;  // by revision, for law 2
  std::map<std::string, Absence, std::less<>> absent_;
  uint64_t revision_ = 0;
  bool synced_ = false;
  bool emitting_ = false;
  uint64_t repeats_ = 0;
  std::map<std::string, Index, std::less<>> indexes_;
  std::vector<ChangeHandler> change_handlers_;
  std::vector<ChangeHandler> stream_handlers_;
  std::vector<std::function<void(uint64_t)>> progress_handlers_;
  std::vector<std::function<void()>> replaced_handlers_;
};

}  // namespace dra::client
