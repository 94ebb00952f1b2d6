// Entry: one object as stores keep it, independent of its type; ObjectType: decodes answers into entries.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/decode/decode_protobuf.h"
#include "pkg/api/meta.h"
#include "pkg/api/share_lists.h"
#include "pkg/api/unknown_fields.h"
#include "pkg/base/error.h"
#include "pkg/base/strings.h"

namespace dra::client {

// An object in an entry never changes. Cheap to copy: copies share the object.
class Entry {
 public:
  // Only the metadata is known.
  Entry(api::ObjectMeta meta, uint64_t at)
      : revision(at), meta_(std::make_shared<const api::ObjectMeta>(std::move(meta))) {}
  // `meta` must be part of the object.
  template <typename T>
  Entry(const std::shared_ptr<const T>& object, const api::ObjectMeta& meta, uint64_t at)
      : revision(at), meta_(object, &meta), object_(object.get()) {}

  const std::string& ns() const { return meta_->ns; }
  const std::string& name() const { return meta_->name; }
  const std::string& uid() const { return meta_->uid; }
  std::string key() const { return meta_->key(); }
  bool has_object() const { return object_ != nullptr; }
  // Null if only the metadata is known.
  template <typename T>
  std::shared_ptr<const T> object() const {
    return object_ ? std::shared_ptr<const T>(meta_, static_cast<const T*>(object_)) : nullptr;
  }
  template <typename T>
  const T& ref() const {
    return *static_cast<const T*>(object_);
  }

  uint64_t revision = 0;  // metadata.resourceVersion as a number

 private:
  std::shared_ptr<const api::ObjectMeta> meta_;  // owns the object that it belongs to
  const void* object_ = nullptr;
};

// "namespace/name", or "name".
std::string store_key(std::string_view ns, std::string_view name);

// A resourceVersion as a number; an error for any other text (kube-apiserver and this project's server only issue
// decimal numbers, which can be compared).
Result<uint64_t> parse_revision(std::string_view text);

struct EntryPage {
  uint64_t revision = 0;
  std::string continue_token;
  std::vector<Entry> entries;
  // One error per item that could not be decoded; such items are not in `entries`.
  std::vector<Error> errors;
  // The key of each failed item; empty if that is unreadable too.
  std::vector<std::string> unreadable;
};

// What the informer needs to know about a type. The functions are pure and may run on any thread.
struct ObjectType {
  std::function<Result<Entry>(std::string_view json)> decode;
  std::function<Result<EntryPage>(std::string_view json)> decode_list;
  // Like `decode`, for Kubernetes' protobuf; empty for types that are read only in JSON.
  std::function<Result<Entry>(std::string_view bytes)> decode_protobuf;
  std::function<Result<EntryPage>(std::string_view bytes)> decode_protobuf_list;
};

// Specialise for types that pkg/api cannot decode.
template <class T>
struct ObjectTraits {
  static Result<T> decode(std::string_view json) { return api::decode<T>(json); }
  static Result<api::DecodedList<T>> decode_list(std::string_view json) { return api::decode_list<T>(json); }
  static const api::ObjectMeta& meta(const T& object) { return object.metadata; }
};

// What a protobuf message has beyond its table, "field 14 of Device"; null: nothing.
template <class T>
const std::string* unknown_in_protobuf(const T& object) {
  const api::UnknownFields* unknown = nullptr;
  if constexpr (requires { object.spec.unknown; })
    unknown = object.spec.unknown ? &*object.spec.unknown : nullptr;
  else if constexpr (requires { object.unknown; })
    unknown = object.unknown ? &*object.unknown : nullptr;
  return unknown == nullptr || unknown->fields.front().why != api::UnknownField::Why::kNumber
             ? nullptr
             : &unknown->fields.front().path;
}

// The revision of an object; fails if the metadata has no name or its resourceVersion is not a number.
Result<uint64_t> revision_of(const api::ObjectMeta& meta);

// The key of an object; empty without a name.
std::string key_of(const api::ObjectMeta& meta);

template <class T>
Result<Entry> make_entry(T&& object) {
  const Result<uint64_t> revision = revision_of(ObjectTraits<T>::meta(object));
  if (!revision) return fail(revision.error());
  if constexpr (requires { api::share_lists(object); })
    api::share_lists(object);
  else if constexpr (requires { api::share_lists(object.metadata); })
    api::share_lists(object.metadata);
  const auto kept = std::make_shared<const T>(std::move(object));
  return Entry(kept, ObjectTraits<T>::meta(*kept), *revision);
}

template <class T>
Result<EntryPage> make_page(Result<api::DecodedList<T>> list) {
  if (!list) return fail(list.error());
  auto revision = parse_revision(list->metadata.resource_version);
  if (!revision) return fail(revision.error().wrap("list"));
  EntryPage page{
      *revision, std::move(list->metadata.continue_token), {}, std::move(list->errors), std::move(list->unreadable)};
  page.unreadable.resize(page.errors.size());
  page.entries.reserve(list->items.size());
  for (T& item : list->items) {
    const std::string key = key_of(ObjectTraits<T>::meta(item));
    auto entry = make_entry<T>(std::move(item));
    if (entry) {
      page.entries.push_back(std::move(*entry));
    } else {
      page.errors.push_back(entry.error());
      page.unreadable.push_back(key);
    }
  }
  return page;
}

template <class T>
Result<Entry> entry_of(Result<T> object) {
  if (!object) return fail(object.error());
  return make_entry<T>(std::move(*object));
}

// Protobuf names a field that its table lacks by a number alone, and does not tell an empty message from an empty text.
// So such an object counts as unreadable in protobuf; the reflector then reads JSON, which has the field's name.
template <class T>
std::optional<Error> unless_known(const T& object) {
  const std::string* field = unknown_in_protobuf(object);
  if (field == nullptr) return std::nullopt;
  return Error(Code::kUnsupported,
               "object " + quote(key_of(ObjectTraits<T>::meta(object))) + " has " + *field + ", which its JSON names");
}

template <class T>
Result<T> only_if_known(Result<T> object) {
  if (object)
    if (std::optional<Error> unknown = unless_known(*object)) return fail(*std::move(unknown));
  return object;
}

template <class T>
Result<api::DecodedList<T>> only_if_known(Result<api::DecodedList<T>> list) {
  if (!list) return list;
  for (const T& item : list->items)
    if (std::optional<Error> unknown = unless_known(item)) return fail(*std::move(unknown));
  return list;
}

template <class T>
ObjectType object_type() {
  ObjectType type;
  type.decode = [](std::string_view json) { return entry_of<T>(ObjectTraits<T>::decode(json)); };
  type.decode_list = [](std::string_view json) { return make_page<T>(ObjectTraits<T>::decode_list(json)); };
  if constexpr (api::kReadsProtobuf<T>) {
    type.decode_protobuf = [](std::string_view bytes) {
      return entry_of<T>(only_if_known<T>(api::decode_protobuf<T>(bytes)));
    };
    type.decode_protobuf_list = [](std::string_view bytes) {
      return make_page<T>(only_if_known<T>(api::decode_protobuf_list<T>(bytes)));
    };
  }
  return type;
}

}  // namespace dra::client
