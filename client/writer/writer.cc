#include "client/writer/writer.h"

#include <optional>
#include <utility>

#include "pkg/base/strings.h"
#include "pkg/log/log.h"

namespace dra::client {
namespace {

std::string resource_key(const Resource& resource) {
  return resource.group + "/" + resource.plural;
}

std::string lock_of(const ObjectPath& object) {
  return resource_key(object.resource) + "/" + object.ns + "/" + object.name;
}

PatchType patch_type_of(WriteVerb verb) {
  switch (verb) {
    case WriteVerb::kApply:
      return PatchType::kApply;
    case WriteVerb::kJsonPatch:
      return PatchType::kJson;
    case WriteVerb::kStrategicMergePatch:
      return PatchType::kStrategicMerge;
    default:
      return PatchType::kMerge;
  }
}

// False for the answer of a server, or of something before it, that speaks of another object: it must not get into a
// store. A create without a name gets one from the server.
bool is_answer_for(const ObjectPath& asked, const Entry& entry) {
  return entry.ns == asked.ns && (asked.name.empty() || entry.name == asked.name);
}

std::string answer_of_another(const ObjectPath& asked, const Entry& entry) {
  return "the answer is about " + quote(entry.key()) + ", not about " + quote(store_key(asked.ns, asked.name)) +
         "; is there a proxy in between?";
}

}  // namespace

struct Writer::Job {
  std::vector<WriteRequest> writes;
  std::vector<WriteResult> results;
  Done done;
  std::string lock;  // held or waited for
  Handle call;
};

Writer::Writer(Reactor& reactor, RestClient& client, WriterOptions options)
    : reactor_(reactor), client_(client), options_(std::move(options)) {}

Writer::~Writer() {
  *alive_ = false;
}

void Writer::register_store(const Resource& resource, ObjectType type, ObjectStore& store) {
  stores_[resource_key(resource)] = StoreOf{std::move(type), &store};
}

Writer::StoreOf* Writer::store_of(const Resource& resource) {
  auto it = stores_.find(resource_key(resource));
  return it == stores_.end() ? nullptr : &it->second;
}

void Writer::submit(std::vector<WriteRequest> writes, Done done) {
  uint64_t id = ++next_;
  auto job = std::make_unique<Job>();
  bool full = queued_ + writes.size() > options_.max_waiting;
  queued_ += writes.size();
  job->writes = std::move(writes);
  job->done = std::move(done);
  if (full) {
    WriteResult refused;
    refused.outcome = WriteOutcome::kFailed;
    refused.error = "too many writes are waiting";
    if (!job->writes.empty()) job->results.push_back(std::move(refused));
  }
  jobs_[id] = std::move(job);
  reactor_.post([this, id, alive = alive_] {
    if (*alive) advance(id);
  });
}

// Takes the next write of the list: gets the object's lock, or waits for it.
void Writer::advance(uint64_t id) {
  Job& job = *jobs_.at(id);
  bool failed = !job.results.empty() && !job.results.back().performed();
  if (stopped_ || failed || job.results.size() == job.writes.size()) {
    while (job.results.size() < job.writes.size()) {
      WriteResult dropped;
      dropped.error = failed ? "an earlier write of the list failed" : "writing was stopped";
      job.results.push_back(std::move(dropped));
    }
    finish(id);
    return;
  }
  job.lock = lock_of(job.writes[job.results.size()].object);
  auto& queue = locks_[job.lock];
  queue.push_back(id);
  if (queue.front() == id) start(id);
}

void Writer::start(uint64_t id) {
  Job& job = *jobs_.at(id);
  MonoTime now = reactor_.clock().mono_now();
  ++in_flight_;
  job.call = send(job.writes[job.results.size()], [this, id, now, alive = alive_](Result<std::string> answer) {
    if (*alive) answered(id, std::move(answer), now);
  });
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
    default:
      return client_.patch(write.object, patch_type_of(write.verb), write.body, options, std::move(done),
                           write.timeout);
  }
}

void Writer::answered(uint64_t id, Result<std::string> answer, MonoTime sent) {
  Job& job = *jobs_.at(id);
  const WriteRequest& write = job.writes[job.results.size()];
  WriteResult result;
  if (answer) {
    result = read_answer(write, std::move(*answer));
  } else {
    result.outcome = classify_write_error(answer.error(), write.verb);
    result.error = answer.error().message();
    result.retry_after_seconds = answer.error().retry_after_seconds();
    // A deletion of what is gone has succeeded.
    if (write.verb == WriteVerb::kDelete && answer.error().code() == Code::kNotFound) {
      result.outcome = WriteOutcome::kUnchanged;
      if (auto* known = store_of(write.object.resource); known != nullptr && !write.deletion.uid.empty()) {
        known->store->answer_absent(store_key(write.object.ns, write.object.name), write.deletion.uid);
      }
    }
  }
  --in_flight_;
  std::string lock = std::move(job.lock);
  complete(job, std::move(result), sent);
  release(lock);
  advance(id);
}

