// Open watches. Internal to this package.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "pkg/apiserver/model/selectors.h"
#include "pkg/apiserver/rest/call.h"

namespace dra::apiserver {

class WatchSession;

// Owns all open watches.
class WatchHub {
 public:
  // Finds a place for one more watch over the network, of which there are at most `most`. The user with most of them
  // gives one up: that whose client has read nothing for longest, else the oldest. False: this user has most of them,
  // and all are read.
  bool make_place(const std::string& user, size_t most, MonoTime now);
  void add(std::shared_ptr<WatchSession> session);
  void remove(const WatchSession* session);
  size_t size() const { return sessions_.size(); }
  void end_all();

  // True while the change with this revision has been written to few watches. The others get it in turns of their own,
  // so that one write does not take as long as its copies for hundreds of watches.
  bool writes_at_once(uint64_t revision);
  void wrote(size_t bytes) { bytes_of_change_ += bytes; }

 private:
  std::map<uint64_t, std::shared_ptr<WatchSession>> sessions_;  // oldest first
  uint64_t last_id_ = 0;
  uint64_t change_ = 0;
  size_t bytes_of_change_ = 0;
};

// The options of a list or watch, parsed and checked.
struct ListOptions {
  LabelSelector labels;
  FieldSelector fields;
  bool watch = false;
  bool allow_bookmarks = false;
  std::optional<bool> send_initial_events;
  std::string resource_version;
  uint64_t revision = 0;  // of resource_version
  std::string match;      // resourceVersionMatch
  int64_t limit = 0;
  std::string continue_token;
  std::optional<int64_t> timeout_seconds;
  std::string only_name;  // for old watch paths with a name

  bool selects() const { return !labels.empty() || !fields.empty(); }
  // As a part of kPortionBytes: an object that selectors are applied to may have to be parsed.
  size_t work_of_matching(const StoredObject& object) const { return selects() ? object.text().size() / 8 : 0; }
};
// What is done in one turn for a watch or for a list: so many bytes are encoded.
constexpr size_t kPortionBytes = size_t{64} << 10;
StatusOr<ListOptions> parse_list_options(const Call& call);

// True if the object is in the call's namespace and matches.
bool list_matches(const Call& call, const ListOptions& options, const std::string& key, const StoredObject& object);

// Calls `visit` for the objects of a table in the call's namespace, in key order, that come after a key.
void for_each_in_scope(const Call& call, const Store::Objects& objects,
                       const std::function<bool(const std::string& key, const StoredPtr&)>& visit,
                       const std::string& after = {});

void begin_watch(const Env& env, const CallPtr& call, ListOptions options);

}  // namespace dra::apiserver
