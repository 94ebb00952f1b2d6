#include "client/informer/object_store.h"

#include <algorithm>

#include "pkg/base/check.h"

namespace dra::client {
namespace {

bool same_version(const Entry* a, const Entry* b) {
  return a != nullptr && b != nullptr && a->uid() == b->uid() && a->revision == b->revision;
}

// The changes of one object; a new uid under an old name is a deletion and an addition.
void append_changes(const Entry* before, const Entry* after, std::vector<EntryChange>& out) {
  if (before == nullptr && after == nullptr) return;
  if (same_version(before, after)) return;
  if (before != nullptr && after != nullptr && before->uid() != after->uid()) {
    out.push_back({before, nullptr});
    out.push_back({nullptr, after});
    return;
  }
  out.push_back({before, after});
}

const Entry* pointer(const std::optional<Entry>& entry) {
  return entry ? &*entry : nullptr;
}

std::optional<Entry> copy_of(const Entry* entry) {
  return entry ? std::optional<Entry>(*entry) : std::nullopt;
}

}  // namespace

const Entry* ObjectStore::find_in_stream(std::string_view key) const {
  const Entry* const* found = by_key_.find(key);
  return found ? *found : nullptr;
}

void ObjectStore::set_in_stream(std::string key, Entry entry) {
  const auto [it, added] = stream_.insert_or_assign(std::move(key), std::move(entry));
  if (added) by_key_.try_emplace(it->first, &it->second);
}

void ObjectStore::erase_from_stream(std::string_view key) {
  const auto it = stream_.find(key);
  if (it == stream_.end()) return;
  by_key_.erase(it->first);
  stream_.erase(it);
}

const Entry* ObjectStore::find(std::string_view key) const {
  const Entry* entry = nullptr;
  if (auto it = answers_.find(key); it != answers_.end()) {
    entry = &it->second;
  } else {
    entry = find_in_stream(key);
  }
  if (entry == nullptr || absent_.empty()) return entry;
  auto absence = absent_.find(key);
  return absence != absent_.end() && absence->second.uid == entry->uid() ? nullptr : entry;
}

void ObjectStore::for_each_in_stream(const std::function<void(const Entry&)>& f) const {
  for (const auto& [key, entry] : stream_) f(entry);
}

std::vector<const Entry*> ObjectStore::stream_after(std::string_view key, size_t most) const {
  std::vector<const Entry*> found;
  for (auto it = stream_.upper_bound(key); it != stream_.end() && found.size() < most; ++it)
    found.push_back(&it->second);
  return found;
}

template <typename Visit>
void ObjectStore::visit_after(std::string_view key, const Visit& visit) const {
  // Walks both layers together in key order; visits a key in both layers once. A key is never empty.
  auto s = stream_.upper_bound(key);
  auto a = answers_.upper_bound(key);
  while (s != stream_.end() || a != answers_.end()) {
    const bool from_answers = s == stream_.end() || (a != answers_.end() && a->first <= s->first);
    const bool both = from_answers && s != stream_.end() && a->first == s->first;
    const Entry* entry = find(from_answers ? a->first : s->first);
    if (entry != nullptr && !visit(*entry)) return;
    if (from_answers) ++a;
    if (!from_answers || both) ++s;
  }
}

void ObjectStore::for_each(const std::function<void(const Entry&)>& f) const {
  if (answers_.empty() && absent_.empty()) return for_each_in_stream(f);
  visit_after({}, [&](const Entry& entry) {
    f(entry);
    return true;
  });
}

std::vector<const Entry*> ObjectStore::after(std::string_view key, size_t most) const {
  std::vector<const Entry*> found;
  visit_after(key, [&](const Entry& entry) {
    if (found.size() == most) return false;
    found.push_back(&entry);
    return true;
  });
  return found;
}

size_t ObjectStore::size() const {
  size_t count = stream_.size();
  for (const auto& [key, entry] : answers_) count += find_in_stream(key) ? 0 : 1;
  for (const auto& [key, absence] : absent_)
    if (find(key) == nullptr && (find_in_stream(key) || answers_.contains(key))) --count;
  return count;
}

// A new list of many objects mostly has the versions that are known: those cost a comparison each, and no allocation.
ObjectStore::Objects ObjectStore::replace(Objects state, uint64_t revision) {
  const bool rewound = synced_ && revision < revision_;
  if (rewound) ++rewinds_;
  std::vector<std::string> keys, gone;
  Objects changed;
  auto known = stream_.begin();
  for (auto next = state.begin(); next != state.end() || known != stream_.end();) {
    const int order = known == stream_.end() ? -1 : next == state.end() ? 1 : next->first.compare(known->first);
    if (order > 0) {
      keys.push_back(known->first);
      gone.push_back((known++)->first);
    } else if (order == 0 && same_version(&known->second, &next->second)) {
      // After a rewound history the same revisions may come again: the new list already has their changes.
      if (rewound) std::swap(known->second, next->second);
      ++next;
      ++known;
    } else {
      keys.push_back(next->first);
      changed.insert(changed.end(), state.extract(next++));
      if (order == 0) ++known;
    }
  }
  for (const auto& [key, entry] : answers_) keys.push_back(key);
  for (const auto& [key, entry] : absent_) keys.push_back(key);
  transact(std::move(keys), [&] {
    for (const std::string& key : gone) erase_from_stream(key);
    while (!changed.empty()) {
      auto inserted = stream_.insert(changed.extract(changed.begin()));
      if (inserted.inserted)
        by_key_.try_emplace(inserted.position->first, &inserted.position->second);
      else
        inserted.position->second = std::move(inserted.node.mapped());
    }
    if (rewound) {
      answers_.clear();
      answer_order_.clear();
      absent_.clear();
      revision_ = revision;
    }
    synced_ = true;
    advance(revision);
  });
  for (auto& handler : replaced_handlers_) handler();
  return state;
}

void ObjectStore::fill(Entry entry) {
  DRA_CHECK(!synced_);
  std::string key = entry.key();
  transact({key}, [&] { set_in_stream(std::move(key), std::move(entry)); });
}

bool ObjectStore::apply(Entry entry) {
  DRA_CHECK(synced_);
  if (entry.revision <= revision_) return false;
  uint64_t revision = entry.revision;
  std::string key = entry.key();
  std::vector<std::string> keys{key};
  keys_of_dying_answers(revision, keys);
  transact(std::move(keys), [&] {
    set_in_stream(key, std::move(entry));
    advance(revision);
    settle_absence(key);
  });
  return true;
}

bool ObjectStore::remove(const Entry& entry) {
  DRA_CHECK(synced_);
  if (entry.revision <= revision_) return false;
  std::string key = entry.key();
  std::vector<std::string> keys{key};
  keys_of_dying_answers(entry.revision, keys);
  transact(std::move(keys), [&] {
    erase_from_stream(key);
    advance(entry.revision);
    settle_absence(key);
  });
  return true;
}

void ObjectStore::bookmark(uint64_t revision) {
  DRA_CHECK(synced_);
  if (revision <= revision_) return;
  std::vector<std::string> keys;
  keys_of_dying_answers(revision, keys);
  for (const auto& [key, absence] : absent_) keys.push_back(key);
  transact(std::move(keys), [&] { advance(revision); });
}

void ObjectStore::answer(Entry entry) {
  if (synced_ && entry.revision <= revision_) return;
  std::string key = entry.key();
  if (auto known = answers_.find(key); known != answers_.end() && known->second.revision >= entry.revision) return;
  if (auto absence = absent_.find(key); absence != absent_.end() && absence->second.uid == entry.uid()) return;
  transact({key}, [&] {
    drop_answer(key);
    answer_order_.emplace(entry.revision, key);
    answers_.insert_or_assign(key, std::move(entry));
  });
}

void ObjectStore::answer_absent(std::string_view key, std::string_view uid) {
  const Entry* streamed = find_in_stream(key);
  auto answered = answers_.find(key);
  bool in_stream = streamed != nullptr && streamed->uid() == uid;
  bool in_answers = answered != answers_.end() && answered->second.uid() == uid;
  if (!in_stream && !in_answers) return;
  // The stream may be behind: it can still deliver this instance up to its last known revision.
  uint64_t since = std::max(revision_, in_answers ? answered->second.revision : 0);
  std::string name(key);
  transact({name}, [&] {
    if (in_answers) drop_answer(name);
    absent_.insert_or_assign(name, Absence{std::string(uid), since});
    settle_absence(name);
  });
}

void ObjectStore::drop_answers() {
  std::vector<std::string> keys;
  for (const auto& [key, entry] : answers_) keys.push_back(key);
  for (const auto& [key, absence] : absent_) keys.push_back(key);
  transact(std::move(keys), [&] {
    answers_.clear();
    answer_order_.clear();
    absent_.clear();
  });
}

void ObjectStore::transact(std::vector<std::string> keys, const std::function<void()>& change) {
  DRA_CHECK(!emitting_);
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  std::vector<Before> before;
  before.reserve(keys.size());
  for (std::string& key : keys) {
    auto streamed = copy_of(find_in_stream(key));
    auto combined = copy_of(find(key));
    before.push_back({std::move(key), std::move(streamed), std::move(combined)});
  }
  uint64_t revision_before = revision_;
  change();

  std::vector<EntryChange> in_stream;
  std::vector<EntryChange> in_view;
  for (const Before& was : before) {
    append_changes(pointer(was.streamed), find_in_stream(was.key), in_stream);
    const Entry* now = find(was.key);
    append_changes(pointer(was.combined), now, in_view);
    if (!same_version(pointer(was.combined), now)) reindex(was.key, pointer(was.combined), now);
  }
  struct Guard {
    bool& flag;
    explicit Guard(bool& f) : flag(f) { flag = true; }
    ~Guard() { flag = false; }
  } guard(emitting_);
  emit(stream_handlers_, in_stream);
  emit(change_handlers_, in_view);
  if (revision_ != revision_before) {
    for (auto& handler : progress_handlers_) handler(revision_);
  }
}

void ObjectStore::keys_of_dying_answers(uint64_t revision, std::vector<std::string>& keys) const {
  for (const auto& [answered, key] : answer_order_) {
    if (answered > revision) break;
    keys.push_back(key);
  }
}

void ObjectStore::advance(uint64_t revision) {
  revision_ = std::max(revision_, revision);
  while (!answer_order_.empty() && answer_order_.begin()->first <= revision_) {
    answers_.erase(answer_order_.begin()->second);
    answer_order_.erase(answer_order_.begin());
  }
  for (auto it = absent_.begin(); it != absent_.end();) {
    const Entry* held = find_in_stream(it->first);
    bool over = revision_ > it->second.since && (held == nullptr || held->uid() != it->second.uid);
    it = over ? absent_.erase(it) : std::next(it);
  }
}

void ObjectStore::drop_answer(std::string_view key) {
  auto it = answers_.find(key);
  if (it == answers_.end()) return;
  answer_order_.erase({it->second.revision, it->first});
  answers_.erase(it);
}

void ObjectStore::settle_absence(const std::string& key) {
  auto it = absent_.find(key);
  if (it == absent_.end()) return;
  const Entry* held = find_in_stream(key);
  if (revision_ > it->second.since && (held == nullptr || held->uid() != it->second.uid)) absent_.erase(it);
}

void ObjectStore::reindex(const std::string& key, const Entry* before, const Entry* after) {
  for (auto& [name, index] : indexes_) {
    const std::vector<std::string> old_values = before ? index.function(*before) : std::vector<std::string>{};
    const std::vector<std::string> new_values = after ? index.function(*after) : std::vector<std::string>{};
    if (old_values == new_values) continue;
    for (const std::string& value : old_values) {
      auto* const keys = index.keys.find(value);
      if (!keys) continue;
      keys->erase(key);
      if (keys->empty()) index.keys.erase(value);
    }
    for (const std::string& value : new_values) index.keys.try_emplace(value).first->insert(key);
  }
}

void ObjectStore::emit(const std::vector<ChangeHandler>& handlers, const std::vector<EntryChange>& changes) {
  for (const EntryChange& change : changes) {
    for (const ChangeHandler& handler : handlers) handler(change);
  }
}

void ObjectStore::add_index(const std::string& name, IndexFunction function) {
  DRA_CHECK(indexes_.find(name) == indexes_.end());
  Index index{std::move(function), {}};
  for_each([&](const Entry& entry) {
    for (const std::string& value : index.function(entry)) index.keys.try_emplace(value).first->insert(entry.key());
  });
  indexes_.emplace(name, std::move(index));
}

std::vector<const Entry*> ObjectStore::by_index(std::string_view index, std::string_view value, size_t most,
                                                std::string_view after) const {
  auto it = indexes_.find(index);
  DRA_CHECK(it != indexes_.end());
  std::vector<const Entry*> found;
  const auto* const keys = it->second.keys.find(value);
  if (!keys) return found;
  found.reserve(std::min(most, keys->size()));
  for (auto key = keys->upper_bound(after); key != keys->end() && found.size() < most; ++key)
    found.push_back(find(*key));
  return found;
}

size_t ObjectStore::index_size(std::string_view index, std::string_view value) const {
  auto it = indexes_.find(index);
  DRA_CHECK(it != indexes_.end());
  const auto* const keys = it->second.keys.find(value);
  return keys ? keys->size() : 0;
}

void ObjectStore::on_change(ChangeHandler handler) {
  DRA_CHECK(!emitting_);
  for_each([&](const Entry& entry) { handler({nullptr, &entry}); });
  change_handlers_.push_back(std::move(handler));
}

void ObjectStore::on_stream_change(ChangeHandler handler) {
  DRA_CHECK(!emitting_);
  for_each_in_stream([&](const Entry& entry) { handler({nullptr, &entry}); });
  stream_handlers_.push_back(std::move(handler));
}

void ObjectStore::on_progress(std::function<void(uint64_t)> handler) {
  progress_handlers_.push_back(std::move(handler));
}

void ObjectStore::on_replaced(std::function<void()> handler) {
  replaced_handlers_.push_back(std::move(handler));
}

}  // namespace dra::client
