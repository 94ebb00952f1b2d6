#include "pkg/apiserver/rest/stored_size.h"

#include <nlohmann/json.hpp>

#include "pkg/apiserver/codec/protobuf_answer.h"
#include "pkg/apiserver/model/json_text.h"
#include "pkg/apiserver/patch/managed_fields.h"
#include "pkg/apiserver/rest/write.h"

namespace dra::apiserver {

namespace {

constexpr size_t kMostInEtcd = 3 << 19;  // --max-request-bytes
constexpr size_t kMostToEtcd = 2 << 20;  // of a message of etcd's client
constexpr size_t kKeysOfARequest = 3;    // compared, put, and read if the comparison fails
constexpr size_t kRestOfARequest = 42;   // measured with kube-apiserver 1.36.2 and etcd 3.5
constexpr size_t kMostOfAnObject = 256;  // of what protobuf writes for one JSON object although its JSON is shorter
constexpr size_t kMostOfAnotherValue = 24;
constexpr size_t kMostOfAByte = 6;  // a control byte in JSON, which managedFields and RawExtensions are stored as

// Counts down from `budget` by no less than each value takes in protobuf or JSON; false when nothing is left.
bool fits(const Json& value, size_t& budget) {
  size_t takes = value.is_object() ? kMostOfAnObject : kMostOfAnotherValue;
  if (value.is_string()) takes += kMostOfAByte * value.get_ref<const std::string&>().size();
  if (takes > budget) return false;
  budget -= takes;
  if (value.is_object()) {
    for (const auto& [name, member] : value.items()) {
      const size_t of_name = kMostOfAByte * name.size();
      if (of_name > budget) return false;
      budget -= of_name;
      if (!fits(member, budget)) return false;
    }
  } else if (value.is_array()) {
    for (const Json& element : value)
      if (!fits(element, budget)) return false;
  }
  return true;
}

size_t request_bytes(const Kind& kind, const std::string& key, const Json& object) {
  const KindInfo& info = kind.info();
  const ObjectType* type = managed_type(kind, info.hub);
  const std::string version = info.hub.group.empty() ? info.hub.version : info.hub.group + "/" + info.hub.version;
  const size_t stored = type != nullptr ? protobuf_envelope(version, info.kind, encode_message(*type, object)).size()
                                        : compact_text(object).size();
  const size_t whole_key = std::string("/registry/").size() + registry_path(info).size() + key.size();
  return stored + kKeysOfARequest * whole_key + kRestOfARequest;
}

}  // namespace

StatusOr<void> fit_into_storage(const Kind& kind, const std::string& key, Json& object) {
  // Nearly all objects are small, which shows without encoding them.
  size_t budget = kMostInEtcd;
  if (fits(object, budget) || request_bytes(kind, key, object) <= kMostInEtcd) return {};
  object["metadata"].erase("managedFields");
  const size_t bytes = request_bytes(kind, key, object);
  if (bytes <= kMostInEtcd) return {};
  if (bytes <= kMostToEtcd) return fail_status(plain_error("etcdserver: request is too large"));
  return fail_status(plain_error("rpc error: code = ResourceExhausted desc = trying to send message larger than max (" +
                                 std::to_string(bytes - kRestOfARequest) + " vs. " + std::to_string(kMostToEtcd) +
                                 ")"));
}

}  // namespace dra::apiserver
