// Api: a kubectl user's actions as synchronous calls of a test. Each call sends one request and runs the world until it
// is answered.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "client/transport/transport.h"
#include "pkg/reactor/reactor.h"

namespace dra::integration {

using Json = nlohmann::json;

// Runs a reactor, in simulated or real time.
class Driver {
 public:
  virtual ~Driver() = default;
  virtual Reactor& reactor() = 0;
  // Runs until `done()` is true (checked after each task, so it must be cheap) or `limit` has passed.
  virtual bool run_until(const std::function<bool()>& done, Duration limit) = 0;
  virtual void pass(Duration time) = 0;
};

struct Answer {
  int status = 0;
  std::string body;
  bool ok() const { return status >= 200 && status < 300; }
  Json json() const;
};

class Api {
 public:
  Api(Driver& driver, client::Transport& transport) : driver_(driver), transport_(transport) {}

  Answer call(const std::string& method, const std::string& target, const std::string& body = "",
              const std::string& content_type = "application/json", const std::string& accept = "application/json");
  // The path of an object, or (without a name) of its collection, from kind, namespace and name.
  static std::string path(const std::string& kind, const std::string& name = "", const std::string& ns = "default");
  // Creates the object in its kind's collection. Throws std::runtime_error with the server's message if refused, as do
  // the calls below.
  Json create(const Json& object);
  Json get(const std::string& path);
  bool exists(const std::string& path);
  Json merge(const std::string& path, const Json& patch);
  void remove(const std::string& path);
  // Without grace period: the object is deleted at once, as with --force.
  void remove_now(const std::string& path);
  std::vector<Json> list(const std::string& kind);

 private:
  Driver& driver_;
  client::Transport& transport_;
};

}  // namespace dra::integration
