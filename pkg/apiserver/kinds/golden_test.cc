// Golden creates of all kinds, fed straight into the kinds: the causes have to be the real server's.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "pkg/apiserver/kind.h"
#include "pkg/apiserver/validation/json_read.h"

namespace dra::apiserver::golden_test {

std::string conformance_dir() {
  const char* dir = std::getenv("DRA_CONFORMANCE_DIR");
  return dir != nullptr ? dir : "../shared/conformance";
}

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

// The kind a POST to this collection makes, or null.
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

constexpr const char* kUid = "5a0d1c2e-0000-4000-8000-000000000001";  // of every object; golden texts say <uid:N>

// Causes outside metadata, whose rules the machinery checks by itself.
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
    out.push_back(field.ends_with("cel.expression") ? field : field + ": " + text_of(c, "message"));
  }
  return out;
}

// Whether selectors are compiled yet (selector_check.cc).
constexpr bool kSelectorsCompile = false;

std::vector<std::string> without_selectors(std::vector<std::string> causes) {
  if (!kSelectorsCompile) std::erase_if(causes, [](const std::string& c) { return c.ends_with("cel.expression"); });
  return causes;
}

std::vector<std::string> causes_of(const FieldErrors& errors) {
  std::vector<std::string> out;
  for (const auto& e : errors) {
    if (e.field.starts_with("metadata.")) continue;
    out.push_back(e.field.ends_with("cel.expression") ? e.field : e.field + ": " + e.message);
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
  std::ifstream file(conformance_dir() + "/apiserver_golden.json");
  if (!file) GTEST_SKIP() << "no golden data in " << conformance_dir();
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
      // What the machinery has filled in by now.
      if (kind->info().namespaced) object["metadata"]["namespace"] = "{ns}";
      object["metadata"]["uid"] = kUid;
      kind->convert(object, gv, kind->info().hub);
      kind->set_defaults(object);
      kind->prepare_for_create(ctx, object);
      if (!kind->admit_create(ctx, object)) continue;  // only successes and 422 are judged here
      const auto got = causes_of(kind->validate_create(ctx, object));
      std::vector<std::string> want;
      if (code == 422) want = causes_of(step.at("expect").at("body"));
      EXPECT_EQ(without_selectors(got), without_selectors(want)) << sequence.at("id") << " / " << step.at("name");
      ++judged;
    }
  }
  EXPECT_GT(judged, 100);
}

}  // namespace dra::apiserver::golden_test
