#include "client/rest/resource_path.h"

namespace dra::client {

std::string percent_encode(std::string_view text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (char c : text) {
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
                 c == '_' || c == '~';
    if (plain) {
      out += c;
      continue;
    }
    auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
  return out;
}

std::string collection_path(const Resource& resource, std::string_view ns) {
  std::string path = resource.group.empty() ? "/api/" : "/apis/" + resource.group + "/";
  path += resource.version;
  if (!ns.empty()) path += "/namespaces/" + percent_encode(ns);
  return path + "/" + resource.plural;
}

std::string object_path(const Resource& resource, std::string_view ns, std::string_view name,
                        std::string_view subresource) {
  std::string path = collection_path(resource, ns) + "/" + percent_encode(name);
  if (!subresource.empty()) path += "/" + std::string(subresource);
  return path;
}

std::string with_query(std::string path, const Query& query) {
  char separator = '?';
  for (const auto& [key, value] : query) {
    if (value.empty()) continue;
    path += separator;
    path += percent_encode(key) + "=" + percent_encode(value);
    separator = '&';
  }
  return path;
}

}  // namespace dra::client
