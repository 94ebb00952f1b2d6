// RestClient: the verbs of the API over a Transport. Answers are JSON texts of objects, or typed errors from the
// server's Status. Each call is sent at most once; retries are up to the caller.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "client/rest/resource_path.h"
#include "client/transport/transport.h"

namespace dra::client {

enum class PatchType { kMerge, kJson, kApply };
std::string_view content_type_of(PatchType type);

// One object, or one of its subresources.
struct ObjectPath {
  Resource resource;
  std::string ns;
  std::string name;
  std::string subresource;
};

struct WriteOptions {
  std::string field_manager;
  bool force = false;  // for apply patches
  bool dry_run = false;
};

// The preconditions and options of a deletion; empty fields are not sent.
struct DeleteOptions {
  std::string uid;
  std::string resource_version;
  int64_t grace_period_seconds = -1;  // negative: the kind's default
  std::string propagation_policy;     // "Background", "Foreground", "Orphan" or empty
};
// The body of a DELETE request.
std::string delete_body(const DeleteOptions& options);

class RestClient {
 public:
  // The object's JSON. Errors contain the server's code, reason and Status.
  using Done = std::function<void(Result<std::string>)>;

  // `transport` must outlive the client and its calls.
  explicit RestClient(Transport& transport) : transport_(transport) {}

  [[nodiscard]] Handle get(const ObjectPath& path, Done done, Duration timeout = {});
  // The object in Kubernetes' protobuf encoding, in its envelope. A server without protobuf answers 406, or in JSON.
  [[nodiscard]] Handle get_protobuf(const ObjectPath& path, Done done, Duration timeout = {});
  [[nodiscard]] Handle list(const Resource& resource, std::string_view ns, const Query& query, Done done);
  // POST to the collection (path.name is ignored), or to a subresource such as pods/binding if one is set.
  [[nodiscard]] Handle create(const ObjectPath& path, std::string body, const WriteOptions& options, Done done,
                              Duration timeout = {});
  [[nodiscard]] Handle update(const ObjectPath& path, std::string body, const WriteOptions& options, Done done,
                              Duration timeout = {});
  // PUT of bytes as get_protobuf() returns them; the answer is JSON.
  [[nodiscard]] Handle update_protobuf(const ObjectPath& path, std::string body, const WriteOptions& options, Done done,
                                       Duration timeout = {});
  [[nodiscard]] Handle patch(const ObjectPath& path, PatchType type, std::string body, const WriteOptions& options,
                             Done done, Duration timeout = {});
  [[nodiscard]] Handle remove(const ObjectPath& path, const DeleteOptions& options, Done done, Duration timeout = {});
  // Any other path, for example "/apis/resource.k8s.io" or "/readyz".
  [[nodiscard]] Handle get_raw(std::string target, Done done, Duration timeout = {});

  Transport& transport() { return transport_; }

 private:
  Handle send(Request request, std::string what, Done done);

  Transport& transport_;
};

// "PATCH resourceclaims/status ns/name": identifies a request in messages.
std::string describe(std::string_view verb, const ObjectPath& path);

}  // namespace dra::client
