#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "client/informer/wire.h"
#include "client/rest/resource_path.h"
#include "client/rest/rest_client.h"
#include "client/rest/status.h"
#include "client/transport/target.h"
#include "client/writer/writer.h"
#include "pkg/base/random.h"

namespace dra::client::rest_test {

using nlohmann::json;

const Resource kClaims{"resource.k8s.io", "v1", "resourceclaims", "ResourceClaim", true};
const Resource kPods{"", "v1", "pods", "Pod", true};

TEST(Paths, AreWhereTheServerHasThem) {
  EXPECT_EQ(collection_path(kPods, ""), "/api/v1/pods");
  EXPECT_EQ(collection_path(kClaims, "ns"), "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims");
  EXPECT_EQ(object_path(kClaims, "ns", "a", "status"),
            "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/a/status");
  EXPECT_EQ(object_path(kPods, "n/s", "a b?", ""), "/api/v1/namespaces/n%2Fs/pods/a%20b%3F");
  EXPECT_EQ(with_query("/x", {{"a", "1"}, {"b", ""}, {"c", "k in (v,w)"}}), "/x?a=1&c=k%20in%20%28v%2Cw%29");
}

TEST(Targets, HaveANamespaceOrNone) {
  EXPECT_EQ(target_namespace("/api/v1/namespaces/ns/pods/p/status?x=/namespaces/other/"), "ns");
  EXPECT_EQ(target_namespace("/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims"), "ns");
  EXPECT_EQ(target_namespace("/api/v1/namespaces/ns"), "ns");
  for (const char* target : {"/api/v1/pods", "/api/v1/namespaces", "/api/v1/nodes/n?a=/namespaces/x/", "/", ""})
    EXPECT_EQ(target_namespace(target), "") << target;
}

// Tenants choose object names. DELETE of a pod called ".." would delete its namespace, and DELETE of a pod without a
// name all pods there.
TEST(Targets, NamesThatLeadElsewhereAreNeverSent) {
  for (const char* name : {"", ".", "..", "a/b", "../x", "a\nb", "a\x7f", "a%2fb", "%2e%2e", "/", "a/../../.."}) {
    EXPECT_NE(target_problem(object_path(kPods, "ns", name)), "") << name;
    EXPECT_NE(target_problem(object_path(kPods, "ns", name, "status")), "") << name;
    const bool all_namespaces = *name == 0;
    EXPECT_EQ(target_problem(object_path(kPods, name, "p")).empty(), all_namespaces) << name;
  }
  EXPECT_NE(target_problem(object_path(kPods, "ns", std::string_view("a\0b", 3))), "");
  for (const char* target : {"", "x", "//", "/a//b", "/a/", "/a/.", "/a/../b", "/a/%2E%2e/b", "/a/%2", "/a/%zz", "/a b",
                             "/a\r\nX: y", "/a#b", "http://x/", "/a/%00", "/a/%2F", "/\xc3\xa4"}) {
    EXPECT_NE(target_problem(target), "") << target;
  }
  for (const char* target : {"/", "/version", "/api/v1/namespaces/ns/pods/a.b-c?x=../%2F%0A", "/apis/g.x/v1/things/...",
                             "/a/%C3%A4", "/api/v1/pods?fieldSelector=spec.nodeName%3D"}) {
    EXPECT_EQ(target_problem(target), "") << target;
  }
}

TEST(DeleteBody, CarriesItsPreconditions) {
  EXPECT_EQ(json::parse(delete_body({"u", "5", 0, "Background"}))["preconditions"],
            (json{{"uid", "u"}, {"resourceVersion", "5"}}));
}

Error refused(int code, const std::string& reason, const std::string& message, const std::string& field = "") {
  json status = {{"kind", "Status"}, {"reason", reason}, {"message", message}, {"code", code}};
  if (!field.empty()) status["details"]["causes"] = json::array({{{"field", field}}});
  Response response;
  response.status = code;
  response.body = status.dump();
  return error_from_response(response, "PATCH x");
}

TEST(Status, BecomesTypedErrors) {
  EXPECT_EQ(refused(409, "AlreadyExists", "m").code(), Code::kAlreadyExists);
  EXPECT_EQ(refused(409, "Conflict", "m").code(), Code::kConflict);
  EXPECT_EQ(refused(410, "Expired", "m").code(), Code::kGone);
  EXPECT_EQ(refused(429, "TooManyRequests", "m").code(), Code::kTooManyRequests);
  EXPECT_EQ(refused(403, "Forbidden", "no").message(), "PATCH x: no");
  EXPECT_TRUE(names_field(refused(422, "Invalid", "m", "metadata.uid"), "metadata.uid"));
  EXPECT_FALSE(names_field(refused(422, "Invalid", "m", "spec"), "metadata.uid"));
  EXPECT_TRUE(is_too_large_resource_version(refused(504, "Timeout", "Too large resource version: 9, current: 1")));
  Response html;
  html.status = 502;
  html.body = "<html>\n bad\tgateway";
  Error error = error_from_response(html, "GET y");
  EXPECT_EQ(error.code(), Code::kUnavailable);
  EXPECT_EQ(error.message(), "GET y: HTTP status 502: <html>  bad gateway");
}

TEST(Status, AnyBytesAreSomeError) {
  SeededRandom random(9);
  std::string base =
      R"({"kind":"Status","reason":"Invalid","code":422,"details":{"causes":[{"field":"a"}],"retryAfterSeconds":3}})";
  for (int i = 0; i < 5000; ++i) {
    Response response;
    response.status = static_cast<int>(400 + random.below(200));
    response.body = base;
    for (int n = 0; n < 4; ++n) response.body[random.below(response.body.size())] = static_cast<char>(random.next());
    Error error = error_from_response(response, "GET x");
    names_field(error, "a");
    std::string line = R"({"type":"ADDED","object":)" + response.body + "}";
    auto event = parse_watch_line(line);
    if (!event) {
      EXPECT_EQ(event.error().code(), Code::kInvalidArgument);
    }
  }
  Response deep;
  deep.status = 500;
  deep.body = std::string(1'000'000, '[');
  EXPECT_EQ(error_from_response(deep, "x").code(), Code::kUnavailable);
}

TEST(WatchLines, OpaqueValuesMayBeDeepOrNoText) {
  const std::string deep = R"({"x":)" + std::string(9'990, '[') + std::string(9'990, ']') + "}";
  auto added = parse_watch_line(R"({"type":"ADDED","object":)" + deep + "}");
  ASSERT_TRUE(added.has_value()) << added.error().message();
  EXPECT_EQ(added->object, deep);
  auto odd = parse_watch_line("{\"type\":\"ADDED\",\"object\":{\"x\":\"\xff\",\"y\":1e999,\"z\":\"\\ud800\"}}");
  ASSERT_TRUE(odd.has_value()) << odd.error().message();
  EXPECT_EQ(odd->object, "{\"x\":\"\xEF\xBF\xBD\",\"y\":1e999,\"z\":\"\\ud800\"}");
}

TEST(WatchLines, AllTypes) {
  auto added = parse_watch_line(R"({"type":"ADDED","object":{"a":[1,"}"]}})");
  ASSERT_TRUE(added.has_value());
  EXPECT_EQ(json::parse(added->object), json::parse(R"({"a":[1,"}"]})"));
  auto swapped = parse_watch_line(R"({"object":{"a":1},"type":"DELETED"})");
  ASSERT_TRUE(swapped.has_value());
  EXPECT_EQ(swapped->type, WatchEvent::Type::kDeleted);
  EXPECT_EQ(swapped->object, R"({"a":1})");
  auto end = parse_watch_line(
      R"({"type":"BOOKMARK","object":{"spec":{},"metadata":{"annotations":{"k8s.io/initial-events-end":"true"},"resourceVersion":"12"}}})");
  ASSERT_TRUE(end.has_value()) << end.error().message();
  EXPECT_EQ(end->revision, 12u);
  EXPECT_TRUE(end->initial_events_end);
  auto plain = parse_watch_line(R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"13"}}})");
  EXPECT_FALSE(plain->initial_events_end);
  for (const char* bad : {"", "{", "[]", "{}", R"({"type":"ODD","object":{}})", R"({"type":"ADDED"})",
                          R"({"type":"BOOKMARK","object":{}})", R"({"type":"ADDED","object":7})"}) {
    EXPECT_FALSE(parse_watch_line(bad).has_value()) << bad;
  }
}

