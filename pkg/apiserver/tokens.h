// Bearer tokens: the configured ones, and signed ones of service accounts (JWT, HS256 with a key of this run).
#pragma once

#include <optional>

#include "pkg/apiserver/call.h"

namespace dra::apiserver {

std::string make_account_token(const Env& env, const std::string& namespace_, const std::string& name,
                               const std::string& uid, WallTime issued, WallTime expires);
// Whose token it is; nothing when it is unknown, forged, expired, or its account is gone.
std::optional<UserInfo> user_of_token(const Env& env, std::string_view token);

}  // namespace dra::apiserver
