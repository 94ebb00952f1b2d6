// Open watches. Internal to this package.
#pragma once

#include <map>
#include <memory>

#include "pkg/apiserver/rest/call.h"
#include "pkg/apiserver/selectors.h"

namespace dra::apiserver {

class WatchSession;

// Owns all open watches.
class WatchHub {
 public:
  void add(std::shared_ptr<WatchSession> session);
  void remove(const WatchSession* session);
  size_t size() const { return sessions_.size(); }
  void end_all();

 private:
  std::map<const WatchSession*, std::shared_ptr<WatchSession>> sessions_;
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
};
StatusOr<ListOptions> parse_list_options(const Call& call);

// True if the object is in the call's namespace and matches.
bool list_matches(const Call& call, const ListOptions& options, const std::string& key, const StoredObject& object);

// Calls `visit` for the objects of a table in the call's namespace, in key order.
void for_each_in_scope(const Call& call, const Store::Objects& objects,
                       const std::function<bool(const std::string& key, const StoredPtr&)>& visit);

void begin_watch(const Env& env, const CallPtr& call, ListOptions options);

}  // namespace dra::apiserver
