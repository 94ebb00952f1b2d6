// Writer: performs single writes and live reads, and feeds the answers back into the stores.
//
//   writer.perform({WriteVerb::kMergePatch, path, body, manager, {}, uid}, [](Result<Written> answer) {...});
//
// Each request is sent once; order, exclusion and retries are up to the caller. The object that the server returned is
// in its store before the caller's callback runs. A failed write has the code by which to react (write_error()); the
// server's status, message and Retry-After are unchanged.
//
// A patch of annotations and finalizers that is refused because "spec" is immutable, or of reservations because the
// allocation is, although it does not name them, is performed another way (metadata_put.h): GET and PUT in protobuf,
// with the same preconditions. end_term() between the two leaves out the PUT.
//
// How answers and stores fit together: docs/design/stores.md.
// Belongs to the reactor's thread. Bounded by the requests that callers have in flight.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_set>

#include "client/informer/object_store.h"
#include "client/rest/rest_client.h"

namespace dra::client {

enum class WriteVerb { kCreate, kMergePatch, kJsonPatch, kApply, kDelete };

struct WriteRequest {
  WriteVerb verb = WriteVerb::kMergePatch;
  ObjectPath object;
  std::string body;  // JSON, including preconditions. Empty for deletions.
  std::string field_manager;
  DeleteOptions deletion;
  Duration timeout{};
};

struct Written {
  std::string object;      // JSON as returned by the server: the object, or a Status for some deletions
  uint64_t revision = 0;   // its resourceVersion; 0 if the answer has none
  bool unchanged = false;  // the write had no effect: no event will follow
};

// The answer of a live GET.
struct Found {
  bool present = false;
  std::string uid;  // of the instance that exists
};

// The error of a write with the code by which to react; everything else is unchanged. Pure.
//   kConflict           lost race: a precondition on the version failed, or another writer made the allocation
//   kAlreadyExists      a create found the name taken
//   kNotFound           the object is gone, the name belongs to another uid, or its namespace is being deleted
//   kPermissionDenied   a permission is missing, also one that 1.36 checks in validation (resourceclaims/binding)
//   kResourceExhausted  with status 403: a ResourceQuota is used up
//   kInvalidArgument    rejected until the input changes: validation, admission webhooks and policies
//   kTooManyRequests    certainly not performed
// Other codes are unchanged: see outcome_unknown().
Error write_error(const Error& error, WriteVerb verb);
// True if a write that ended with this error may or may not have been performed: no answer, or a 5xx (storage may have
// timed out after the write).
bool outcome_unknown(const Error& error);

struct MetadataPut;

class Writer {
 public:
  using Done = std::function<void(Result<Written>)>;
  using Read = std::function<void(Result<Found>)>;

  // Both must outlive the writer. Destroying the writer drops requests in flight without callbacks.
  Writer(Reactor& reactor, RestClient& client) : reactor_(reactor), client_(client) {}
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Answers about `resource` go to `store`, decoded by `type`. Resources without a store can be written too.
  void register_store(const Resource& resource, ObjectType type, ObjectStore& store);

  // `done` runs in a later task. Deleting an object that is already gone succeeds.
  void perform(WriteRequest write, Done done);
  // The lease is lost: of every call that is under way, only the request that is already sent is performed. A call that
  // still had to send another one ends with kCancelled.
  void end_term() { ++term_; }
  // A live GET. `known_uid`: the instance the caller assumes to exist; if the server has another one or none, the
  // assumed instance is recorded as absent.
  void read(const ObjectPath& object, const std::string& known_uid, Read done);

 private:
  struct StoreOf {
    ObjectType type;
    ObjectStore* store;
  };

  // One call of perform().
  struct Call {
    uint64_t id;
    uint64_t term;
    WriteRequest write;
    Done done;
  };

  void patch_refused(const std::shared_ptr<const Call>& call, const Error& error);
  void put_metadata(const std::shared_ptr<const Call>& call, std::shared_ptr<const MetadataPut> put);
  // An answer, and its object if that has been decoded already.
  struct Answer {
    Result<std::string> text;
    std::optional<Result<Entry>> entry;
  };
  // Decodes a large answer on a worker first: it takes tens of milliseconds. One at a time: a parser takes 14 times the
  // memory of the text (pkg/api/decode/wire_value.cc).
  void open(const Resource& resource, Result<std::string> text, std::function<void(Answer)> then);
  void open_next();
  void finish(const std::shared_ptr<const Call>& call, Result<std::string> text);
  Handle send(const WriteRequest& write, RestClient::Done done);
  Result<Written> answered(const WriteRequest& write, Answer answer);
  Result<Written> written(const WriteRequest& write, Answer answer);
  Result<Found> found(const ObjectPath& object, const std::string& known_uid, Answer answer);
  StoreOf* store_of(const Resource& resource);
  // The handle of an answered call: destroy it last, because it owns the callback.
  Handle take(uint64_t call);

  static constexpr size_t kLargeAnswer = 64 * 1024;
  struct Large {
    std::shared_ptr<Answer> answer;
    std::function<Result<Entry>(std::string_view)> decode;
    std::function<void(Answer)> then;
  };

  Reactor& reactor_;
  RestClient& client_;
  const std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);  // for what workers bring back
  uint64_t next_ = 0;
  uint64_t term_ = 0;
  std::map<std::string, StoreOf> stores_;
  std::map<uint64_t, Handle> calls_;
  std::deque<Large> large_;  // at most as many as there are requests in flight; the first one is being decoded
  // "uid/" and "uid/status" of objects whose metadata or status no patch can change: their writes are PUTs at once.
  // Forgotten all at once when full, which costs each of them one refused patch.
  static constexpr size_t kMostUnpatchable = 4096;
  std::unordered_set<std::string> unpatchable_;
};

}  // namespace dra::client
