// Resources of an API server, and the targets (path and query) of their requests. Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dra::client {

// One resource of one version, for example {"resource.k8s.io", "v1", "resourceclaims", "ResourceClaim", true}.
struct Resource {
  std::string group;  // empty: the core group
  std::string version;
  std::string plural;
  std::string kind;
  bool namespaced = true;

  // "resource.k8s.io/v1", or "v1" for the core group.
  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
  bool operator==(const Resource&) const = default;
};

// Percent-encodes all except RFC 3986's unreserved characters.
std::string percent_encode(std::string_view text);

using Query = std::vector<std::pair<std::string, std::string>>;

// "/apis/resource.k8s.io/v1/namespaces/NS/resourceclaims". An empty namespace: all, or a cluster-scoped kind.
std::string collection_path(const Resource& resource, std::string_view ns);
// The path of one object, or of a subresource of it ("status", "binding").
std::string object_path(const Resource& resource, std::string_view ns, std::string_view name,
                        std::string_view subresource = {});
// Appends the query; omits pairs with an empty value.
std::string with_query(std::string path, const Query& query);

}  // namespace dra::client
