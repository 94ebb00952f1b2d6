#include "client/writer/writer.h"

#include <optional>
#include <utility>

#include "client/informer/wire.h"
#include "client/transport/target.h"
#include "client/writer/metadata_put.h"
#include "pkg/base/strings.h"

namespace dra::client {
namespace {

std::string resource_key(const Resource& resource) {
  return resource.group + "/" + resource.plural;
}

// False if a server, or a proxy in front of it, answers about another object, which must not get into a store. A create
// without a name gets its name from the server.
bool is_answer_for(const ObjectPath& asked, const Entry& entry) {
  return entry.ns() == asked.ns && (asked.name.empty() || entry.name() == asked.name);
}

// The store has this very version of the object.
bool is_known(const ObjectStore& store, const Entry& entry) {
  const Entry* known = store.find(entry.key());
  return known != nullptr && known->uid() == entry.uid() && known->revision == entry.revision;
}

// A write with such an answer may or may not have been performed.
Unexpected answer_of_another(const ObjectPath& asked, const Entry& entry) {
  return fail(Code::kUnavailable, "the answer is about " + quote(entry.key()) + ", not about " +
                                      quote(store_key(asked.ns, asked.name)) + "; is there a proxy in between?");
}

// Metadata and status are refused for different reasons.
std::string unpatchable_key(const MetadataPut& put, const WriteRequest& write) {
  return put.uid + "/" + write.object.subresource;
}

}  // namespace

void Writer::register_store(const Resource& resource, ObjectType type, ObjectStore& store) {
  stores_[resource_key(resource)] = StoreOf{std::move(type), &store};
}

Writer::StoreOf* Writer::store_of(const Resource& resource) {
  auto it = stores_.find(resource_key(resource));
  return it == stores_.end() ? nullptr : &it->second;
}

Handle Writer::take(uint64_t call) {
  auto node = calls_.extract(call);
  return node.empty() ? Handle() : std::move(node.mapped());
}

void Writer::perform(WriteRequest write, Done done) {
  auto call = std::make_shared<const Call>(Call{++next_, term_, std::move(write), std::move(done)});
  if (!unpatchable_.empty())
    if (auto put = metadata_put_of(call->write); put && unpatchable_.contains(unpatchable_key(*put, call->write)))
      return put_metadata(call, std::make_shared<const MetadataPut>(std::move(*put)));
  calls_[call->id] = send(call->write, [this, call](Result<std::string> answer) {
    const Handle self = take(call->id);
    if (!answer && refuses_reencoded(answer.error(), call->write.verb)) return patch_refused(call, answer.error());
    finish(call, std::move(answer));
  });
}

void Writer::open(const Resource& resource, Result<std::string> text, std::function<void(Answer)> then) {
  const StoreOf* known = store_of(resource);
  if (!text || known == nullptr || text->size() < kLargeAnswer) return then({std::move(text), std::nullopt});
  large_.push_back(
      {std::make_shared<Answer>(Answer{std::move(text), std::nullopt}), known->type.decode, std::move(then)});
  if (large_.size() == 1) open_next();
}

void Writer::open_next() {
  reactor_.offload(
      [answer = large_.front().answer, decode = large_.front().decode] { answer->entry = decode(*answer->text); },
      [this, alive = std::weak_ptr(alive_)] {
        if (alive.expired()) return;
        const Large opened = std::move(large_.front());
        large_.pop_front();
        if (!large_.empty()) open_next();
        opened.then(std::move(*opened.answer));
      });
}

void Writer::finish(const std::shared_ptr<const Call>& call, Result<std::string> text) {
  open(call->write.object.resource, std::move(text),
       [this, call](Answer answer) { call->done(answered(call->write, std::move(answer))); });
}

void Writer::patch_refused(const std::shared_ptr<const Call>& call, const Error& error) {
  auto put = metadata_put_of(call->write);
  if (!put) return finish(call, fail(error));
  if (unpatchable_.size() >= kMostUnpatchable) unpatchable_.clear();
  unpatchable_.insert(unpatchable_key(*put, call->write));
  put_metadata(call, std::make_shared<const MetadataPut>(std::move(*put)));
}

void Writer::put_metadata(const std::shared_ptr<const Call>& call, std::shared_ptr<const MetadataPut> put) {
  const auto now = [this, call, put](Result<std::string> object) {
    const Handle self = take(call->id);
    if (call->term != term_)
      return finish(call,
                    fail(Code::kCancelled, describe("PUT", call->write.object) + ": the lease was lost before it"));
    Result<std::string> body = object ? put_body(*put, call->write.object, *object) : std::move(object);
    if (!body) return finish(call, fail(not_put(body.error())));
    WriteOptions options;
    options.field_manager = call->write.field_manager;
    const auto answered = [this, call](Result<std::string> answer) {
      const Handle last = take(call->id);
      if (!answer) answer = fail(not_put(answer.error()));
      finish(call, std::move(answer));
    };
    calls_[call->id] =
        client_.update_protobuf(call->write.object, std::move(*body), options, answered, call->write.timeout);
  };
  ObjectPath whole = call->write.object;
  whole.subresource.clear();
  calls_[call->id] = client_.get_protobuf(whole, now, call->write.timeout);
}

Handle Writer::send(const WriteRequest& write, RestClient::Done done) {
  WriteOptions options;
  options.field_manager = write.field_manager;
  options.force = write.verb == WriteVerb::kApply;
  switch (write.verb) {
    case WriteVerb::kCreate:
      return client_.create(write.object, write.body, options, std::move(done), write.timeout);
    case WriteVerb::kDelete:
      return client_.remove(write.object, write.deletion, std::move(done), write.timeout);
    case WriteVerb::kApply:
      return client_.patch(write.object, PatchType::kApply, write.body, options, std::move(done), write.timeout);
    case WriteVerb::kJsonPatch:
      return client_.patch(write.object, PatchType::kJson, write.body, options, std::move(done), write.timeout);
    case WriteVerb::kMergePatch:
      break;
  }
  return client_.patch(write.object, PatchType::kMerge, write.body, options, std::move(done), write.timeout);
}

Result<Written> Writer::answered(const WriteRequest& write, Answer answer) {
  if (answer.text) return written(write, std::move(answer));
  if (write.verb != WriteVerb::kDelete || answer.text.error().code() != Code::kNotFound)
    return fail(write_error(answer.text.error(), write.verb));
  if (auto* known = store_of(write.object.resource); known != nullptr && !write.deletion.uid.empty())
    known->store->answer_absent(store_key(write.object.ns, write.object.name), write.deletion.uid);
  Written gone;
  gone.unchanged = true;
  return gone;
}

// The result of a performed write: usually the object, for the store; a Status for some deletions and
// subresources.
Result<Written> Writer::written(const WriteRequest& write, Answer answer) {
  Written result;
  result.object = std::move(*answer.text);
  auto* known = store_of(write.object.resource);
  // api::Namespace is little more than metadata, which all objects have.
  const bool of_any_kind = known == nullptr || write.verb == WriteVerb::kDelete;
  std::optional<api::Namespace> any;
  if (of_any_kind)
    if (auto read = api::decode<api::Namespace>(result.object)) any = std::move(*read);
  if (known == nullptr) {
    if (any) result.revision = parse_revision(any->metadata.resource_version).value_or(0);
    return result;
  }
  if (write.verb != WriteVerb::kDelete) {
    // The watch is often faster than the answer. Then the store ignores the answer (law 1), so only read which it is.
    const Result<Entry> head = answer.entry ? *answer.entry : identify(result.object);
    if (head && known->store->synced() && head->revision <= known->store->stream_revision()) {
      if (!is_answer_for(write.object, *head)) return answer_of_another(write.object, *head);
      result.revision = head->revision;
      result.unchanged = is_known(*known->store, *head);
      return result;
    }
  }
  auto entry = answer.entry ? std::move(*answer.entry) : known->type.decode(result.object);
  // pods/binding answers with a Status, and a deletion may too: then only the watch shows the change.
  if (!entry) return result;
  if (!is_answer_for(write.object, *entry)) return answer_of_another(write.object, *entry);
  result.revision = entry->revision;
  // A deletion may return the last state of the object: only the watch or a live GET shows that it is gone.
  const bool waits_for_finalizers = any && any->metadata.deleting() && !any->metadata.finalizers.empty();
  if (write.verb == WriteVerb::kDelete && !waits_for_finalizers) return result;
  result.unchanged = is_known(*known->store, *entry);
  known->store->answer(std::move(*entry));
  return result;
}

void Writer::read(const ObjectPath& object, const std::string& known_uid, Read done) {
  const uint64_t id = ++next_;
  calls_[id] = client_.get(object, [this, id, object, known_uid, done = std::move(done)](Result<std::string> answer) {
    const Handle self = take(id);
    open(object.resource, std::move(answer),
         [this, object, known_uid, done](Answer opened) { done(found(object, known_uid, std::move(opened))); });
  });
}

Result<Found> Writer::found(const ObjectPath& object, const std::string& known_uid, Answer opened) {
  const Result<std::string>& answer = opened.text;
  auto* known = store_of(object.resource);
  const std::string key = store_key(object.ns, object.name);
  Found out;
  if (!answer) {
    // No server has an object whose name no path can hold, and nothing was sent. Tenants write such names.
    if (!target_problem(object_path(object.resource, object.ns, object.name, "")).empty()) return out;
    if (answer.error().code() != Code::kNotFound || answer.error().reason() != "NotFound") return fail(answer.error());
    if (known != nullptr && !known_uid.empty()) known->store->answer_absent(key, known_uid);
    return out;
  }
  out.present = true;
  if (known == nullptr) return out;
  auto decoded = opened.entry ? std::move(*opened.entry) : known->type.decode(*answer);
  // What cannot be decoded exists nevertheless; asking again would not help.
  auto entry = decoded ? std::move(decoded) : identify(*answer);
  if (!entry) return fail(decoded.error());
  if (!is_answer_for(object, *entry)) return answer_of_another(object, *entry);
  out.uid = entry->uid();
  if (!known_uid.empty() && out.uid != known_uid) known->store->answer_absent(key, known_uid);
  if (decoded) known->store->answer(std::move(*entry));
  return out;
}

}  // namespace dra::client
