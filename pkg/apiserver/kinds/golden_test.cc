// Golden creates of all kinds, passed directly to the kinds: the causes must equal the real server's.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "pkg/apiserver/kinds/folders.h"
#include "pkg/apiserver/model/kind.h"
#include "pkg/apiserver/validation/json_read.h"
#include "test/support/conformance_data.h"

namespace dra::apiserver::golden_test {

std::vector<std::string> split_path(const std::string& path) {
  std::vector<std::string> out;
  std::string part;
  for (char c : path + "/") {
    if (c != '/') {
      part += c;
    } else if (!part.empty()) {
      out.push_back(part);
      part.clear();
    }
  }
  return out;
}

// The kind that a POST to this collection creates, or null.
const Kind* kind_of(const KindRegistry& registry, const std::string& path, GroupVersion& gv) {
  const auto parts = split_path(path);
  if (parts.size() < 3) return nullptr;
  size_t at = 2;
  gv = {"", parts[1]};
  if (parts[0] == "apis") {
    gv = {parts[1], parts[2]};
    at = 3;
  }
  if (at + 2 < parts.size() && parts[at] == "namespaces") at += 2;
  return at + 1 == parts.size() ? registry.find(gv, parts[at]) : nullptr;
}

constexpr const char* kUid = "5a0d1c2e-0000-4000-8000-000000000001";  // of every object; golden texts contain <uid:N>

// In messages of upstream's generated parser, positions and expected tokens are specific to that parser.
std::string comparable(const std::string& message) {
  return message.find("Syntax error") == std::string::npos ? message : message.substr(0, message.find("<input>"));
}

// Causes outside metadata; the machinery checks metadata itself.
std::vector<std::string> causes_of(const Json& status_with_placeholders) {
  std::string text = status_with_placeholders.dump();
  for (size_t at = text.find("<uid:"); at != std::string::npos; at = text.find("<uid:", at)) {
    text.replace(at, text.find('>', at) + 1 - at, kUid);
  }
  const Json status = Json::parse(text);
  std::vector<std::string> out;
  for (const auto& c : list_of(member(status, "details"), "causes")) {
    if (text_of(c, "field").starts_with("metadata.")) continue;
    const std::string& field = text_of(c, "field");
    out.push_back(field + ": " + comparable(text_of(c, "message")));
  }
  return out;
}

std::vector<std::string> causes_of(const FieldErrors& errors) {
  std::vector<std::string> out;
  for (const auto& e : errors) {
    if (e.field.starts_with("metadata.")) continue;
    out.push_back(e.field + ": " + comparable(e.message));
  }
  return out;
}

class OneNamespace : public ObjectReader {
 public:
  explicit OneNamespace(Json labels)
      : namespace_(std::make_shared<const Json>(Json{{"metadata", {{"labels", labels}}}})) {}
  std::shared_ptr<const Json> find(std::string_view, std::string_view plural, std::string_view,
                                   std::string_view) const override {
    return plural == "namespaces" ? namespace_ : nullptr;
  }
  void for_each(std::string_view, std::string_view, std::string_view,
                const std::function<void(const Json&)>&) const override {}

