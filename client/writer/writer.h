// Writer: performs intended writes, in order, and feeds the answers back into the stores.
//
// Rules (docs/design/stores.md): one write in flight an object, others for it wait in order; the first failure
// of a list drops the rest of it unsent; nothing is repeated here; the object a write returned goes into its store's
// answers layer before the caller is told. Live GETs (confirm) feed the store as well, so absence is known, not
// guessed.
//
// Belongs to the reactor's thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/informer/object_store.h"
#include "client/rest/rest_client.h"

namespace dra::client {

enum class WriteVerb { kCreate, kMergePatch, kStrategicMergePatch, kJsonPatch, kApply, kDelete };

struct WriteRequest {
  WriteVerb verb = WriteVerb::kMergePatch;
  ObjectPath object;
  std::string body;  // JSON; preconditions inside. Empty for deletions.
  std::string field_manager;
  // Deletions: preconditions and the rest. Other verbs: uid is the instance the write is about, for the store.
  DeleteOptions deletion;
  std::string uid;
  Duration timeout{};
};

// What became of a write: the closed set of reactions.
enum class WriteOutcome {
  kDone,           // performed; its event will come, if it has not come already
  kUnchanged,      // performed without effect: the resourceVersion is the one that was known; no event follows
  kLostRace,       // 409, or status.allocation is immutable: wait for an event or read again
  kAlreadyExists,  // a create found the name taken
  kGone,           // 404, or the name now belongs to another uid
  kForbidden,      // 403, or 422 about resourceclaims/binding: configuration, retry every 60 s
  kInvalid,        // 400, 422: permanent until the input changes
  kThrottled,      // 429: surely not performed
  kUnknown,        // time-out, connection lost, 5xx: may or may not have been performed
  kNotSent,        // dropped: an earlier write of the list failed, or the writer was stopped
  kFailed,         // not performed, for another reason (401, no credentials, queue full, answer unreadable)
};
std::string_view outcome_name(WriteOutcome outcome);
// True when the write surely did not take effect.
bool surely_not_performed(WriteOutcome outcome);
// What an error of a write means. Pure.
WriteOutcome classify_write_error(const Error& error, WriteVerb verb);

struct WriteResult {
  WriteOutcome outcome = WriteOutcome::kNotSent;
  std::string object;     // JSON of the returned object, when performed
  uint64_t revision = 0;  // its resourceVersion
  std::string uid;
  std::string error;  // why not; names the request and the object
  int retry_after_seconds = 0;
  bool performed() const { return outcome == WriteOutcome::kDone || outcome == WriteOutcome::kUnchanged; }
};

// The answer of a live GET.
struct Confirmation {
  enum class Presence { kPresent, kAbsent, kUnknown };
  Presence presence = Presence::kUnknown;
  std::string object;
  uint64_t revision = 0;
  std::string uid;    // of the instance that is there
  std::string error;  // when unknown
};

struct WriterOptions {
  size_t max_waiting = 100'000;  // writes queued in all
  // Called for each answer, for metrics and logs.
  std::function<void(const WriteRequest&, const WriteResult&, Duration took)> on_result;
};

class Writer {
 public:
  using Done = std::function<void(const std::vector<WriteResult>&)>;
  using Confirmed = std::function<void(const Confirmation&)>;

  // Everything must outlive the writer.
  Writer(Reactor& reactor, RestClient& client, WriterOptions options = {});
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Answers about `resource` go to `store`, decoded by `type`. Resources without a store are written all the same.
  void register_store(const Resource& resource, ObjectType type, ObjectStore& store);

  // Performs the writes one after the other; `done` gets one result each, from a later task. An empty list is done too.
  void submit(std::vector<WriteRequest> writes, Done done);
  // Asks the server itself. The store is up to date when the callback runs. `known_uid`: the instance the caller
  // believes in; if another one (or none) is there, that instance is recorded as absent.
  void confirm(const ObjectPath& object, const std::string& known_uid, Confirmed done);

  // No further write starts; those that wait are answered kNotSent, those in flight still get their answer.
  void stop();
  // After stop(): writes are taken again.
  void resume() { stopped_ = false; }
  bool stopped() const { return stopped_; }

  size_t in_flight() const { return in_flight_; }
  // Lists not yet done.
  size_t pending() const { return jobs_.size(); }

 private:
  struct Job;
  struct StoreOf {
    ObjectType type;
    ObjectStore* store;
  };

  void advance(uint64_t job);
  void start(uint64_t job);
  void answered(uint64_t job, Result<std::string> answer, MonoTime sent);
  void complete(Job& job, WriteResult result, MonoTime sent);
  void release(const std::string& lock);
  void finish(uint64_t job);
  WriteResult read_answer(const WriteRequest& write, std::string body);
  StoreOf* store_of(const Resource& resource);
  Handle send(const WriteRequest& write, RestClient::Done done);

  Reactor& reactor_;
  RestClient& client_;
  WriterOptions options_;
  bool stopped_ = false;
  size_t in_flight_ = 0;
  size_t queued_ = 0;
  uint64_t next_ = 0;
  std::map<uint64_t, std::unique_ptr<Job>> jobs_;
  // Objects that are being written: the job that has it, then those that wait for it.
  std::map<std::string, std::deque<uint64_t>> locks_;
  std::map<std::string, StoreOf> stores_;
  std::map<uint64_t, Handle> confirms_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace dra::client
