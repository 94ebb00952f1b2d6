#include "pkg/manager/run/api_sink.h"

#include <utility>

#include "pkg/base/check.h"
#include "pkg/log/log.h"
#include "pkg/protocol/pod_claims.h"

namespace dra::manager {

using client::WriteRequest;
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
    case Verb::kApply:
      return WriteVerb::kApply;
    case Verb::kDelete:
      return WriteVerb::kDelete;
    case Verb::kJsonPatch:
      return WriteVerb::kJsonPatch;
    case Verb::kMergePatch:
      break;
  }
  return WriteVerb::kMergePatch;
}

WriteRequest request_for(const client::Resource& resource, const Write& write) {
  WriteRequest request;
  request.verb = verb_of(write.verb);
  request.object = {resource, write.object.ns, write.object.name, write.subresource};
  request.body = write.body;
  request.field_manager =
      write.field_manager.empty() ? std::string(protocol::kFieldManager) : std::string(write.field_manager);
  request.deletion.uid = write.object.uid;
  request.deletion.resource_version = write.resource_version;
  return request;
}

}  // namespace

void ApiSink::serve(reconcile::Kind kind, const client::Resource& resource, const client::ObjectType& type,
                    client::ObjectStore& store) {
  places_[kind] = {resource, &store};
  writer_.register_store(resource, type, store);
}

const ApiSink::Place& ApiSink::place(reconcile::Kind kind) const {
  auto found = places_.find(kind);
  DRA_CHECK(found != places_.end());
  return found->second;
}

void ApiSink::perform(const Write& write, std::function<void(Result<uint64_t>)> done) {
  writer_.perform(request_for(place(write.object.kind).resource, write),
                  [done = std::move(done)](Result<client::Written> answer) {
                    if (!answer) return done(fail(std::move(answer.error())));
                    done(answer->revision);
                  });
}

void ApiSink::get(const Ref& object, std::function<void(Result<Presence>)> done) {
  const Place& where = place(object.kind);
  std::string known_uid = object.uid;
  if (const client::Entry* known = where.store->find(object.store_key()); known_uid.empty() && known)
    known_uid = known->uid();
  writer_.read({where.resource, object.ns, object.name, ""}, known_uid,
               [wanted = object.uid, done = std::move(done)](Result<client::Found> found) {
                 if (!found) return done(fail(std::move(found.error())));
                 const bool this_one = found->present && (wanted.empty() || found->uid == wanted);
                 done(this_one ? Presence::kPresent : Presence::kAbsent);
               });
}

bool RecorderSink::emit(const reconcile::Event& event) {
  log::v(3, "Event",
         {{"object", log::ObjectRef{event.regarding.ns, event.regarding.name}},
          {"reason", event.reason.str()},
          {"note", event.note}});
  const bool core = event.regarding.kind == reconcile::Kind::kPod || event.regarding.kind == reconcile::Kind::kNode;
  client::EventRequest request;
  const bool rule = event.regarding.kind == reconcile::Kind::kTaintRule;
  request.regarding.api_version = core ? "v1" : rule ? taint_rule_api_version_ : dra_api_version_;
  request.regarding.kind = reconcile::kind_name(event.regarding.kind);
  request.regarding.ns = event.regarding.ns;
  request.regarding.name = event.regarding.name;
  request.regarding.uid = event.regarding.uid;
  request.warning = event.warning;
  request.reason = event.reason.str();
  request.action = event.action;
  request.note = event.note;
  return recorder_.record(request);
}

}  // namespace dra::manager
