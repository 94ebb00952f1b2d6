// The life of a write, for the handlers of verbs and subresources. Internal to this package.
#pragma once

#include <functional>
#include <string>

#include "pkg/apiserver/patch/managed_fields.h"
#include "pkg/apiserver/rest/call.h"

namespace dra::apiserver {

WriteContext write_context(const Env& env, Call& call);
// The manager recorded for what this call writes.
ManagerTag manager_tag(const Env& env, const Call& call);

struct WriteResult {
  StoredPtr object;  // with the old resourceVersion if nothing was stored
  bool created = false;
};

// `object`: decoded, in the call's version; its name and namespace match the URL.
StatusOr<StoredPtr> create_object(const Env& env, Call& call, Json object, const ManagerTag& manager);

struct UpdateRules {
  bool is_put = false;           // a whole object; patches have different preconditions
  bool may_create = false;       // if it is absent
  bool keeps_key_order = false;  // a patch that keeps the text of untouched values
  std::string subresource;       // "status", or another that writes the main part
  ManagerTag manager;
};
// Makes the new object from the current one (in the call's version, without type fields; null if absent).
using Mutation = std::function<StatusOr<Json>(const Json* current)>;
StatusOr<WriteResult> update_object(const Env& env, Call& call, const std::string& name, const UpdateRules& rules,
                                    const Mutation& mutate);

// The Kind as 422 messages of this call name it.
GroupKind error_kind(const Call& call);
// "configmaps/": the part of an etcd key that names the kind, for messages.
std::string registry_path(const KindInfo& info);
// spec.finalizers also block the deletion of namespaces.
bool spec_finalizers_empty(const KindInfo& info, const Json& object);
void reset_status(const Kind& kind, Json& object);
// Equal owner references are kept once, with a warning.
void deduplicate_owner_references(Call& call, Json& meta);

}  // namespace dra::apiserver
