#include "pkg/manager/permit/access_review.h"

#include <nlohmann/json.hpp>

#include "pkg/log/log.h"

namespace dra::manager {

namespace {

using Json = nlohmann::json;

constexpr Duration kKept = std::chrono::seconds(10);
constexpr size_t kMaxKnown = 128;
constexpr Duration kTimeout = std::chrono::seconds(5);

const client::Resource kTokenReviews{"authentication.k8s.io", "v1", "tokenreviews", "TokenReview", false};
const client::Resource kAccessReviews{"authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview",
                                      false};

const Json* member(const Json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

bool is_true(const Json* value) {
  return value != nullptr && value->is_boolean() && value->get<bool>();
}

}  // namespace

void AccessReview::check(const std::string& token, const std::string& path, Done done) {
  const auto key = std::make_pair(token, path);
  if (const auto known = known_.find(key); known != known_.end()) {
    if (reactor_.clock().mono_now() < known->second.until) return done(known->second.status);
    known_.erase(known);
  }
  const uint64_t id = ++last_;
  calls_.emplace(id, Call{key, std::move(done), {}});
  who(id);
}

void AccessReview::who(uint64_t id) {
  Call& call = calls_.at(id);
  const Json body = {
      {"apiVersion", "authentication.k8s.io/v1"}, {"kind", "TokenReview"}, {"spec", {{"token", call.key.first}}}};
  // A token that is not UTF-8 belongs to nobody.
  call.request = rest_.create(
      {kTokenReviews, "", "", ""}, body.dump(-1, ' ', false, Json::error_handler_t::replace), {},
      [this, id](Result<std::string> answer) {
        if (answer) return may(id, *answer);
        log::error("The bearer of a token could not be asked for",
                   {{"err", answer.error().message()}, {"needed", "the cluster role system:auth-delegator"}});
        finish(id, 503);
      },
      kTimeout);
}

void AccessReview::may(uint64_t id, const std::string& token_review) {
  const Json review = Json::parse(token_review, nullptr, false);
  const Json* status = member(review, "status");
  if (status == nullptr || !is_true(member(*status, "authenticated"))) return finish(id, 401);
  Call& call = calls_.at(id);
  Json spec = {{"nonResourceAttributes", {{"path", call.key.second}, {"verb", "get"}}}};
  if (const Json* user = member(*status, "user"); user != nullptr) {
    for (const auto& [from, to] :
         {std::pair{"username", "user"}, {"uid", "uid"}, {"groups", "groups"}, {"extra", "extra"}}) {
      if (const Json* value = member(*user, from); value != nullptr) spec[to] = *value;
    }
  }
  const Json body = {{"apiVersion", "authorization.k8s.io/v1"}, {"kind", "SubjectAccessReview"}, {"spec", spec}};
  call.request = rest_.create(
      {kAccessReviews, "", "", ""}, body.dump(-1, ' ', false, Json::error_handler_t::replace), {},
      [this, id](Result<std::string> answer) {
        if (!answer) return finish(id, 503);
        const Json said = Json::parse(*answer, nullptr, false);
        const Json* access = member(said, "status");
        finish(id, access != nullptr && is_true(member(*access, "allowed")) ? 200 : 403);
      },
      kTimeout);
}

void AccessReview::finish(uint64_t id, int status) {
  auto call = calls_.extract(id);
  if (status != 503) {
    if (known_.size() >= kMaxKnown) known_.clear();
    known_[call.mapped().key] = {status, reactor_.clock().mono_now() + kKept};
  }
  call.mapped().done(status);
}

}  // namespace dra::manager