 private:
  std::shared_ptr<const Json> namespace_;
};

TEST(Golden, CreatesAreJudgedAsTheRealServerDoes) {
  const test::ConformanceData data = test::conformance_data();
  std::ifstream file(data.file("apiserver_golden.json"));
  ASSERT_TRUE(file) << data.folder;
  const Json golden = Json::parse(file);
  KindRegistry registry;
  register_all_kinds(registry);
  ManualClock clock;
  int judged = 0;
  for (const auto& sequence : golden.at("sequences")) {
    if (sequence.contains("requires")) continue;
    OneNamespace reader(sequence.value("namespace_labels", Json::object()));
    for (const auto& step : sequence.at("steps")) {
      const int code = step.at("expect").value("status", 0);
      if (step.at("method") != "POST" || !step.contains("body") || (code != 201 && code != 422)) continue;
      if (step.contains("query") && !step.at("query").get<std::string>().starts_with("fieldManager")) continue;
      GroupVersion gv;
      const Kind* kind = kind_of(registry, step.at("path"), gv);
      if (kind == nullptr) continue;
      Json object = step.at("body");
      const std::string& body_kind = text_of(object, "kind");
      if (!body_kind.empty() && body_kind != kind->info().kind) continue;
      WriteContext ctx;
      ctx.clock = &clock;
      ctx.reader = &reader;
      ctx.request_version = gv;
      // What the machinery has filled in at this point.
      if (kind->info().namespaced) object["metadata"]["namespace"] = "{ns}";
      object["metadata"]["uid"] = kUid;
      kind->convert(object, gv, kind->info().hub);
      kind->set_defaults(object);
      kind->prepare_for_create(ctx, object);
      if (!kind->admit_create(ctx, object)) continue;  // this test checks only successes and 422
      FieldErrors found = kind->validate_before_metadata(ctx, object);
      for (const FieldError& error : kind->validate_create(ctx, object)) found.push_back(error);
      const auto got = causes_of(found);
      std::vector<std::string> want;
      if (code == 422) want = causes_of(step.at("expect").at("body"));
      EXPECT_EQ(got, want) << sequence.at("id") << " / " << step.at("name");
      ++judged;
    }
  }
  EXPECT_TRUE(data.at_least(255, 37, judged, "requests"));
}

// An object's path, without a subresource, and that subresource.
struct Target {
  const Kind* kind = nullptr;
  GroupVersion gv;
  std::string object;
  std::string subresource;
};

Target target_of(const KindRegistry& registry, std::string path) {
  Target out;
  if (path.ends_with("/status")) {
    out.subresource = "status";
    path.resize(path.size() - 7);
  }
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return out;
  out.kind = kind_of(registry, path.substr(0, slash), out.gv);
  out.object = path;
  return out;
}

// The new object of a PUT or merge patch; null for other kinds of patch.
Json updated(const Json& step, const Target& target, const Json& old) {
  const Json& headers = member(step, "headers");
  if (step.at("method") == "PUT") {
    Json object = step.at("body");
    target.kind->convert(object, target.gv, target.kind->info().hub);
    for (const auto& [key, value] : old.at("metadata").items()) set_default(object["metadata"], key, value);
    return object;
  }
  if (text_of(headers, "Content-Type") != "application/merge-patch+json") return nullptr;
  Json object = old;
  target.kind->convert(object, target.kind->info().hub, target.gv);
  object.merge_patch(step.at("body"));
  target.kind->convert(object, target.gv, target.kind->info().hub);
  return object;
}

FieldErrors judge_update(const Target& target, const WriteContext& ctx, Json& object, const Json& old) {
  const Kind& kind = *target.kind;
  if (target.subresource.empty()) {
    if (kind.info().has_status) object["status"] = old.value("status", Json::object());
    kind.set_defaults(object);
    kind.prepare_for_update(ctx, object, old);
    if (!kind.admit_update(ctx, object, old)) return {};
    return kind.validate_update(ctx, object, old);
  }
  const Json status = object.value("status", Json::object());
  const Json meta = object.at("metadata");
  object = old;
  object["metadata"] = meta;
  object["status"] = status;
  kind.prepare_for_status_update(ctx, object, old);
  return kind.validate_status_update(ctx, object, old);
}

// Long dumps of Go structs and diffs are not compared.
std::vector<std::string> shortened(std::vector<std::string> causes) {
  for (auto& c : causes) {
    if (c.find("pod updates may not change fields") != std::string::npos) c = c.substr(0, c.find('\n'));
  }
  return causes;
}

TEST(Golden, UpdatesAreJudgedAsTheRealServerDoes) {
  const test::ConformanceData data = test::conformance_data();
  std::ifstream file(data.file("apiserver_golden.json"));
  ASSERT_TRUE(file) << data.folder;
  const Json golden = Json::parse(file);
  KindRegistry registry;
  register_all_kinds(registry);
  ManualClock clock;
  int judged = 0;
  for (const auto& sequence : golden.at("sequences")) {
    if (sequence.contains("requires")) continue;
    OneNamespace reader(sequence.value("namespace_labels", Json::object()));
    std::map<std::string, Json> objects;
    bool known = true;  // false after a write that this test cannot follow
    for (const auto& step : sequence.at("steps")) {
      const std::string method = step.at("method");
      const int code = step.at("expect").value("status", 0);
      WriteContext ctx;
      ctx.clock = &clock;
      ctx.reader = &reader;
      if (method == "POST" && code == 201 && step.contains("body")) {
        GroupVersion gv;
        const Kind* kind = kind_of(registry, step.at("path"), gv);
        if (kind == nullptr || !step.at("body").is_object()) continue;
        Json object = step.at("body");
        if (text_of(member(object, "metadata"), "name").empty()) continue;
        if (kind->info().namespaced) object["metadata"]["namespace"] = "{ns}";
        object["metadata"]["uid"] = kUid;
        kind->convert(object, gv, kind->info().hub);
        kind->set_defaults(object);
        kind->prepare_for_create(ctx, object);
        if (!kind->admit_create(ctx, object)) continue;
        const std::string name = object["metadata"]["name"];
        objects[step.at("path").get<std::string>() + "/" + name] = object;
        continue;
      }
      const Target target = target_of(registry, step.at("path"));
      auto it = objects.find(target.object);
      if (target.kind == nullptr || it == objects.end()) continue;
      if (method == "DELETE" && code == 200) it->second["metadata"]["deletionTimestamp"] = "2020-01-01T00:00:00Z";
      if ((method != "PUT" && method != "PATCH") || !known || step.contains("query")) continue;
      if (!step.contains("body") || (code != 200 && code != 422)) continue;
      ctx.request_version = target.gv;
      ctx.subresource = target.subresource;
      Json object = updated(step, target, it->second);
      if (object.is_null()) {
        known = code != 200;
        continue;
      }
      if (code == 422 && !member(member(step.at("expect").at("body"), "details"), "causes").is_array()) continue;
      const auto got = shortened(causes_of(judge_update(target, ctx, object, it->second)));
      std::vector<std::string> want;
      if (code == 422) want = shortened(causes_of(step.at("expect").at("body")));
      EXPECT_EQ(got, want) << sequence.at("id") << " / " << step.at("name");
      ++judged;
      if (code == 200) it->second = std::move(object);
    }
  }
  EXPECT_TRUE(data.at_least(150, 26, judged, "requests"));
}

}  // namespace dra::apiserver::golden_test
