// Whether lint refuses what the embedded API server refuses, on manifests with one or two random mistakes.
#include "pkg/inspect/lint/server_rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "pkg/apiserver/server.h"
#include "pkg/base/random.h"
#include "pkg/inspect/lint/lint.h"
#include "pkg/reactor/sim_reactor.h"

namespace dra::inspect::server_rules_test {
namespace {

using nlohmann::json;

struct Answered {
  int status = 0;
  std::string body;
};

class OneAnswer : public http::Responder {
 public:
  explicit OneAnswer(std::shared_ptr<Answered> answer) : answer_(std::move(answer)) {}
  void send(http::Response response) override { *answer_ = {response.status, response.body}; }
  void begin_stream(http::Response) override {}
  bool write(std::string_view) override { return true; }
  void end() override {}
  size_t buffered() const override { return 0; }
  void on_close(std::function<void()>) override {}

 private:
  std::shared_ptr<Answered> answer_;
};

class Judge {
 public:
  Judge() {
    apiserver::ServerOptions options;
    options.tokens = apiserver::admin_token("t");
    server_ = std::make_unique<apiserver::Server>(reactor_, random_, std::move(options));
    reactor_.run_until_idle();
    // What admission of pods wants.
    post("/api/v1/namespaces/default/serviceaccounts", {{"metadata", {{"name", "default"}}}}, "");
  }

  // As kubectl creates it: strict, and here without storing it.
  Answered create(const json& object) {
    const std::string version = object.value("apiVersion", ""), kind = object.value("kind", "");
    for (const auto& one : server_->kinds().kinds())
      for (const apiserver::ServedVersion& served : one->info().served)
        if (served.gv.text() == version && one->info().kind == kind)
          return post((served.gv.group.empty() ? "/api/" : "/apis/") + version +
                          (one->info().namespaced ? "/namespaces/default/" : "/") + one->info().plural,
                      object, "?dryRun=All&fieldValidation=Strict");
    return {};
  }

 private:
  Answered post(const std::string& path, const json& body, const std::string& query) {
    http::Request request;
    request.method = "POST";
    request.target = path + query;
    request.headers.add("Authorization", "Bearer t");
    request.headers.add("User-Agent", "test/1");
    request.headers.add("Content-Type", "application/json");
    request.body = body.dump();
    auto answer = std::make_shared<Answered>();
    server_->handle(std::move(request), std::make_shared<OneAnswer>(answer));
    reactor_.run_until_idle();
    return *answer;
  }

  ManualClock clock_;
  SimReactor reactor_{clock_};
  SeededRandom random_{7};
  std::unique_ptr<apiserver::Server> server_;
};

const std::vector<json>& right_manifests() {
  static const std::vector<json> all{
      json::parse(
          R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":"a","labels":{"x":"y"}},
        "spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu.example.com","allocationMode":"ExactCount",
        "count":2,"selectors":[{"cel":{"expression":"device.driver == 'd'"}}],"tolerations":[{"key":"k","operator":"Exists",
        "effect":"NoExecute","tolerationSeconds":3}],"capacity":{"requests":{"memory":"4Gi"}}}},
        {"name":"s","firstAvailable":[{"name":"x","deviceClassName":"c"},{"name":"y","deviceClassName":"c"}]}],
        "constraints":[{"requests":["r","s/x"],"matchAttribute":"gpu.example.com/model"}],
        "config":[{"requests":["r"],"opaque":{"driver":"gpu.example.com","parameters":{"a":{"b":1}}}}]}}})"),
      json::parse(R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaimTemplate","metadata":{"name":"t"},
        "spec":{"metadata":{"labels":{"a":"b"}},"spec":{"devices":{"requests":[{"name":"r","exactly":
        {"deviceClassName":"c","allocationMode":"All"}}]}}}})"),
      json::parse(R"({"apiVersion":"resource.k8s.io/v1","kind":"DeviceClass","metadata":{"name":"c"},
        "spec":{"selectors":[{"cel":{"expression":"device.driver == 'd'"}}],"extendedResourceName":"example.com/gpu",
        "config":[{"opaque":{"driver":"gpu.example.com","parameters":{"a":1}}}]}})"),
      json::parse(R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"s"},
        "spec":{"driver":"gpu.example.com","nodeName":"n","pool":{"name":"n","generation":1,"resourceSliceCount":1},
        "devices":[{"name":"gpu-0","attributes":{"model":{"string":"A1"},"v":{"version":"1.2.3"},"n":{"int":3},
        "b":{"bool":true}},"capacity":{"memory":{"value":"80Gi"}},"taints":[{"key":"k","value":"v","effect":"NoSchedule"}]}]}})"),
      json::parse(R"({"apiVersion":"resource.k8s.io/v1beta1","kind":"ResourceClaim","metadata":{"name":"old"},
        "spec":{"devices":{"requests":[{"name":"r","deviceClassName":"c","count":1}]}}})"),
      json::parse(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","annotations":{"a":"b"}},
        "spec":{"containers":[{"name":"c","image":"i","resources":{"claims":[{"name":"g","request":"r"}],
        "limits":{"cpu":"1"}},"env":[{"name":"E","value":"1"}],"ports":[{"containerPort":80}]}],
        "resourceClaims":[{"name":"g","resourceClaimTemplateName":"t"}],"nodeSelector":{"a":"b"},
        "tolerations":[{"key":"k","operator":"Exists"}],"restartPolicy":"Never"}})"),
      json::parse(R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"w"},"spec":{"replicas":2,
        "selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":
        [{"name":"c","image":"i","resources":{"claims":[{"name":"g"}]}}],"resourceClaims":[{"name":"g",
        "resourceClaimName":"x"}]}}}})"),
      json::parse(
          R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j"},"spec":{"parallelism":2,"completions":2,
        "template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}})"),
      json::parse(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n"}})"),
  };
  return all;
}

