// FakeServer: a small API server for the tests of this package. It keeps objects of any resource with one revision
// counter and a history, and serves get, list in pages, watch, WatchList, create, put, merge patch, apply (as a merge)
// and delete with preconditions, as kube-apiserver does where a client can tell. Compiled into the test program only.
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

  // Behind the API. `collection` is like "/api/v1/pods"; `data` is merged into the object, which is made if it is not
  // there.
  void put(const std::string& collection, const std::string& ns, const std::string& name, const std::string& data_json);
  // Removes it whatever its finalizers are; false when there was none.
  bool erase(const std::string& collection, const std::string& ns, const std::string& name);
  // "namespace/name" -> "uid@revision".
  std::map<std::string, std::string> snapshot(const std::string& collection) const;
  // The object's JSON, "" when there is none.
  std::string get(const std::string& collection, const std::string& ns, const std::string& name) const;
  uint64_t revision() const;
  // Watches and continue tokens from below the present revision get 410 from now on.
  void compact();

  bool watch_list = true;
  // Bookmarks on every watch that allows them.
  Duration bookmark_interval = std::chrono::seconds(60);
  // Called before each request is looked at, for counting and for racing writes.
  std::function<void(const Request&)> on_request;

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace dra::client::testing
