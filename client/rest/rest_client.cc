#include "client/rest/rest_client.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "client/rest/status.h"
#include "pkg/api/decode/decode_protobuf.h"

namespace dra::client {
namespace {

Query query_of(const WriteOptions& options, bool apply) {
  Query query{{"fieldManager", options.field_manager}};
  if (apply && options.force) query.push_back({"force", "true"});
  if (options.dry_run) query.push_back({"dryRun", "All"});
  return query;
}

Request make_request(const char* method, std::string target, std::string body, std::string_view content_type,
                     Duration timeout) {
  Request request;
  request.method = method;
  request.target = std::move(target);
  request.body = std::move(body);
  request.content_type = std::string(content_type);
  request.timeout = timeout;
  return request;
}

}  // namespace

std::string_view content_type_of(PatchType type) {
  switch (type) {
    case PatchType::kMerge:
      return "application/merge-patch+json";
    case PatchType::kJson:
      return "application/json-patch+json";
    case PatchType::kApply:
      return "application/apply-patch+yaml";
  }
  return "";
}

std::string describe(std::string_view verb, const ObjectPath& path) {
  std::string text = std::string(verb) + " " + path.resource.plural;
  if (!path.subresource.empty()) text += "/" + path.subresource;
  if (path.name.empty()) return path.ns.empty() ? text : text + " in " + path.ns;
  return text + " " + (path.ns.empty() ? path.name : path.ns + "/" + path.name);
}

std::string delete_body(const DeleteOptions& options) {
  nlohmann::json body = {{"kind", "DeleteOptions"}, {"apiVersion", "v1"}};
  if (!options.uid.empty()) body["preconditions"]["uid"] = options.uid;
  if (!options.resource_version.empty()) body["preconditions"]["resourceVersion"] = options.resource_version;
  if (options.grace_period_seconds >= 0) body["gracePeriodSeconds"] = options.grace_period_seconds;
  if (!options.propagation_policy.empty()) body["propagationPolicy"] = options.propagation_policy;
  return body.dump();
}

Handle RestClient::send(Request request, std::string what, Done done) {
  return transport_.send(std::move(request), [what = std::move(what), done = std::move(done)](Result<Response> result) {
    if (!result) {
      done(fail(result.error()));
    } else if (!result->ok()) {
      done(fail(error_from_response(*result, what)));
    } else {
      done(std::move(result->body));
    }
  });
}

Handle RestClient::get(const ObjectPath& path, Done done, Duration timeout) {
  return send(make_request("GET", object_path(path.resource, path.ns, path.name, path.subresource), "", "", timeout),
              describe("GET", path), std::move(done));
}

Handle RestClient::get_protobuf(const ObjectPath& path, Done done, Duration timeout) {
  Request request =
      make_request("GET", object_path(path.resource, path.ns, path.name, path.subresource), "", "", timeout);
  request.accept = api::kProtobufMediaType;
  return send(std::move(request), describe("GET", path), std::move(done));
}

Handle RestClient::list(const Resource& resource, std::string_view ns, const Query& query, Done done) {
  return send(make_request("GET", with_query(collection_path(resource, ns), query), "", "", {}),
              "LIST " + resource.plural, std::move(done));
}

Handle RestClient::create(const ObjectPath& path, std::string body, const WriteOptions& options, Done done,
                          Duration timeout) {
  std::string where = path.subresource.empty() ? collection_path(path.resource, path.ns)
                                               : object_path(path.resource, path.ns, path.name, path.subresource);
  return send(make_request("POST", with_query(std::move(where), query_of(options, false)), std::move(body),
                           "application/json", timeout),
              describe("POST", path), std::move(done));
}

Handle RestClient::update(const ObjectPath& path, std::string body, const WriteOptions& options, Done done,
                          Duration timeout) {
  std::string where = object_path(path.resource, path.ns, path.name, path.subresource);
  return send(make_request("PUT", with_query(std::move(where), query_of(options, false)), std::move(body),
                           "application/json", timeout),
              describe("PUT", path), std::move(done));
}

Handle RestClient::update_protobuf(const ObjectPath& path, std::string body, const WriteOptions& options, Done done,
                                   Duration timeout) {
  std::string where = object_path(path.resource, path.ns, path.name, path.subresource);
  return send(make_request("PUT", with_query(std::move(where), query_of(options, false)), std::move(body),
                           api::kProtobufMediaType, timeout),
              describe("PUT", path), std::move(done));
}

Handle RestClient::patch(const ObjectPath& path, PatchType type, std::string body, const WriteOptions& options,
                         Done done, Duration timeout) {
  std::string where = object_path(path.resource, path.ns, path.name, path.subresource);
  return send(make_request("PATCH", with_query(std::move(where), query_of(options, type == PatchType::kApply)),
                           std::move(body), content_type_of(type), timeout),
              describe("PATCH", path), std::move(done));
}

Handle RestClient::remove(const ObjectPath& path, const DeleteOptions& options, Done done, Duration timeout) {
  return send(make_request("DELETE", object_path(path.resource, path.ns, path.name, path.subresource),
                           delete_body(options), "application/json", timeout),
              describe("DELETE", path), std::move(done));
}

Handle RestClient::get_raw(std::string target, Done done, Duration timeout) {
  std::string what = "GET " + target;
  return send(make_request("GET", std::move(target), "", "", timeout), std::move(what), std::move(done));
}

}  // namespace dra::client
