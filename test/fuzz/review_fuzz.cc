// Any bytes as the body of a write to the embedded API server: reviews of tokens and access, bindings, evictions, pods,
// claims, and patches of all kinds. The first byte chooses the request. Beyond not crashing, it must hold that
//  - there is exactly one answer, and never "internal error",
//  - the answer is JSON, and a refusal is a Status that says why,
//  - a review changes nothing, and any other write changes at most the objects that it is about.
#include <array>
#include <memory>
#include <nlohmann/json.hpp>

#include "pkg/apiserver/server.h"
#include "pkg/reactor/sim_reactor.h"
#include "test/fuzz/seed_text.h"

namespace {

using namespace dra;

struct Target {
  const char* method;
  const char* path;
  const char* content_type;
  bool changes = true;
};
constexpr const char* kJson = "application/json";
constexpr std::array kTargets = {
    Target{"POST", "/apis/authentication.k8s.io/v1/tokenreviews", kJson, false},
    Target{"POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", kJson, false},
    Target{"POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", kJson, false},
    Target{"POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", kJson, false},
    Target{"POST", "/api/v1/namespaces/default/pods/p/binding", kJson},
    Target{"POST", "/api/v1/namespaces/default/pods/p/eviction", kJson},
    Target{"POST", "/api/v1/namespaces/default/pods", kJson},
    Target{"POST", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims", kJson},
    Target{"POST", "/apis/resource.k8s.io/v1/resourceslices", "application/yaml"},
    Target{"PUT", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/c/status", kJson},
    Target{"PATCH", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/c", "application/merge-patch+json"},
    Target{"PATCH", "/api/v1/namespaces/default/pods/p", "application/json-patch+json"},
    Target{"PATCH", "/api/v1/namespaces/default/pods/p", "application/strategic-merge-patch+json"},
    Target{"PATCH", "/api/v1/namespaces/default/pods/p?fieldManager=f&force=true", "application/apply-patch+yaml"},
    Target{"POST", "/api/v1/namespaces/default/pods", "application/vnd.kubernetes.protobuf"},
};

class Once : public http::Responder {
 public:
  Once(http::Response& answer, int& answers) : answer_(answer), answers_(answers) {}
  void send(http::Response response) override {
    ++answers_;
    answer_ = std::move(response);
  }
  void begin_stream(http::Response) override { REQUIRE(false); }
  bool write(std::string_view) override { return false; }
  void end() override {}
  size_t buffered() const override { return 0; }
  void on_close(std::function<void()>) override {}

 private:
  http::Response& answer_;
  int& answers_;
};

struct World {
  World() {
    apiserver::ServerOptions options;
    options.tokens = apiserver::admin_token("t");
    server = std::make_unique<apiserver::Server>(reactor, random, std::move(options));
    reactor.run_until_idle();
    REQUIRE(ask(kTargets[6], R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})").status ==
            201);
    REQUIRE(ask(kTargets[7], R"({"metadata":{"name":"c"},"spec":{"devices":{}}})").status == 201);
  }

  http::Response ask(const Target& target, std::string body) {
    http::Request request;
    request.method = target.method;
    request.target = target.path;
    request.headers.add("Authorization", "Bearer t");
    request.headers.add("Content-Type", target.content_type);
    request.body = std::move(body);
    http::Response answer;
    int answers = 0;
    server->handle(std::move(request), std::make_shared<Once>(answer, answers));
    reactor.run_until_idle();
    REQUIRE(answers == 1);
    return answer;
  }

  ManualClock clock;
  SimReactor reactor{clock};
  SeededRandom random{7};
  std::unique_ptr<apiserver::Server> server;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0 || size > 16 * 1024) return 0;
  // State left by one input would make the next one hard to reproduce; a new world costs a millisecond.
  static std::unique_ptr<World> world;
  if (!world) world = std::make_unique<World>();
  const Target& target = kTargets[data[0] % kTargets.size()];
  const uint64_t before = world->server->store().revision();
  const http::Response answer = world->ask(target, fuzz::seed_text(data + 1, size - 1));
  REQUIRE(answer.status >= 200 && answer.status < 600);
  const auto body = nlohmann::json::parse(answer.body, nullptr, false);
  REQUIRE(body.is_object());
  if (answer.status >= 400) {
    REQUIRE(body.value("kind", "") == "Status");
    // Server-side apply of an unknown field is a 500 without a reason, as with kube-apiserver.
    REQUIRE(body.value("reason", "") != "InternalError");
    REQUIRE(!body.value("message", "").empty());
  }
  const uint64_t after = world->server->store().revision();
  if (after > before + 3 || ((!target.changes || answer.status >= 400) && after != before))
    std::fprintf(stderr, "%s %s: %d, %d writes\n", target.method, target.path, answer.status,
                 static_cast<int>(after - before));
  if (!target.changes || answer.status >= 400) REQUIRE(after == before);
  REQUIRE(after <= before + 3);  // an eviction: marked, marked as deleted, removed
  if (after != before) world.reset();
  return 0;
}
