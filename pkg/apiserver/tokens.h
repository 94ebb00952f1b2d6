// Bearer tokens: the configured ones, and signed ones of service accounts (JWT, HS256 with a key of this run).
#pragma once

#include <optional>

#include "pkg/apiserver/call.h"

namespace dra::apiserver {

struct AccountToken {
  std::string namespace_;
  std::string name;
  std::string uid;
};
// `holders`: what the token is bound to, "pod", "node" or "secret", each with name and uid; an empty object: nothing
// but the account.
std::string make_account_token(const Env& env, const AccountToken& account, const Json& holders, WallTime issued,
                               WallTime expires);
// Whose token it is; nothing when it is unknown, forged, expired, or its account or what it is bound to is gone.
std::optional<UserInfo> user_of_token(const Env& env, std::string_view token);

}  // namespace dra::apiserver
