#include "pkg/manager/api_port.h"

#include <utility>

#include "pkg/base/check.h"
#include "pkg/log/log.h"
#include "pkg/reconcile/pod_claims.h"

namespace dra::manager {

using client::WriteOutcome;
using client::WriteRequest;
using client::WriteResult;
using client::WriteVerb;
using reconcile::Presence;
using reconcile::Ref;
using reconcile::Verb;
using reconcile::Write;

namespace {

WriteVerb verb_of(Verb verb) {
  switch (verb) {
    case Verb::kCreate:
      return WriteVerb::kCreate;
    case Verb::kMergePatch:
      return WriteVerb::kMergePatch;
    case Verb::kApply:
      return WriteVerb::kApply;
    case Verb::kDelete:
      return WriteVerb::kDelete;
  }
  return WriteVerb::kMergePatch;
}

WriteRequest request_for(const client::Resource& resource, const Write& write) {
  WriteRequest request;
  request.verb = verb_of(write.verb);
  request.object = {resource, write.object.ns, write.object.name, write.subresource};
  request.body = write.body;
  request.field_manager =
      write.field_manager.empty() ? std::string(reconcile::kFieldManager) : std::string(write.field_manager);
  request.uid = write.object.uid;
  request.deletion.uid = write.object.uid;
  request.deletion.resource_version = write.resource_version;
  return request;
}

// The writer's outcomes in the codes by which the runner reacts.
Error error_of(const WriteResult& result) {
  switch (result.outcome) {
    case WriteOutcome::kLostRace:
      return {Code::kConflict, 409, "Conflict", result.error};
    case WriteOutcome::kAlreadyExists:
      return {Code::kAlreadyExists, 409, "AlreadyExists", result.error};
    case WriteOutcome::kGone:
      return {Code::kNotFound, 404, "NotFound", result.error};
    case WriteOutcome::kForbidden:
      return {Code::kPermissionDenied, 403, "Forbidden", result.error};
    case WriteOutcome::kInvalid:
      return {Code::kInvalidArgument, 422, "Invalid", result.error};
    case WriteOutcome::kThrottled:
      return {Code::kTooManyRequests, 429, "TooManyRequests", result.error};
    case WriteOutcome::kUnknown:
      return {Code::kUnavailable, result.error};  // without a status: the outcome is unknown
    case WriteOutcome::kNotSent:
      return {Code::kCancelled, result.error};
    default:
      return {Code::kUnavailable, 503, "", result.error};  // surely not performed
  }
}

}  // namespace

void ApiPort::serve(reconcile::Kind kind, const client::Resource& resource, const client::ObjectType& type,
                    client::ObjectStore& store) {
  places_[kind] = {resource, &store};
  writer_.register_store(resource, type, store);
}

const ApiPort::Place& ApiPort::place(reconcile::Kind kind) const {
  auto found = places_.find(kind);
  DRA_CHECK(found != places_.end());
  return found->second;
}

void ApiPort::perform(const Write& write, std::function<void(Result<uint64_t>)> done) {
  writer_.submit({request_for(place(write.object.kind).resource, write)},
                 [done = std::move(done)](const std::vector<WriteResult>& results) {
                   DRA_CHECK(results.size() == 1);
                   if (results.front().performed()) return done(results.front().revision);
                   done(fail(error_of(results.front())));
                 });
}

void ApiPort::get(const Ref& object, std::function<void(Result<Presence>)> done) {
  const Place& where = place(object.kind);
  std::string uid = object.uid;
  if (const client::Entry* known = where.store->find(object.store_key()); uid.empty() && known) uid = known->uid;
  const bool any_instance = object.uid.empty();
  writer_.confirm({where.resource, object.ns, object.name, ""}, uid,
                  [uid = object.uid, any_instance, done = std::move(done)](const client::Confirmation& found) {
                    switch (found.presence) {
                      case client::Confirmation::Presence::kPresent:
                        return done(any_instance || found.uid == uid ? Presence::kPresent : Presence::kAbsent);
                      case client::Confirmation::Presence::kAbsent:
                        return done(Presence::kAbsent);
                      case client::Confirmation::Presence::kUnknown:
                        return done(fail(Code::kUnavailable, found.error));
                    }
                  });
}

void EventPort::emit(const reconcile::Event& event) {
  log::v(3, "Event",
         {{"object", log::ObjectRef{event.regarding.ns, event.regarding.name}},
          {"reason", event.reason},
          {"note", event.note}});
  const bool core = event.regarding.kind == reconcile::Kind::kPod || event.regarding.kind == reconcile::Kind::kNode;
  client::EventRequest request;
  request.regarding.api_version = core ? "v1" : dra_api_version_;
  request.regarding.kind = reconcile::kind_name(event.regarding.kind);
  request.regarding.ns = event.regarding.ns;
  request.regarding.name = event.regarding.name;
  request.regarding.uid = event.regarding.uid;
  request.warning = event.warning;
  request.reason = event.reason;
  request.action = event.action;
  request.note = event.note;
  recorder_.record(request);
}

}  // namespace dra::manager