void Writer::complete(Job& job, WriteResult result, MonoTime sent) {
  const WriteRequest& write = job.writes[job.results.size()];
  job.results.push_back(std::move(result));
  if (options_.on_result) options_.on_result(write, job.results.back(), reactor_.clock().mono_now() - sent);
}

// What the server returned for a performed write: usually the object, for the store; a Status for some deletions and
// subresources.
WriteResult Writer::read_answer(const WriteRequest& write, std::string body) {
  WriteResult result;
  result.outcome = WriteOutcome::kDone;
  result.object = std::move(body);
  auto* known = store_of(write.object.resource);
  // A namespace is little more than metadata, which all objects have.
  const bool of_any_kind = known == nullptr || write.verb == WriteVerb::kDelete;
  std::optional<api::Namespace> any;
  if (of_any_kind)
    if (auto read = api::decode<api::Namespace>(result.object)) any = std::move(*read);
  if (known == nullptr) {
    if (!any || any->metadata.resource_version.empty()) return result;
    result.uid = any->metadata.uid;
    if (auto revision = parse_revision(any->metadata.resource_version)) result.revision = *revision;
    return result;
  }
  auto entry = known->type.decode(result.object);
  // pods/binding answers with a Status, and a deletion may too: then only the stream will tell.
  if (!entry) return result;
  if (!is_answer_for(write.object, *entry)) {
    result.outcome = WriteOutcome::kUnknown;
    result.error = answer_of_another(write.object, *entry);
    return result;
  }
  result.uid = entry->uid;
  result.revision = entry->revision;
  std::string key = entry->key();
  // What a deletion returns may be the object as it was last: gone is only what the stream or a live GET says is gone.
  const bool waits_for_finalizers = any && any->metadata.deleting() && !any->metadata.finalizers.empty();
  if (write.verb == WriteVerb::kDelete && !waits_for_finalizers) return result;
  const Entry* before = known->store->find(key);
  if (before != nullptr && before->uid == entry->uid && before->revision == entry->revision) {
    result.outcome = WriteOutcome::kUnchanged;
  }
  known->store->answer(std::move(*entry));
  return result;
}

void Writer::release(const std::string& lock) {
  auto it = locks_.find(lock);
  if (it == locks_.end()) return;
  it->second.pop_front();
  if (it->second.empty()) {
    locks_.erase(it);
    return;
  }
  uint64_t next = it->second.front();
  reactor_.post([this, next, alive = alive_] {
    if (!*alive) return;
    Job& job = *jobs_.at(next);
    if (!stopped_) {
      start(next);
      return;
    }
    std::string held = std::move(job.lock);
    release(held);
    advance(next);
  });
}

void Writer::finish(uint64_t id) {
  auto it = jobs_.find(id);
  auto job = std::move(it->second);
  jobs_.erase(it);
  queued_ -= job->writes.size();
  if (job->done) job->done(job->results);
}

void Writer::confirm(const ObjectPath& object, const std::string& known_uid, Confirmed done) {
  uint64_t id = ++next_;
  confirms_[id] = client_.get(
      object, [this, id, object, known_uid, done = std::move(done), alive = alive_](Result<std::string> answer) {
        if (!*alive) return;
        // The handle is dropped last: this callback lives in it.
        Handle self = std::move(confirms_[id]);
        confirms_.erase(id);
        Confirmation out;
        auto* known = store_of(object.resource);
        std::string key = store_key(object.ns, object.name);
        if (answer) {
          out.presence = Confirmation::Presence::kPresent;
          out.object = std::move(*answer);
          if (known != nullptr) {
            auto entry = known->type.decode(out.object);
            if (entry && !is_answer_for(object, *entry)) {
              out.presence = Confirmation::Presence::kUnknown;
              out.error = answer_of_another(object, *entry);
            } else if (entry) {
              out.uid = entry->uid;
              out.revision = entry->revision;
              if (!known_uid.empty() && entry->uid != known_uid) known->store->answer_absent(key, known_uid);
              known->store->answer(std::move(*entry));
            } else {
              out.presence = Confirmation::Presence::kUnknown;
              out.error = to_string(entry.error());
            }
          }
        } else if (answer.error().code() == Code::kNotFound && answer.error().reason() == "NotFound") {
          out.presence = Confirmation::Presence::kAbsent;
          if (known != nullptr && !known_uid.empty()) known->store->answer_absent(key, known_uid);
        } else {
          out.error = to_string(answer.error());
        }
        done(out);
      });
}

void Writer::stop() {
  stopped_ = true;
  // Those that wait for a lock held by a write in flight are answered when it is released; nobody starts any more.
}

}  // namespace dra::client
