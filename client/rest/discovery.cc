#include "client/rest/discovery.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

namespace dra::client {
namespace {

using nlohmann::json;

constexpr size_t kMaxEntries = 10'000;

std::string member_text(const json& object, const char* key) {
  auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

bool member_true(const json& object, const char* key) {
  auto it = object.find(key);
  return it != object.end() && it->is_boolean() && it->get<bool>();
}

// Calls f for each object in the list `key`.
template <class F>
void each_object(const json& object, const char* key, F&& f) {
  auto it = object.find(key);
  if (it == object.end() || !it->is_array() || it->size() > kMaxEntries) return;
  for (const json& entry : *it) {
    if (entry.is_object()) f(entry);
  }
}

bool not_served(const Error& error) {
  return error.http_status() == 404;
}

Result<json> parse_answer(const std::string& body, const std::string& what) {
  json document = json::parse(body, nullptr, false);
  if (!document.is_object()) return fail(Code::kInternal, what + ": the answer is not a JSON object");
  return document;
}

}  // namespace

Handle discover_group(RestClient& client, const std::string& group,
                      std::function<void(Result<std::optional<ServedGroup>>)> done) {
  return client.get_raw("/apis/" + percent_encode(group), [group, done = std::move(done)](Result<std::string> answer) {
    if (!answer) {
      if (not_served(answer.error())) return done(std::optional<ServedGroup>());
      return done(fail(answer.error()));
    }
    auto document = parse_answer(*answer, "discovery of " + group);
    if (!document) return done(fail(document.error()));
    ServedGroup served;
    each_object(*document, "versions",
                [&](const json& entry) { served.versions.push_back(member_text(entry, "version")); });
    if (auto it = document->find("preferredVersion"); it != document->end() && it->is_object()) {
      served.preferred = member_text(*it, "version");
    }
    done(std::optional<ServedGroup>(std::move(served)));
  });
}

Handle discover_resources(RestClient& client, const std::string& group, const std::string& version,
                          std::function<void(Result<std::optional<std::vector<ServedResource>>>)> done) {
  using Answer = std::optional<std::vector<ServedResource>>;
  std::string target = group.empty() ? "/api/" + version : "/apis/" + percent_encode(group) + "/" + version;
  return client.get_raw(target, [target, done = std::move(done)](Result<std::string> answer) {
    if (!answer) {
      if (not_served(answer.error())) return done(Answer());
      return done(fail(answer.error()));
    }
    auto document = parse_answer(*answer, "discovery at " + target);
    if (!document) return done(fail(document.error()));
    std::vector<ServedResource> served;
    each_object(*document, "resources", [&](const json& entry) {
      ServedResource resource{
          member_text(entry, "name"), member_text(entry, "kind"), member_true(entry, "namespaced"), {}};
      if (auto verbs = entry.find("verbs"); verbs != entry.end() && verbs->is_array()) {
        for (const json& verb : *verbs) {
          if (verb.is_string()) resource.verbs.push_back(verb.get<std::string>());
        }
      }
      served.push_back(std::move(resource));
    });
    done(Answer(std::move(served)));
  });
}

namespace {

// The questions about a group, one after the other. The handle owns it, and no callback outlives its question.
class VersionSearch : public Handle::Impl {
 public:
  VersionSearch(RestClient& client, std::string group, std::string resource, std::function<void(std::string)> done)
      : client_(client), group_(std::move(group)), resource_(std::move(resource)), done_(std::move(done)) {}

  void begin() {
    question_ = discover_group(client_, group_, [this](Result<std::optional<ServedGroup>> answer) {
      if (answer && *answer) left_ = std::move((*answer)->versions);
      ask_next();
    });
  }

 private:
  void ask_next() {
    if (left_.empty()) return end("");
    const std::string version = left_.front();
    left_.erase(left_.begin());
    using Resources = std::optional<std::vector<ServedResource>>;
    question_ = discover_resources(client_, group_, version, [this, version](Result<Resources> answer) {
      const bool has = answer && *answer && std::any_of((*answer)->begin(), (*answer)->end(), [&](const auto& one) {
                         return one.name == resource_;
                       });
      has ? end(version) : ask_next();
    });
  }
  // `done` may destroy this.
  void end(const std::string& version) { std::exchange(done_, nullptr)(version); }

  RestClient& client_;
  const std::string group_, resource_;
  std::vector<std::string> left_;
  std::function<void(std::string)> done_;
  Handle question_;
};

}  // namespace

Handle discover_version_with(RestClient& client, const std::string& group, const std::string& resource,
                             std::function<void(std::string)> done) {
  auto search = std::make_unique<VersionSearch>(client, group, resource, std::move(done));
  search->begin();
  return Handle(std::move(search));
}

std::string newest_of(const ServedGroup& group, const std::vector<std::string>& newest_first) {
  for (const std::string& version : newest_first) {
    if (std::find(group.versions.begin(), group.versions.end(), version) != group.versions.end()) return version;
  }
  return "";
}

std::string to_string(const Permission& permission) {
  std::string text = permission.verb + " " + permission.resource;
  if (!permission.subresource.empty()) text += "/" + permission.subresource;
  if (!permission.name.empty()) text += " \"" + permission.name + "\"";
  text += permission.group.empty() ? " in the core group" : " in " + permission.group;
  return permission.ns.empty() ? text : text + ", namespace \"" + permission.ns + "\"";
}

Handle check_access(RestClient& client, const Permission& permission, std::function<void(Result<AccessAnswer>)> done) {
  static const Resource reviews{"authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview",
                                false};
  json attributes = {{"verb", permission.verb}, {"group", permission.group}, {"resource", permission.resource}};
  if (!permission.subresource.empty()) attributes["subresource"] = permission.subresource;
  if (!permission.ns.empty()) attributes["namespace"] = permission.ns;
  if (!permission.name.empty()) attributes["name"] = permission.name;
  json body = {{"apiVersion", reviews.api_version()},
               {"kind", reviews.kind},
               {"spec", {{"resourceAttributes", std::move(attributes)}}}};
  return client.create({reviews, "", "", ""}, body.dump(), {}, [done = std::move(done)](Result<std::string> answer) {
    if (!answer) return done(fail(answer.error()));
    auto document = parse_answer(*answer, "SelfSubjectAccessReview");
    if (!document) return done(fail(document.error()));
    auto status = document->find("status");
    if (status == document->end() || !status->is_object()) {
      return done(fail(Code::kInternal, "SelfSubjectAccessReview: the answer has no status"));
    }
    done(AccessAnswer{member_true(*status, "allowed"), member_text(*status, "reason")});
  });
}

}  // namespace dra::client
