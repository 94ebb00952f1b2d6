// Writes of claims whose spec survives no patch, against a stand-in for kube-apiserver 1.36.2: it refuses every merge
// patch of their metadata with the Status that the real one sends, and has one claim in protobuf.
#include "client/writer/metadata_put.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "client/rest/status.h"
#include "client/transport/in_process.h"
#include "pkg/api/decode/decode_protobuf.h"
#include "pkg/base/protobuf_wire.h"
#include "pkg/reactor/sim_reactor.h"

namespace dra::client::metadata_put_test {

using nlohmann::json;

const Resource kClaims{"resource.k8s.io", "v1", "resourceclaims", "ResourceClaim", true};
constexpr const char* kParameters = R"({"a":  1, "b": [1, 2]})";

std::string field(int number, std::string_view bytes) {
  std::string out;
  append_bytes_field(out, number, bytes);
  return out;
}

struct Server : RequestHandler {
  std::string name = "c", uid = "u";
  int revision = 7;
  std::map<std::string, std::string> annotations{{"example.com/theirs", "kept"}};
  std::vector<std::string> finalizers{"example.com/theirs"};
  bool has_protobuf = true, is_there = true;
  std::string reason_of_put;  // a refusal of the PUT, with its status
  int status_of_put = 0;
  std::string status_of_patch = "spec";  // the field that the refusal of a patch names; "": none, only the status
  std::function<void()> on_get;          // between GET and PUT
  std::vector<std::string> seen;         // the requests

  std::string object() const {
    std::string metadata = field(1, name) + field(3, "ns") + field(5, uid) + field(6, std::to_string(revision));
    for (const auto& [key, value] : annotations) metadata += field(12, field(1, key) + field(2, value));
    for (const std::string& finalizer : finalizers) metadata += field(14, finalizer);
    return std::string(api::kProtobufMagic) + field(1, field(1, "resource.k8s.io/v1") + field(2, "ResourceClaim")) +
           field(2, field(1, metadata) + field(2, field(1, field(3, kParameters))));
  }
  json in_json() const {
    json metadata{{"name", name}, {"namespace", "ns"}, {"uid", uid}, {"resourceVersion", std::to_string(revision)}};
    metadata["annotations"] = annotations;
    metadata["finalizers"] = finalizers;
    return {{"apiVersion", "resource.k8s.io/v1"},
            {"kind", "ResourceClaim"},
            {"metadata", metadata},
            {"spec", json::object()}};
  }
  static Response refusal(int code, const std::string& reason, const std::string& message, const std::string& at = "") {
    json status{{"kind", "Status"}, {"apiVersion", "v1"}, {"status", "Failure"},
                {"code", code},     {"reason", reason},   {"message", message}};
    if (!at.empty())
      status["details"]["causes"] = {{{"reason", "FieldValueInvalid"}, {"field", at}, {"message", message}}};
    return {code, status.dump(), "application/json", 0, {}};
  }

  Response answer(const Request& request) {
    seen.push_back(request.method + " " + request.accept.substr(request.accept.find('/') + 1));
    if (!is_there) return refusal(404, "NotFound", "resourceclaims \"c\" not found");
    if (request.method == "PATCH" && status_of_patch.empty())
      return refusal(422, "Invalid", "the server rejected our request due to an error in our request");
    if (request.method == "PATCH")
      return refusal(422, "Invalid", "ResourceClaim \"c\" is invalid: spec: Invalid value: {...}: field is immutable",
                     "spec");
    if (request.method == "GET") {
      if (!has_protobuf)
        return refusal(406, "NotAcceptable", "only the following media types are accepted: application/json");
      Response found{200, object(), "application/vnd.kubernetes.protobuf", 0, {}};
      if (on_get) on_get();
      return found;
    }
    EXPECT_EQ(request.method, "PUT");
    EXPECT_EQ(request.content_type, "application/vnd.kubernetes.protobuf");
    EXPECT_NE(request.target.find("fieldManager=ours"), std::string::npos);
    if (status_of_put != 0) return refusal(status_of_put, reason_of_put, reason_of_put);
    const auto put = api::protobuf_metadata(request.body);
    if (!put) return refusal(400, "BadRequest", put.error().message());
    if (put->resource_version != std::to_string(revision))
      return refusal(409, "Conflict", "the object has been modified");
    EXPECT_NE(request.body.find(kParameters), std::string::npos) << "byte for byte";
    annotations = {put->annotations.begin(), put->annotations.end()};
    finalizers = put->finalizers;
    ++revision;
    return {200, in_json().dump(), "application/json", 0, {}};
  }
  void handle(const Request& request, const std::string&, std::shared_ptr<ServerExchange> exchange) override {
    exchange->respond(answer(request));
  }
};

struct World {
  ManualClock clock;
  SimReactor reactor{clock};
  Server server;
  InProcessTransport network{reactor, server};
  RestClient client{network};
  Writer writer{reactor, client};

