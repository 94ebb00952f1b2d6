// One request on its way through the server. Internal to this package.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/apiserver/auth/tokens.h"
#include "pkg/apiserver/model/json.h"
#include "pkg/apiserver/model/kind.h"
#include "pkg/apiserver/options.h"
#include "pkg/apiserver/patch/managed_fields.h"
#include "pkg/apiserver/rest/negotiate.h"
#include "pkg/apiserver/rest/request.h"
#include "pkg/apiserver/store/store.h"
#include "pkg/http/message.h"
#include "pkg/reactor/reactor.h"

namespace dra::apiserver {

class Authorizer;
class LargeRequests;
class WatchHub;

// What all handlers need.
struct Env {
  Reactor& reactor;
  Random& random;
  Store& store;
  const KindRegistry& kinds;
  const ObjectReader& reader;
  const ServerOptions& options;
  WatchHub& watches;
  Authorizer& authorizer;
  LargeRequests& large_requests;
  TokenIssuer tokens;
};

struct Call {
  http::Request request;
  std::shared_ptr<http::Responder> responder;
  RequestPath path;
  Query query;
  // The verb that is authorized and executed: set once, before authorization. Nothing dispatches on the method itself.
  std::string verb;
  UserInfo user;
  std::vector<std::string> warnings;
  const Kind* kind = nullptr;  // for resource requests
  const ServedVersion* version = nullptr;
  OutputForm form;
  RawTexts raw_texts;  // of the decoded body

  const GroupVersion& gv() const { return version->gv; }
  // "resource.k8s.io/resourceclaims"
  std::string table() const;
  // "namespace/name" or "name".
  std::string key(std::string_view name) const;
  bool dry_run() const;
  // The fieldManager parameter, else the User-Agent up to the first '/'.
  std::string manager() const;
};
using CallPtr = std::shared_ptr<Call>;

// Answers. At most one of these is called for a call.
void send_status(Call& call, const Status& status);
void send_text(Call& call, int code, std::string_view content_type, std::string body);
void send_document(Call& call, int code, const Json& document);
// An answer made by encode_protobuf_answer() or protobuf_envelope().
void send_protobuf(Call& call, int code, std::string answer);
// The same from compact JSON text.
void send_json(Call& call, int code, std::string text);
// A stored object in the form the call asks for.
void send_object(const Env& env, Call& call, int code, const StoredPtr& object);
// {"kind":"Status","status":"Success",...} of deletions, bindings and evictions.
void send_success(Call& call, int code, const Json& details);

// Runs `step` now and, until it returns false, again in each of the next turns of this request's flow, so that one long
// request does not delay those of others. An exception fails the request.
void run_in_turns(const CallPtr& call, std::function<bool()> step);
// The same for what keeps much of the store meanwhile: `begin` reads it, when no other such request of the namespace is
// on its way, and returns the step, or none if it has answered.
void run_alone_in_turns(const Env& env, const CallPtr& call, std::function<std::function<bool()>()> begin);

// JSON text of a stored object in a version, with or without kind and apiVersion.
std::string object_text(const Kind& kind, const GroupVersion& gv, const StoredObject& object, bool with_type);
// The same as a document.
Json object_document(const Kind& kind, const GroupVersion& gv, const StoredObject& object);
// A document in the hub version, converted in place (no type fields).
void convert_document(const Kind& kind, Json& document, const GroupVersion& from, const GroupVersion& to);

// The metadata-only form.
Json partial_object(const Json& metadata, std::string_view shape_version);
// One table of some objects; `include` is the includeObject parameter.
struct TableRequest {
  const Kind& kind;
  GroupVersion gv;
  std::string shape_version;
  std::string include;
  bool with_columns = true;
};
StatusOr<void> check_include_object(const std::string& include);
StatusOr<Json> make_table(const Env& env, const TableRequest& request, const std::vector<StoredPtr>& objects);

// Handlers of resource requests.
void handle_get(const Env& env, const CallPtr& call);
void handle_list(const Env& env, const CallPtr& call);
void handle_create(const Env& env, const CallPtr& call);
void handle_update(const Env& env, const CallPtr& call);
void handle_patch(const Env& env, const CallPtr& call);
void handle_delete(const Env& env, const CallPtr& call);
void handle_delete_collection(const Env& env, const CallPtr& call);

}  // namespace dra::apiserver
