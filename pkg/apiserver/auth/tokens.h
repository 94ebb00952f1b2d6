// Bearer tokens: the configured ones, and signed ones of service accounts (JWT, HS256 with a key of this run).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "pkg/apiserver/model/access.h"
#include "pkg/apiserver/model/kind.h"
#include "pkg/base/clock.h"
#include "pkg/base/random.h"

namespace dra::apiserver {

// What tokens are made from and checked against. What it refers to must outlive it.
struct TokenIssuer {
  const Clock& clock;
  Random& random;
  const ObjectReader& reader;
  const std::map<std::string, UserInfo>& configured;
  std::string key;  // signs service account tokens
};

struct AccountToken {
  std::string namespace_;
  std::string name;
  std::string uid;
};
// `holders`: the objects the token is bound to, "pod", "node" or "secret", each with name and uid; an empty object: the
// account alone.
std::string make_account_token(const TokenIssuer& issuer, const AccountToken& account, const Json& holders,
                               WallTime issued, WallTime expires);
// The token's user; nothing if it is unknown, forged or expired, or if its account or an object it is bound to is gone.
std::optional<UserInfo> user_of_token(const TokenIssuer& issuer, std::string_view token);

}  // namespace dra::apiserver