TEST(WriteErrors, HaveTheCodeToReactTo) {
  auto code = [](const Error& e, WriteVerb verb = WriteVerb::kMergePatch) { return write_error(e, verb).code(); };
  EXPECT_EQ(code(refused(409, "Conflict", "m")), Code::kConflict);
  EXPECT_EQ(code(refused(409, "AlreadyExists", "m")), Code::kAlreadyExists);
  EXPECT_EQ(code(refused(404, "NotFound", "m")), Code::kNotFound);
  EXPECT_EQ(code(refused(422, "Invalid", "m", "metadata.uid")), Code::kNotFound);
  EXPECT_EQ(code(refused(422, "Invalid", "field is immutable", "status.allocation")), Code::kConflict);
  EXPECT_EQ(code(refused(422, "Invalid", "bad", "status.allocation")), Code::kInvalidArgument);
  EXPECT_EQ(code(refused(422, "Invalid", "cannot update resourceclaims/binding", "status")), Code::kPermissionDenied);
  EXPECT_EQ(code(refused(403, "Forbidden", "User \"x\" cannot patch resource \"pods\"")), Code::kPermissionDenied);
  EXPECT_EQ(code(refused(403, "Forbidden", "exceeded quota: claims, requested: count/resourceclaims=1")),
            Code::kResourceExhausted);
  EXPECT_EQ(code(refused(403, "Forbidden", "admission webhook \"w\" denied the request: no")), Code::kInvalidArgument);
  EXPECT_EQ(code(refused(403, "Forbidden", "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no")),
            Code::kInvalidArgument);
  EXPECT_EQ(code(refused(403, "Forbidden",
                         "unable to create new content in namespace x because it is being "
                         "terminated")),
            Code::kNotFound);
  EXPECT_EQ(code(refused(429, "TooManyRequests", "m")), Code::kTooManyRequests);
  EXPECT_EQ(code(refused(415, "UnsupportedMediaType", "m")), Code::kInvalidArgument);
  EXPECT_EQ(code(refused(409, "Conflict", "Precondition failed: UID in precondition: a, UID in object meta: b"),
                 WriteVerb::kDelete),
            Code::kNotFound);
  for (const Error& unknown : {refused(500, "InternalError", "m"), refused(504, "Timeout", "m"),
                               Error(Code::kDeadlineExceeded, "m"), Error(Code::kUnavailable, "m")})
    EXPECT_TRUE(outcome_unknown(write_error(unknown, WriteVerb::kMergePatch))) << unknown.message();
  EXPECT_FALSE(outcome_unknown(Error(Code::kUnauthenticated, "m")));
  Error with_delay = refused(403, "Forbidden", "exceeded quota: q");
  with_delay.with_retry_after(7);
  EXPECT_EQ(write_error(with_delay, WriteVerb::kCreate).retry_after_seconds(), 7);
  EXPECT_EQ(write_error(with_delay, WriteVerb::kCreate).http_status(), 403);
}

}  // namespace dra::client::rest_test
