// Rules that the kinds of resource.k8s.io share (kubernetes/pkg/apis/resource/validation, 1.36): names, selectors,
// opaque configuration, tolerations, binding conditions. Functions append errors to `out`, in upstream's order.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "pkg/apiserver/model/field_error.h"

namespace dra::apiserver {

// Limits of the API types.
inline constexpr size_t kMaxRequests = 32;
inline constexpr size_t kMaxConstraints = 32;
inline constexpr size_t kMaxConfigs = 32;
inline constexpr size_t kMaxSelectors = 32;
inline constexpr size_t kMaxSubRequests = 8;
inline constexpr size_t kMaxResults = 32;
inline constexpr size_t kMaxReservedFor = 256;
inline constexpr size_t kMaxDeviceConditions = 8;
inline constexpr size_t kMaxBindingConditions = 4;
inline constexpr size_t kMaxDriverName = 63;
inline constexpr size_t kMaxPoolName = 253;
inline constexpr size_t kMaxIdentifier = 32;
inline constexpr size_t kMaxExpressionLength = 10 * 1024;
inline constexpr size_t kNoLimit = static_cast<size_t>(-1);

using ItemCheck = std::function<void(FieldErrors&, const FieldPath&, const Json&)>;
using ItemKey = std::function<std::string(const Json&)>;

// A single TooMany if there are more than `max` items; else every item's errors.
void check_list(FieldErrors& out, const FieldPath& path, const Json& list, size_t max, const ItemCheck& check);
// check_list, then a Duplicate (of the text that `key` returns, quoted) for each item with the key of an earlier one.
void check_set(FieldErrors& out, const FieldPath& path, const Json& list, size_t max, const ItemCheck& check,
               const ItemKey& key);

void check_driver_name(FieldErrors& out, const FieldPath& path, const std::string& name);
void check_pool_name(FieldErrors& out, const FieldPath& path, const std::string& name);
void check_dns_label(FieldErrors& out, const FieldPath& path, const std::string& name);
void check_dns_subdomain(FieldErrors& out, const FieldPath& path, const std::string& name);
// A C identifier or domain/identifier. As in 1.36, a name with two or more slashes is not checked.
void check_attribute_name(FieldErrors& out, const FieldPath& path, const std::string& name);
void check_fully_qualified_name(FieldErrors& out, const FieldPath& path, const std::string& name);
void check_share_id(FieldErrors& out, const FieldPath& path, const std::string& uid);
// `stored`: the list with this selector did not change, so it is not compiled again.
void check_selectors(FieldErrors& out, const FieldPath& path, const Json& selectors, bool stored);
// A RawExtension that must be a JSON object of at most `max` bytes; `stored` values may be longer.
void check_raw_object(FieldErrors& out, const FieldPath& path, const Json& value, bool stored, size_t max);
void check_device_configuration(FieldErrors& out, const FieldPath& path, const Json& config, bool stored);
void check_toleration(FieldErrors& out, const FieldPath& path, const Json& toleration);
void check_taint(FieldErrors& out, const FieldPath& path, const Json& taint);
void check_binding_conditions(FieldErrors& out, const FieldPath& path, const Json& holder);

// Requests of a claim by name, each with the names of its subrequests.
using RequestNames = std::map<std::string, std::set<std::string>>;
RequestNames request_names(const Json& device_claim);
void check_request_reference(FieldErrors& out, const FieldPath& path, const std::string& name,
                             const RequestNames& names);

// One selector expression as an API server's validation judges it.
void check_cel_expression(FieldErrors& out, const FieldPath& path, const std::string& expression);

}  // namespace dra::apiserver