  static WriteRequest write(const std::string& body) {
    WriteRequest write;
    write.object = {kClaims, "ns", "c", ""};
    write.field_manager = "ours";
    write.body = body;
    return write;
  }
  static WriteRequest mark(const std::string& uid = "u", const std::string& version = "7") {
    return write(json{{"metadata",
                       {{"uid", uid},
                        {"resourceVersion", version},
                        {"annotations", {{"ours/mark", "m"}, {"ours/old", nullptr}}},
                        {"finalizers", {"example.com/theirs", "ours/protection"}}}}}
                     .dump());
  }
  Result<Written> run(WriteRequest write) {
    std::optional<Result<Written>> got;
    writer.perform(std::move(write), [&](Result<Written> answer) { got = std::move(answer); });
    EXPECT_TRUE(reactor.run_until([&] { return got.has_value(); }, std::chrono::minutes(5)));
    return got.value_or(fail(Code::kInternal, "no answer"));
  }
  std::string outcome(WriteRequest write) {
    const Result<Written> answer = run(std::move(write));
    return answer ? "ok" : std::string(code_name(answer.error().code()));
  }
  std::vector<std::string> requests() { return std::exchange(server.seen, {}); }
};

const std::vector<std::string> kFirst{"PATCH json", "GET vnd.kubernetes.protobuf", "PUT json"};
const std::vector<std::string> kLater{"GET vnd.kubernetes.protobuf", "PUT json"};

TEST(MetadataPut, AClaimThatTakesNoPatchIsWrittenInProtobuf) {
  World w;
  const Result<Written> answer = w.run(World::mark());
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->revision, 8u);
  EXPECT_EQ(w.requests(), kFirst);
  EXPECT_EQ(w.server.annotations,
            (std::map<std::string, std::string>{{"example.com/theirs", "kept"}, {"ours/mark", "m"}}));
  EXPECT_EQ(w.server.finalizers, (std::vector<std::string>{"example.com/theirs", "ours/protection"}));
  // Its next write costs no refused patch.
  EXPECT_EQ(
      w.outcome(World::write(
          R"({"metadata":{"uid":"u","resourceVersion":"8","annotations":{"ours/mark":null},"finalizers":null}})")),
      "ok");
  EXPECT_EQ(w.requests(), kLater);
  EXPECT_EQ(w.server.annotations.size(), 1u);
  EXPECT_TRUE(w.server.finalizers.empty());
}

TEST(MetadataPut, PreconditionsHoldAsThoseOfThePatch) {
  World w;
  EXPECT_EQ(w.outcome(World::mark("u", "6")), "Conflict");
  EXPECT_EQ(w.requests(), (std::vector<std::string>{"PATCH json", "GET vnd.kubernetes.protobuf"}));
  EXPECT_EQ(w.outcome(World::mark("another")), "NotFound");
  w.server.name = "d";
  const Result<Written> wrong = w.run(World::mark());
  ASSERT_FALSE(wrong);
  EXPECT_TRUE(outcome_unknown(wrong.error()));
  EXPECT_NE(wrong.error().message().find("is about \"ns/d\""), std::string::npos) << wrong.error().message();
  w.server.name = "c";
  // Another writer between GET and PUT.
  w.server.on_get = [&] { ++w.server.revision; };
  EXPECT_EQ(w.outcome(World::mark()), "Conflict");
  w.server.is_there = false;
  EXPECT_EQ(w.outcome(World::mark()), "NotFound");
  EXPECT_EQ(w.server.finalizers.size(), 1u) << "nothing was written";
}

TEST(MetadataPut, WhatPreventsItIsNamed) {
  World w;
  const auto said = [&](const char* code, const char* words) {
    const Result<Written> answer = w.run(World::mark());
    ASSERT_FALSE(answer);
    EXPECT_EQ(code_name(answer.error().code()), code);
    EXPECT_NE(answer.error().message().find("takes no patch of this object's metadata"), std::string::npos);
    EXPECT_NE(answer.error().message().find(words), std::string::npos) << answer.error().message();
    EXPECT_FALSE(outcome_unknown(answer.error()));
  };
  w.server.has_protobuf = false;
  said("InvalidArgument", "only the following media types are accepted");
  w.server.has_protobuf = true;
  w.server.status_of_put = 403;
  w.server.reason_of_put = "Forbidden: may not update";
  said("PermissionDenied", "may not update");
  w.server.status_of_put = 415;
  w.server.reason_of_put = "UnsupportedMediaType";
  said("InvalidArgument", "UnsupportedMediaType");
}

