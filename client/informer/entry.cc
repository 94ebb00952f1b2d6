#include "client/informer/entry.h"

#include <charconv>

#include "pkg/base/strings.h"

namespace dra::client {

std::string store_key(std::string_view ns, std::string_view name) {
  if (ns.empty()) return std::string(name);
  std::string key(ns);
  key += '/';
  key += name;
  return key;
}

Result<uint64_t> parse_revision(std::string_view text) {
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
    return fail(Code::kInvalidArgument, "resourceVersion " + quote(text) + " is not a decimal number");
  }
  return value;
}

std::string key_of(const api::ObjectMeta& meta) {
  return meta.name.empty() ? std::string() : store_key(meta.ns, meta.name);
}

Result<uint64_t> revision_of(const api::ObjectMeta& meta) {
  if (meta.name.empty()) return fail(Code::kInvalidArgument, "an object without metadata.name");
  auto revision = parse_revision(meta.resource_version);
  if (!revision) return fail(revision.error().wrap("object " + quote(store_key(meta.ns, meta.name))));
  return revision;
}

}  // namespace dra::client