// Pointers to every value below the object itself, but for apiVersion and kind.
void collect_pointers(const json& value, const json::json_pointer& at, std::vector<json::json_pointer>& all) {
  if (!at.empty()) all.push_back(at);
  if (value.is_object()) {
    for (const auto& [key, element] : value.items())
      if (!at.empty() || (key != "apiVersion" && key != "kind")) collect_pointers(element, at / key, all);
  } else if (value.is_array()) {
    for (size_t i = 0; i < value.size(); ++i) collect_pointers(value[i], at / i, all);
  }
}

const std::vector<json>& odd_values() {
  static const std::vector<json> all{"",
                                     "A_b",
                                     "a/b/c",
                                     "x-",
                                     "device.driver ==",
                                     "1.2.3.4",
                                     "10Gi",
                                     "0x",
                                     0,
                                     -1,
                                     7,
                                     true,
                                     nullptr,
                                     1.5,
                                     2'000'000'000'000,
                                     json::array(),
                                     json::object(),
                                     json::array({"a", "a"}),
                                     json{{"unknown", 1}},
                                     std::string(300, 'n')};
  return all;
}

// One mistake at a random place: gone, of another kind, twice, or with an unknown member beside it.
void spoil(json& object, Random& random) {
  std::vector<json::json_pointer> places;
  collect_pointers(object, json::json_pointer(), places);
  if (places.empty()) return;
  const json::json_pointer at = places[random.below(places.size())];
  json& parent = object[at.parent_pointer()];
  json& value = object[at];
  switch (random.below(5)) {
    case 0:
      if (parent.is_array())
        parent.erase(std::stoul(at.back()));
      else
        parent.erase(at.back());
      return;
    case 1:
      if (value.is_object()) value["newField"] = 1;
      return;
    case 2:
      if (parent.is_array()) parent.push_back(json(value));
      return;
    default:
      value = odd_values()[random.below(odd_values().size())];
  }
}

bool has_error(const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& one) { return one.severity == Severity::kError; });
}

std::string texts_of(const ServerVerdict& verdict) {
  std::string text;
  for (const ServerRefusal& one : verdict.refusals) text += one.field + ": " + one.why + "\n";
  return text;
}

TEST(ServerRules, RightManifestsAreRight) {
  Judge judge;
  for (const json& object : right_manifests()) {
    const Answered answer = judge.create(object);
    EXPECT_EQ(answer.status, 201) << object.dump() << "\n" << answer.body;
    const ServerVerdict verdict = refused_by_server(object, {});
    EXPECT_TRUE(verdict.known);
    EXPECT_TRUE(verdict.refusals.empty()) << object.dump() << "\n" << texts_of(verdict);
  }
}

// 500 manifests with mistakes: refused here if and only if the server refuses them, and lint has an error for each that
// is refused. Admission (403) is no part of the rules: it depends on other objects.
TEST(ServerRules, RefuseWhatTheServerRefuses) {
  Judge judge;
  SeededRandom random(43);
  size_t refused = 0, accepted = 0;
  for (int i = 0; i < 500; ++i) {
    json object = right_manifests()[random.below(right_manifests().size())];
    for (uint64_t mistakes = 1 + random.below(2); mistakes > 0; --mistakes) spoil(object, random);
    const Answered answer = judge.create(object);
    ASSERT_NE(answer.status, 500) << object.dump() << "\n" << answer.body;
    if (answer.status == 403 || answer.status == 404) continue;
    const bool wrong = answer.status >= 400;
    const ServerVerdict verdict = refused_by_server(object, {});
    EXPECT_EQ(!verdict.refusals.empty(), wrong)
        << object.dump() << "\nserver: " << answer.body << "\nhere: " << texts_of(verdict);
    (wrong ? refused : accepted) += 1;
    if (!wrong) continue;
    const auto findings = lint(object.dump(), nullptr, {}, "default");
    ASSERT_TRUE(findings) << findings.error().message();
    EXPECT_TRUE(has_error(*findings)) << object.dump() << "\nserver: " << answer.body;
  }
  RecordProperty("refused", static_cast<int>(refused));
  RecordProperty("accepted", static_cast<int>(accepted));
  EXPECT_GT(refused, 200u);
  EXPECT_GT(accepted, 50u);
}

}  // namespace
}  // namespace dra::inspect::server_rules_test
