#include "pkg/apiserver/store/store.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/apiserver/model/guard.h"
#include "pkg/apiserver/model/json_text.h"
#include "pkg/base/check.h"

namespace dra::apiserver {

namespace {

// Bytes of the objects that only the log keeps.
size_t bytes_kept_by(const Change& change) {
  return (change.previous ? change.previous->text().size() : 0) +
         (change.type == ChangeType::kDeleted ? change.object->text().size() : 0);
}

}  // namespace

StoredObject::StoredObject(uint64_t revision, Json&& document, RawTexts raw_texts)
    : revision_(revision), text_(document_text(document)), raw_texts_(std::move(raw_texts)) {
  document_ = std::make_shared<const Json>(std::move(document));
}

StoredObject::StoredObject(uint64_t revision, std::string text, RawTexts raw_texts)
    : revision_(revision), text_(std::move(text)), raw_texts_(std::move(raw_texts)) {}

std::shared_ptr<const Json> StoredObject::document() const {
  if (document_) return document_;
  return std::make_shared<const Json>(Json::parse(text_));
}

Store::Store(StoreOptions options)
    : options_(options), revision_(options.first_revision), first_revision_(options.first_revision) {}

Store::Table& Store::table(std::string_view name) {
  auto it = tables_.find(name);
  if (it == tables_.end()) {
    it = tables_.emplace(std::string(name), Table{}).first;
    it->second.name = name;
    it->second.floor = first_revision_;
  }
  return it->second;
}

const Store::Table* Store::find_table(std::string_view name) const {
  auto it = tables_.find(name);
  return it == tables_.end() ? nullptr : &it->second;
}

StoredPtr Store::get(std::string_view name, std::string_view key) const {
  const Table* t = find_table(name);
  if (t == nullptr) return nullptr;
  auto it = t->objects.find(key);
  return it == t->objects.end() ? nullptr : it->second;
}

const Store::Objects& Store::objects(std::string_view name) const {
  static const Objects kNone;
  const Table* t = find_table(name);
  return t == nullptr ? kNone : t->objects;
}

std::optional<Store::Objects> Store::objects_at(std::string_view name, uint64_t revision) const {
  if (revision > revision_ || revision < floor(name)) return std::nullopt;
  Objects out = objects(name);
  const Table* t = find_table(name);
  if (t == nullptr) return out;
  for (auto it = t->log.rbegin(); it != t->log.rend() && (*it)->revision > revision; ++it) {
    const Change& c = **it;
    if (c.previous) {
      out[c.key] = c.previous;
    } else {
      out.erase(c.key);
    }
  }
  return out;
}

StoredPtr Store::put(std::string_view name, const std::string& key, Json document) {
  const StoredPtr stored = get(name, key);
  return put(name, key, std::move(document), stored ? stored->raw_texts() : RawTexts());
}

StoredPtr Store::put(std::string_view name, const std::string& key, Json document, RawTexts raw_texts) {
  Table& t = table(name);
  document["metadata"]["resourceVersion"] = std::to_string(++revision_);
  auto object = std::make_shared<const StoredObject>(revision_, std::move(document), std::move(raw_texts));
  if (persistence_ != nullptr) persistence_->save(t.name, key, *object);
  StoredPtr previous = std::exchange(t.objects[key], object);
  t.object_bytes += object->text().size() - (previous ? previous->text().size() : 0);
  record(t, previous ? ChangeType::kModified : ChangeType::kAdded, key, object, std::move(previous));
  return object;
}

StoredPtr Store::remove(std::string_view name, const std::string& key) {
  const StoredPtr stored = get(name, key);
  DRA_CHECK(stored != nullptr);
  return remove(name, key, *stored->document());
}

StoredPtr Store::remove(std::string_view name, const std::string& key, Json document) {
  Table& t = table(name);
  auto it = t.objects.find(key);
  DRA_CHECK(it != t.objects.end());
  StoredPtr previous = it->second;
  document["metadata"]["resourceVersion"] = std::to_string(++revision_);
  auto object = std::make_shared<const StoredObject>(revision_, std::move(document));
  if (persistence_ != nullptr) persistence_->erase(t.name, key, revision_);
  t.objects.erase(it);
  t.object_bytes -= previous->text().size();
  record(t, ChangeType::kDeleted, key, object, std::move(previous));
  return object;
}

void Store::record(Table& t, ChangeType type, const std::string& key, StoredPtr object, StoredPtr previous) {
  auto change = std::make_shared<const Change>(Change{type, revision_, key, std::move(object), std::move(previous)});
  append(t, change);
  // A listener may remove itself or others while it runs.
  std::vector<uint64_t> ids;
  ids.reserve(t.listeners.size());
  for (const auto& [id, listener] : t.listeners) ids.push_back(id);
  for (uint64_t id : ids) {
    auto it = t.listeners.find(id);
    if (it == t.listeners.end()) continue;
    Listener listener = it->second;
    run_guarded("a listener to changes of " + t.name, [&] { listener(change); });
  }
}

void Store::append(Table& t, const ChangePtr& change) {
  const size_t bytes = bytes_kept_by(*change);
  t.log.push_back(change);
  t.log_bytes += bytes;
  ++t.parsed;
  t.parsed_bytes += bytes;
  while (t.parsed > options_.parsed_changes || t.parsed_bytes > options_.max_change_bytes) {
    const Change& old = *t.log[t.log.size() - t.parsed];
    if (old.previous) old.previous->release_document();
    if (old.type == ChangeType::kDeleted) old.object->release_document();
    t.parsed_bytes -= bytes_kept_by(old);
    --t.parsed;
  }
  const size_t most =
      std::max(options_.max_change_bytes, std::min(t.object_bytes, options_.max_change_bytes_of_large_state));
  while (t.log.size() > options_.max_changes || t.log_bytes > most) forget_oldest(t);
}

void Store::forget_oldest(Table& t) {
  const size_t bytes = bytes_kept_by(*t.log.front());
  if (t.parsed == t.log.size()) {
    --t.parsed;
    t.parsed_bytes -= bytes;
  }
  t.floor = t.log.front()->revision;
  t.log_bytes -= bytes;
  t.log.pop_front();
}

uint64_t Store::floor(std::string_view name) const {
  const Table* t = find_table(name);
  return t == nullptr ? first_revision_ : t->floor;
}

std::vector<ChangePtr> Store::changes_since(std::string_view name, uint64_t revision, size_t most) const {
  const Table* t = find_table(name);
  if (t == nullptr) return {};
  const auto first = std::upper_bound(t->log.begin(), t->log.end(), revision,
                                      [](uint64_t r, const ChangePtr& change) { return r < change->revision; });
  const auto count = std::min<size_t>(most, static_cast<size_t>(t->log.end() - first));
  return {first, first + static_cast<std::ptrdiff_t>(count)};
}

uint64_t Store::listen(std::string_view name, Listener listener) {
  const uint64_t id = next_listener_++;
  table(name).listeners.emplace(id, std::move(listener));
  return id;
}

void Store::unlisten(std::string_view name, uint64_t id) {
  table(name).listeners.erase(id);
}

void Store::restore(std::string_view name, const std::string& key, StoredPtr object) {
  Table& t = table(name);
  t.object_bytes += object->text().size();
  const StoredPtr replaced = std::exchange(t.objects[key], std::move(object));
  if (replaced) t.object_bytes -= replaced->text().size();
}

void Store::restore_revision(uint64_t revision) {
  if (revision <= revision_) return;
  revision_ = revision;
  first_revision_ = revision;
  for (auto& [name, t] : tables_) t.floor = revision;
}

}  // namespace dra::apiserver
