#include "pkg/apiserver/auth/tokens.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/base/strings.h"

namespace dra::apiserver {

namespace {

std::string base64url(std::string_view bytes) {
  std::string out = base64_encode(bytes);
  std::replace(out.begin(), out.end(), '+', '-');
  std::replace(out.begin(), out.end(), '/', '_');
  while (!out.empty() && out.back() == '=') out.pop_back();
  return out;
}

bool from_base64url(std::string_view text, std::string& out) {
  std::string standard(text);
  std::replace(standard.begin(), standard.end(), '-', '+');
  std::replace(standard.begin(), standard.end(), '_', '/');
  while (standard.size() % 4 != 0) standard += '=';
  return base64_decode(standard, out);
}

std::string sign(std::string_view key, std::string_view text) {
  unsigned char mac[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(text.data()),
       text.size(), mac, &size);
  return {reinterpret_cast<char*>(mac), size};
}

int64_t unix_seconds(WallTime t) {
  return std::chrono::duration_cast<std::chrono::seconds>(t.time_since_epoch()).count();
}

// Adds the pod, node or secret that a token is bound to as extra facts about its user. False if one of them is gone.
bool add_holders(const ObjectReader& reader, const Json& about, const std::string& ns, UserInfo& user) {
  for (const char* kind : {"pod", "node", "secret"}) {
    const auto holder = about.find(kind);
    if (holder == about.end()) continue;
    const std::string name = holder->at("name");
    const std::string uid = holder->at("uid");
    const std::string kind_text = kind;
    const auto object = reader.find("", kind_text + "s", kind_text == "node" ? "" : ns, name);
    if (!object || object->at("metadata").value("uid", "") != uid) return false;
    if (kind_text == "secret") continue;
    user.extra["authentication.kubernetes.io/" + kind_text + "-name"] = {name};
    user.extra["authentication.kubernetes.io/" + kind_text + "-uid"] = {uid};
  }
  return true;
}

}  // namespace

std::string make_account_token(const TokenIssuer& issuer, const AccountToken& account, const Json& holders,
                               WallTime issued, WallTime expires) {
  const Json header = {{"alg", "HS256"}, {"typ", "JWT"}};
  Json claims = {
      {"iss", "https://kubernetes.default.svc"},
      {"sub", "system:serviceaccount:" + account.namespace_ + ":" + account.name},
      {"aud", {"https://kubernetes.default.svc"}},
      {"jti", issuer.random.uuid()},
      {"iat", unix_seconds(issued)},
      {"nbf", unix_seconds(issued)},
      {"exp", unix_seconds(expires)},
      {"kubernetes.io",
       {{"namespace", account.namespace_}, {"serviceaccount", {{"name", account.name}, {"uid", account.uid}}}}}};
  for (const auto& [kind, holder] : holders.items()) claims["kubernetes.io"][kind] = holder;
  const std::string text = base64url(header.dump()) + "." + base64url(claims.dump());
  return text + "." + base64url(sign(issuer.key, text));
}

std::optional<UserInfo> user_of_token(const TokenIssuer& issuer, std::string_view token) {
  if (token.empty()) return std::nullopt;
  for (const auto& [configured, user] : issuer.configured) {
    if (configured.size() == token.size() && CRYPTO_memcmp(configured.data(), token.data(), token.size()) == 0)
      return user;
  }
  const size_t dot = token.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  std::string mac;
  if (!from_base64url(token.substr(dot + 1), mac)) return std::nullopt;
  const std::string expected = sign(issuer.key, token.substr(0, dot));
  if (mac.size() != expected.size() || CRYPTO_memcmp(mac.data(), expected.data(), mac.size()) != 0) return std::nullopt;
  // Signed by this server, so the rest has the shape that make_account_token() writes.
  std::string text;
  const size_t first = token.find('.');
  if (!from_base64url(token.substr(first + 1, dot - first - 1), text)) return std::nullopt;
  const Json claims = Json::parse(text, nullptr, false);
  if (!claims.is_object() || claims.value("exp", int64_t{0}) <= unix_seconds(issuer.clock.wall_now())) {
    return std::nullopt;
  }
  const Json& about = claims.at("kubernetes.io");
  const std::string ns = about.at("namespace");
  const std::string name = about.at("serviceaccount").at("name");
  const std::string uid = about.at("serviceaccount").at("uid");
  const auto account = issuer.reader.find("", "serviceaccounts", ns, name);
  if (!account || account->at("metadata").value("uid", "") != uid) return std::nullopt;
  UserInfo user{"system:serviceaccount:" + ns + ":" + name,
                uid,
                {"system:serviceaccounts", "system:serviceaccounts:" + ns, "system:authenticated"},
                {}};
  if (!add_holders(issuer.reader, about, ns, user)) return std::nullopt;
  return user;
}

}  // namespace dra::apiserver
