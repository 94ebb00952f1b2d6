// Bearer tokens: the configured ones, and signed ones of service accounts (JWT, HS256 with a key of this run).
#pragma once

#include <optional>

#include "pkg/apiserver/rest/call.h"

namespace dra::apiserver {

struct AccountToken {
  std::string namespace_;
  std::string name;
  std::string uid;
};
// `holders`: the objects the token is bound to, "pod", "node" or "secret", each with name and uid; an empty object: the
// account alone.
std::string make_account_token(const Env& env, const AccountToken& account, const Json& holders, WallTime issued,
                               WallTime expires);
// The token's user; nothing if it is unknown, forged or expired, or if its account or an object it is bound to is gone.
std::optional<UserInfo> user_of_token(const Env& env, std::string_view token);

}  // namespace dra::apiserver