// The lease is lost while the GET is under way: the PUT would be a write of a term that is over.
TEST(MetadataPut, NoPutIsSentAfterTheTermEnded) {
  World w;
  w.server.on_get = [&] { w.writer.end_term(); };
  EXPECT_EQ(w.outcome(World::mark()), "Cancelled");
  EXPECT_EQ(w.requests(), (std::vector<std::string>{"PATCH json", "GET vnd.kubernetes.protobuf"}));
  EXPECT_EQ(w.server.revision, 7);
  EXPECT_EQ(w.outcome(World::mark()), "Cancelled") << "a claim that is known to take no patch";
  EXPECT_EQ(w.requests(), std::vector<std::string>{"GET vnd.kubernetes.protobuf"});
  w.server.on_get = nullptr;
  EXPECT_EQ(w.outcome(World::mark()), "ok") << "a write of the next term";
}

WriteRequest operations(const json& list) {
  WriteRequest write = World::write(list.dump());
  write.verb = WriteVerb::kJsonPatch;
  return write;
}

json at_version(const std::string& version, const std::vector<json>& more) {
  json list{{{"op", "add"}, {"path", "/metadata/uid"}, {"value", "u"}},
            {{"op", "add"}, {"path", "/metadata/resourceVersion"}, {"value", version}}};
  for (const json& operation : more) list.push_back(operation);
  return list;
}

// As write_metadata() does when the claim's finalizers are too large to be kept. A JSON patch is refused for its blanks
// like a merge patch, and, without a named reason, if there are no annotations that the new one could be added to.
TEST(MetadataPut, AJsonPatchOfAFinalizerIsWrittenInProtobufToo) {
  const json mark{{"op", "add"}, {"path", "/metadata/annotations/ours~1a~0b"}, {"value", "m"}};
  for (const char* field : {"spec", ""}) {
    World w;
    w.server.status_of_patch = field;
    w.server.finalizers = {"a/first", "ours/protection", "b/last"};
    w.server.annotations.clear();
    EXPECT_EQ(w.outcome(operations(
                  at_version("7", {{{"op", "add"}, {"path", "/metadata/finalizers/-"}, {"value", "c/new"}}, mark}))),
              "ok");
    EXPECT_EQ(w.requests(), kFirst);
    EXPECT_EQ(w.server.finalizers, (std::vector<std::string>{"a/first", "ours/protection", "b/last", "c/new"}));
    EXPECT_EQ(w.server.annotations, (std::map<std::string, std::string>{{"ours/a~b", "m"}}));
    const json unmark{{"op", "remove"}, {"path", "/metadata/annotations/ours~1a~0b"}};
    const json second{{"op", "remove"}, {"path", "/metadata/finalizers/1"}};
    EXPECT_EQ(w.outcome(operations(at_version("7", {second}))), "Conflict") << "the index is of another version";
    EXPECT_EQ(w.outcome(operations(at_version("8", {second, unmark}))), "ok");
    EXPECT_EQ(w.server.finalizers, (std::vector<std::string>{"a/first", "b/last", "c/new"}));
    EXPECT_TRUE(w.server.annotations.empty());
    EXPECT_EQ(w.outcome(operations(at_version("9", {{{"op", "remove"}, {"path", "/metadata/finalizers/3"}}}))),
              "InvalidArgument");
  }
}

TEST(MetadataPut, OtherJsonPatchesAreRefusedAsBefore) {
  const json first{{"op", "remove"}, {"path", "/metadata/finalizers/0"}};
  const auto refused = [&](const json& list) {
    World w;
    EXPECT_EQ(w.outcome(operations(list)), "InvalidArgument") << list;
    EXPECT_EQ(w.requests(), std::vector<std::string>{"PATCH json"}) << list;
  };
  refused(json{first});
  refused(json::object());
  refused(at_version("", {first}));
  refused(at_version("7", {first, first}));
  refused(at_version("7", {{{"op", "remove"}, {"path", "/metadata/labels/a"}}}));
  refused(at_version("7", {{{"op", "remove"}, {"path", "/metadata/finalizers/1x"}}}));
  refused(at_version("7", {{{"op", "remove"}, {"path", "/metadata/finalizers/"}}}));
  refused(at_version("7", {{{"op", "add"}, {"path", "/metadata/finalizers/0"}, {"value", "f"}}}));
  refused(at_version("7", {{{"op", "add"}, {"path", "/metadata/annotations/a"}, {"value", 1}}}));
  refused(at_version("7", {{{"op", "add"}, {"path", "/metadata/annotations/a/b"}, {"value", "x"}}}));
  refused(at_version("7", {{{"op", "add"}, {"path", "/metadata/annotations/a~2"}, {"value", "x"}}}));
  refused(at_version("7", {{{"op", "remove"}, {"path", "/metadata/uid"}}}));
  refused(at_version("7", {{{"op", "copy"}, {"from", "/a"}, {"path", "/metadata/annotations/a"}}}));
}

