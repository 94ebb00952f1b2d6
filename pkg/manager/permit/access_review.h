// AccessReview: asks the API server whether the bearer of a token may read a path, by a TokenReview and a
// SubjectAccessReview, as controllers of controller-runtime do. It needs the role system:auth-delegator.
//
// Answers are cached for ten seconds, at most 128 of them. Belongs to the reactor's thread.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "client/rest/rest_client.h"
#include "pkg/reactor/reactor.h"

namespace dra::manager {

class AccessReview {
 public:
  // 200: yes. 401: the token is not valid. 403: the bearer may not. 503: the API server did not answer.
  using Done = std::function<void(int status)>;

  // Both must outlive it.
  AccessReview(Reactor& reactor, client::Transport& transport) : reactor_(reactor), rest_(transport) {}

  // The verb is get, on `path`. The callback may run before this returns.
  void check(const std::string& token, const std::string& path, Done done);

 private:
  struct Call {
    std::pair<std::string, std::string> key;  // token, path
    Done done;
    Handle request;
  };
  struct Known {
    int status = 0;
    MonoTime until{};
  };
  void who(uint64_t id);
  void may(uint64_t id, const std::string& token_review);
  void finish(uint64_t id, int status);

  Reactor& reactor_;
  client::RestClient rest_;
  std::map<uint64_t, Call> calls_;
  std::map<std::pair<std::string, std::string>, Known> known_;
  uint64_t last_ = 0;
};

}  // namespace dra::manager
