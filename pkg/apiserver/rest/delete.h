// Deletion of one object, for DELETE, deletecollection, eviction and housekeeping. Internal to this package.
#pragma once

#include <optional>
#include <string>

#include "pkg/apiserver/rest/call.h"

namespace dra::apiserver {

struct DeleteRequest {
  std::optional<std::string> policy;  // propagationPolicy
  std::optional<bool> orphan_dependents;
  std::optional<int64_t> grace_seconds;
  std::optional<std::string> uid;
  std::optional<std::string> resource_version;
  bool dry_run = false;
};
// From the body, or from the query if there is no body.
StatusOr<DeleteRequest> parse_delete_request(Call& call);
// 409 if uid or resource_version differs from that in this object's metadata.
StatusOr<void> check_preconditions(const KindInfo& info, const Json& meta, const std::string& name,
                                   const DeleteRequest& options);

struct DeleteResult {
  StoredPtr object;
  bool gone = false;  // false: finalizers or a grace period keep it
};
StatusOr<DeleteResult> delete_object(const Env& env, Call& call, const std::string& name, const DeleteRequest& options);

}  // namespace dra::apiserver
