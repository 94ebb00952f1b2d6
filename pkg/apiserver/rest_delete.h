// Deletion of one object, for DELETE, deletecollection, eviction and housekeeping. Internal to this package.
#pragma once

#include <optional>
#include <string>

#include "pkg/apiserver/call.h"

namespace dra::apiserver {

struct DeleteRequest {
  std::optional<std::string> policy;  // propagationPolicy
  std::optional<bool> orphan_dependents;
  std::optional<int64_t> grace_seconds;
  std::optional<std::string> uid;
  std::optional<std::string> resource_version;
  bool dry_run = false;
};
// From the body, or from the query when there is none.
StatusOr<DeleteRequest> parse_delete_request(Call& call);
// 409 where uid or resource_version is not that of the object with this metadata.
StatusOr<void> check_preconditions(const KindInfo& info, const Json& meta, const std::string& name,
                                   const DeleteRequest& options);

struct DeleteResult {
  StoredPtr object;
  bool gone = false;  // false: held by finalizers or grace
};
StatusOr<DeleteResult> delete_object(const Env& env, Call& call, const std::string& name, const DeleteRequest& options);

}  // namespace dra::apiserver
