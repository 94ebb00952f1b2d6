// FakeServer: a small API server for the tests of this package. It stores objects of any resource with one revision
// counter and a history, and serves get, paged list, watch, WatchList, create, put, merge patch, apply (as a merge) and
// delete with preconditions, like kube-apiserver as far as a client can tell. Compiled into the test program only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "client/transport/in_process.h"
#include "pkg/reactor/reactor.h"

namespace dra::client::testing {

class FakeServer : public RequestHandler {
 public:
  explicit FakeServer(Reactor& reactor);
  ~FakeServer() override;
  void handle(const Request& request, const std::string& token, std::shared_ptr<ServerExchange> exchange) override;

  // Bypasses the API. `collection` is like "/api/v1/pods"; `data` is merged into the object, which is created if
  // missing.
  void put(const std::string& collection, const std::string& ns, const std::string& name, const std::string& data_json);
  // Removes it regardless of finalizers; false if it does not exist.
  bool erase(const std::string& collection, const std::string& ns, const std::string& name);
  // "namespace/name" -> "uid@revision".
  std::map<std::string, std::string> snapshot(const std::string& collection) const;
  // The object's JSON, "" if it does not exist.
  std::string get(const std::string& collection, const std::string& ns, const std::string& name) const;
  uint64_t revision() const;
  // From now on, watches and continue tokens from below the current revision get 410.
  void compact();

  bool watch_list = true;
  // Interval of bookmarks, on every watch that allows them.
  Duration bookmark_interval = std::chrono::seconds(60);
  // Called before each request is processed, for counting and for racing writes.
  std::function<void(const Request&)> on_request;

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace dra::client::testing
