#include "pkg/manager/api_port.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "client/rest/status.h"
#include "pkg/base/check.h"
#include "pkg/reconcile/pod_claims.h"

namespace dra::manager {

using reconcile::Presence;
using reconcile::Ref;
using reconcile::Verb;
using reconcile::Write;

namespace {

const char* content_type_of(Verb verb) {
  switch (verb) {
    case Verb::kMergePatch:
      return "application/merge-patch+json";
    case Verb::kApply:
      return "application/apply-patch+yaml";
    default:
      return "application/json";
  }
}

const char* method_of(Verb verb) {
  switch (verb) {
    case Verb::kCreate:
      return "POST";
    case Verb::kDelete:
      return "DELETE";
    default:
      return "PATCH";
  }
}

std::string delete_options(const Write& write) {
  nlohmann::json options{{"kind", "DeleteOptions"}, {"apiVersion", "v1"}};
  if (!write.object.uid.empty()) options["preconditions"]["uid"] = write.object.uid;
  if (!write.resource_version.empty()) options["preconditions"]["resourceVersion"] = write.resource_version;
  return options.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

client::Request request_for(const client::Resource& resource, const Write& write) {
  client::Request request;
  request.method = method_of(write.verb);
  const bool to_collection = write.verb == Verb::kCreate && write.subresource.empty();
  std::string path = to_collection
                         ? client::collection_path(resource, write.object.ns)
                         : client::object_path(resource, write.object.ns, write.object.name, write.subresource);
  client::Query query;
  if (write.verb != Verb::kDelete)
    query.emplace_back("fieldManager",
                       write.field_manager.empty() ? std::string(reconcile::kFieldManager) : write.field_manager);
  if (write.verb == Verb::kApply) query.emplace_back("force", "true");
  request.target = client::with_query(std::move(path), query);
  request.body = write.verb == Verb::kDelete ? delete_options(write) : write.body;
  request.content_type = content_type_of(write.verb);
  return request;
}

std::string described(const client::Request& request) {
  return request.method + " " + request.target;
}

}  // namespace

ApiPort::~ApiPort() = default;

void ApiPort::serve(reconcile::Kind kind, client::Resource resource, client::ObjectType type,
                    client::ObjectStore& store) {
  places_[kind] = {std::move(resource), std::move(type), &store};
}

const ApiPort::Place& ApiPort::place(reconcile::Kind kind) const {
  auto found = places_.find(kind);
  DRA_CHECK(found != places_.end());
  return found->second;
}

void ApiPort::send(client::Request request, std::function<void(Result<client::Response>)> done) {
  const uint64_t id = next_call_++;
  calls_[id] = transport_.send(std::move(request), [this, id, done = std::move(done)](Result<client::Response> answer) {
    // The handle stays until the callback has returned: dropping it calls the call off.
    auto handle = calls_.extract(id);
    done(std::move(answer));
  });
}

void ApiPort::perform(const Write& write, std::function<void(Result<uint64_t>)> done) {
  client::Request request = request_for(place(write.object.kind).resource, write);
  const std::string what = described(request);
  send(std::move(request), [this, write, what, done = std::move(done)](Result<client::Response> answer) {
    if (!answer) return done(fail(answer.error().wrap(what)));
    if (!answer->ok()) {
      if (write.verb == Verb::kDelete && answer->status == 404) return done(take_deletion(write, *answer));
      return done(fail(client::error_from_response(*answer, what)));
    }
    done(write.verb == Verb::kDelete ? take_deletion(write, *answer) : take_answer(write, *answer));
  });
}

Result<uint64_t> ApiPort::take_answer(const Write& write, const client::Response& response) {
  if (write.subresource == "binding") return 0;  // the answer is a Status
  const Place& where = place(write.object.kind);
  Result<client::Entry> entry = where.type.decode(response.body);
  // The write happened; an answer that cannot be read leaves it to the stream to bring the object.
  if (!entry) return 0;
  const uint64_t revision = entry->revision;
  where.store->answer(std::move(*entry));
  return revision;
}

// A deletion is answered with the object where finalizers keep it, with the object or a Status where it is gone.
Result<uint64_t> ApiPort::take_deletion(const Write& write, const client::Response& response) {
  const Place& where = place(write.object.kind);
  const auto json = nlohmann::json::parse(response.body, nullptr, /*allow_exceptions=*/false);
  const bool kept = response.ok() && json.is_object() && json.contains("/metadata/deletionTimestamp"_json_pointer) &&
                    json.contains("/metadata/finalizers"_json_pointer) && !json["metadata"]["finalizers"].empty();
  if (kept) {
    if (Result<client::Entry> entry = where.type.decode(response.body)) {
      const uint64_t revision = entry->revision;
      where.store->answer(std::move(*entry));
      return revision;
    }
    return 0;
  }
  where.store->answer_absent(write.object.store_key(), write.object.uid);
  return 0;
}

void ApiPort::get(const Ref& object, std::function<void(Result<Presence>)> done) {
  client::Request request;
  request.target = client::object_path(place(object.kind).resource, object.ns, object.name);
  send(std::move(request),
       [this, object, done = std::move(done)](Result<client::Response> answer) { done(take_object(object, answer)); });
}

Result<Presence> ApiPort::take_object(const Ref& object, const Result<client::Response>& answer) {
  const Place& where = place(object.kind);
  const std::string what = "GET " + std::string(reconcile::kind_name(object.kind)) + " " + object.store_key();
  if (!answer) return fail(answer.error().wrap(what));
  const client::Entry* known = where.store->find(object.store_key());
  std::string uid = object.uid;
  if (uid.empty() && known) uid = known->uid;
  if (answer->status == 404) {
    if (!uid.empty()) where.store->answer_absent(object.store_key(), uid);
    return Presence::kAbsent;
  }
  if (!answer->ok()) return fail(client::error_from_response(*answer, what));
  Result<client::Entry> entry = where.type.decode(answer->body);
  if (!entry) return fail(entry.error().wrap(what));
  const bool same = object.uid.empty() || entry->uid == object.uid;
  if (!same) where.store->answer_absent(object.store_key(), object.uid);
  where.store->answer(std::move(*entry));
  return same ? Presence::kPresent : Presence::kAbsent;
}

}  // namespace dra::manager