// Only patches of annotations and finalizers alone have another way.
TEST(MetadataPut, OtherWritesAreRefusedAsBefore) {
  World w;
  for (const char* body :
       {R"({"metadata":{"uid":"u","labels":{"a":"b"}}})", R"({"metadata":{"annotations":{"a":"b"}}})",
        R"({"metadata":{"uid":"u"},"spec":{}})", R"({"metadata":{"uid":"u","annotations":{"a":1}}})",
        R"({"metadata":{"uid":"u","finalizers":"f"}})", R"({"metadata":{"uid":7}})", "[]"}) {
    EXPECT_EQ(w.outcome(World::write(body)), "InvalidArgument") << body;
    EXPECT_EQ(w.requests(), std::vector<std::string>{"PATCH json"}) << body;
  }
  WriteRequest status = World::mark();
  status.object.subresource = "status";
  EXPECT_EQ(w.outcome(status), "InvalidArgument");
  WriteRequest apply = World::mark();
  apply.verb = WriteVerb::kApply;
  EXPECT_EQ(w.outcome(apply), "InvalidArgument");
  EXPECT_EQ(w.requests(), (std::vector<std::string>{"PATCH json", "PATCH json"}));
  const auto refuses = [](const Response& response) {
    return refuses_reencoded(error_from_response(response, "x"), WriteVerb::kMergePatch);
  };
  EXPECT_TRUE(refuses(Server::refusal(422, "Invalid", "field is immutable", "spec")));
  EXPECT_TRUE(refuses(Server::refusal(422, "Invalid", "field is immutable", "status.allocation")));
  EXPECT_FALSE(refuses(Server::refusal(422, "Invalid", "field is immutable", "spec.nodeName")));
  EXPECT_FALSE(refuses(Server::refusal(422, "Invalid", "pod updates may not change fields", "spec")));
  EXPECT_FALSE(refuses(Server::refusal(409, "Conflict", "field is immutable", "spec")));
}

// kube-scheduler copies the parameters into the allocation byte for byte; then reservations take no patch either.
TEST(MetadataPut, ReservationsOfSuchAClaimAreWrittenInProtobuf) {
  World w;
  const std::string allocation = field(1, field(1, field(2, kParameters)));
  const auto claim = [&](const std::string& consumers) {
    return std::string(api::kProtobufMagic) + field(1, field(1, "resource.k8s.io/v1") + field(2, "ResourceClaim")) +
           field(2, field(1, field(1, "c") + field(3, "ns") + field(5, "u") + field(6, "7")) + field(2, kParameters) +
                        field(3, allocation + consumers + field(4, "of the driver")));
  };
  const auto consumer = [](const std::string& name) {
    return field(2, field(1, "") + field(3, "pods") + field(4, name) + field(5, "u-" + name));
  };
  WriteRequest write = World::write(
      R"({"metadata":{"uid":"u","resourceVersion":"7"},"status":{"reservedFor":[{"resource":"pods","name":"b","uid":"u-b"}]}})");
  write.object.subresource = "status";
  const auto put = metadata_put_of(write);
  ASSERT_TRUE(put);
  const auto body = put_body(*put, write.object, claim(consumer("a") + consumer("gone")));
  ASSERT_TRUE(body) << body.error().message();
  EXPECT_EQ(api::protobuf_metadata(*body)->uid, "u");
  EXPECT_NE(body->find(allocation + field(4, "of the driver") + consumer("b")), std::string::npos);
  EXPECT_EQ(body->find("gone"), std::string::npos);
  const auto conflict = put_body({"u", "6", {}, put->consumers}, write.object, claim(""));
  ASSERT_FALSE(conflict);
  EXPECT_EQ(conflict.error().code(), Code::kConflict);
  for (const char* other : {R"({"metadata":{"uid":"u"},"status":{"reservedFor":[],"allocation":{}}})",
                            R"({"metadata":{"uid":"u"},"status":{"reservedFor":[{"resource":"pods","more":"x"}]}})",
                            R"({"metadata":{"uid":"u","finalizers":null},"status":{"reservedFor":null}})"}) {
    write.body = other;
    EXPECT_FALSE(metadata_put_of(write)) << other;
  }
}

}  // namespace dra::client::metadata_put_test
