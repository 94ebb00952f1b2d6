// What a server serves, and what this client may do: API discovery and SelfSubjectAccessReview.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "client/rest/rest_client.h"

namespace dra::client {

// A group's versions, in the server's order of preference.
struct ServedGroup {
  std::vector<std::string> versions;
  std::string preferred;
};
// From /apis/GROUP; nullopt if the server does not know the group.
[[nodiscard]] Handle discover_group(RestClient& client, const std::string& group,
                                    std::function<void(Result<std::optional<ServedGroup>>)> done);

struct ServedResource {
  std::string name;  // "resourceclaims", "resourceclaims/status"
  std::string kind;
  bool namespaced = false;
  std::vector<std::string> verbs;
};
// From /apis/GROUP/VERSION, or /api/VERSION for the core group; nullopt if it is not served.
[[nodiscard]] Handle discover_resources(RestClient& client, const std::string& group, const std::string& version,
                                        std::function<void(Result<std::optional<std::vector<ServedResource>>>)> done);

// The first version, in the server's order of preference, in which the group has this resource ("podgroups"); "" if
// none has it, or if the server does not say.
[[nodiscard]] Handle discover_version_with(RestClient& client, const std::string& group, const std::string& resource,
                                           std::function<void(std::string)> done);

// The newest of these versions that the server has, or "".
std::string newest_of(const ServedGroup& group, const std::vector<std::string>& newest_first);

// One permission, as in a rule of a ClusterRole.
struct Permission {
  std::string verb;
  std::string group;  // empty: the core group
  std::string resource;
  std::string subresource;
  std::string ns;  // empty: all namespaces
  std::string name;
};
// "patch resourceclaims/status in resource.k8s.io": for messages about a missing permission.
std::string to_string(const Permission& permission);

struct AccessAnswer {
  bool allowed = false;
  std::string reason;
};
// Asks the server whether this client has the permission.
[[nodiscard]] Handle check_access(RestClient& client, const Permission& permission,
                                  std::function<void(Result<AccessAnswer>)> done);

}  // namespace dra::client
