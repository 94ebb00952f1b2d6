// Store: all objects of all kinds under one global revision, with a bounded log of changes for each kind.
//
// The equivalent of etcd and the watch cache of a real API server. A document is stored parsed and as JSON text, both
// immutable and shared by readers, the log and watchers; old log entries drop the parsed form and parse it again when
// needed. Documents have no apiVersion and kind (those depend on the request), but they have their resourceVersion.
//
// Single-threaded. Listeners run inside put() and remove(), after the change is visible, and must not write.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pkg/apiserver/model/json.h"
#include "pkg/apiserver/model/raw_text.h"

namespace dra::apiserver {

class StoredObject {
 public:
  // The document must carry metadata.resourceVersion already.
  StoredObject(uint64_t revision, Json&& document, RawTexts raw_texts = {});
  // From text alone (persistence).
  StoredObject(uint64_t revision, std::string text, RawTexts raw_texts = {});

  uint64_t revision() const { return revision_; }
  std::shared_ptr<const Json> document() const;
  // Compact JSON of the document: an object with at least "metadata".
  const std::string& text() const { return text_; }
  // The original texts of its RawExtension fields.
  const RawTexts& raw_texts() const { return raw_texts_; }
  // Drops the parsed form; document() parses again from then on.
  void release_document() const { document_.reset(); }

 private:
  uint64_t revision_;
  std::string text_;
  RawTexts raw_texts_;
  mutable std::shared_ptr<const Json> document_;
};
using StoredPtr = std::shared_ptr<const StoredObject>;

enum class ChangeType { kAdded, kModified, kDeleted };

struct Change {
  ChangeType type;
  uint64_t revision;
  std::string key;
  StoredPtr object;    // after the change; for kDeleted the last state with the deletion's resourceVersion
  StoredPtr previous;  // before the change; null for kAdded
};
using ChangePtr = std::shared_ptr<const Change>;

struct StoreOptions {
  // Changes kept per kind, for watches, exact lists and continue tokens; older ones are answered with 410.
  size_t max_changes = 10'000;
  // The limit in bytes for objects that the changes replaced or removed and that nothing else keeps. It rises to the
  // bytes of the kind's objects, up to max_change_bytes_of_large_state: a watch that falls behind would have to read
  // these instead, and fall behind again.
  size_t max_change_bytes = 64 << 20;
  size_t max_change_bytes_of_large_state = 256 << 20;
  // How many of those changes, and up to max_change_bytes of them, keep their parsed documents.
  size_t parsed_changes = 512;
  // The revision before the first write. Above 1, so that clients can distinguish "any" and "very old" from it.
  uint64_t first_revision = 100;
};

// Receives writes in order, before the store changes; an exception that it throws fails the write.
class StorePersistence {
 public:
  virtual ~StorePersistence() = default;
  virtual void save(const std::string& table, const std::string& key, const StoredObject& object) = 0;
  virtual void erase(const std::string& table, const std::string& key, uint64_t revision) = 0;
};

class Store {
 public:
  explicit Store(StoreOptions options = {});

  using Objects = std::map<std::string, StoredPtr, std::less<>>;
  using Listener = std::function<void(const ChangePtr&)>;

  uint64_t revision() const { return revision_; }
  // A table is a kind: "resource.k8s.io/resourceclaims". Keys are "namespace/name" or "name".
  StoredPtr get(std::string_view table, std::string_view key) const;
  const Objects& objects(std::string_view table) const;
  // The objects as they were right after `revision`; nullopt if it is older than the log or not yet reached.
  std::optional<Objects> objects_at(std::string_view table, uint64_t revision) const;

  // Creates or replaces; sets metadata.resourceVersion to the new revision. Without raw texts: those of the replaced
  // object.
  StoredPtr put(std::string_view table, const std::string& key, Json document);
  StoredPtr put(std::string_view table, const std::string& key, Json document, RawTexts raw_texts);
  // Removes; the change carries `last` (without: the stored object) with the new revision. The object must exist.
  StoredPtr remove(std::string_view table, const std::string& key);
  StoredPtr remove(std::string_view table, const std::string& key, Json last);

  // The oldest revision since which all changes are known.
  uint64_t floor(std::string_view table) const;
  // The first `most` changes after `revision`, oldest first. `revision` must not be below floor().
  std::vector<ChangePtr> changes_since(std::string_view table, uint64_t revision, size_t most = SIZE_MAX) const;

  // Calls back for every later change of the table until the id is passed to unlisten(). Exceptions of a listener are
  // logged; the others still get the change.
  uint64_t listen(std::string_view table, Listener listener);
  void unlisten(std::string_view table, uint64_t id);

  // Restores an object without an event, before the first request.
  void restore(std::string_view table, const std::string& key, StoredPtr object);
  void restore_revision(uint64_t revision);
  void set_persistence(StorePersistence* persistence) { persistence_ = persistence; }

 private:
  struct Table {
    std::string name;
    Objects objects;
    size_t object_bytes = 0;
    std::deque<ChangePtr> log;
    size_t log_bytes = 0;
    size_t parsed = 0;  // the newest changes, whose documents are kept
    size_t parsed_bytes = 0;
    uint64_t floor = 0;
    std::map<uint64_t, Listener> listeners;
  };
  Table& table(std::string_view name);
  const Table* find_table(std::string_view name) const;
  void record(Table& t, ChangeType type, const std::string& key, StoredPtr object, StoredPtr previous);
  void append(Table& t, const ChangePtr& change);
  void forget_oldest(Table& t);

  StoreOptions options_;
  uint64_t revision_;
  uint64_t first_revision_;
  uint64_t next_listener_ = 1;
  std::map<std::string, Table, std::less<>> tables_;
  StorePersistence* persistence_ = nullptr;
};

}  // namespace dra::apiserver
