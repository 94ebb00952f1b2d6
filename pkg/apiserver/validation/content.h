// Formats of names and values (k8s.io/apimachinery/pkg/util/validation, api/validate/content): each function returns
// what is wrong with a text, in upstream's words, and nothing when the text is right. All are pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/apiserver/field_error.h"

namespace dra::apiserver {

using Problems = std::vector<std::string>;

inline constexpr size_t kDnsLabelMax = 63;
inline constexpr size_t kDnsSubdomainMax = 253;

Problems dns_label_problems(std::string_view text);       // RFC 1123, at most 63 bytes
Problems dns_subdomain_problems(std::string_view text);   // RFC 1123, at most 253 bytes
Problems dns1035_label_problems(std::string_view text);   // service names
Problems qualified_name_problems(std::string_view text);  // label keys: [domain/]name
Problems label_value_problems(std::string_view text);
Problems c_identifier_problems(std::string_view text);  // format only, not the length
Problems config_map_key_problems(std::string_view text);
Problems condition_reason_problems(std::string_view text);
Problems env_var_name_problems(std::string_view text);  // printable ASCII without '='
Problems port_name_problems(std::string_view text);
// "must be between 1 and 65535, inclusive"
Problems range_problems(int64_t value, int64_t min, int64_t max);

// "msg (e.g. 'a',  or 'b', regex used for validation is 'r')".
std::string regex_error(std::string_view message, std::string_view regex, const std::vector<std::string>& examples);

// Appends one Invalid per problem.
void add_problems(FieldErrors& out, const FieldPath& path, std::string_view value, const Problems& problems);
void add_errors(FieldErrors& out, FieldErrors more);

// metav1 ValidateLabelName: a label key (taints, condition types).
void check_label_name(FieldErrors& out, const FieldPath& path, std::string_view value);
// metav1 ValidateLabels: keys and values, all reported at the map's path, in key order.
void check_labels(FieldErrors& out, const FieldPath& path, const Json& labels);
// ValidateAnnotations: keys and the total size.
void check_annotations(FieldErrors& out, const FieldPath& path, const Json& annotations);
// metav1 ValidateConditions.
void check_conditions(FieldErrors& out, const FieldPath& path, const Json& conditions);
// metav1 ValidateLabelSelector: matchLabels and matchExpressions.
void check_label_selector(FieldErrors& out, const FieldPath& path, const Json& selector);
// Does a (valid) LabelSelector match these labels? An empty selector matches everything.
bool label_selector_matches(const Json& selector, const Json& labels);

}  // namespace dra::apiserver
