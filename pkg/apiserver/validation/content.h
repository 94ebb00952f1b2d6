// Formats of values other than names (for names: pkg/api/names.h), with the same conventions. All are pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/names.h"
#include "pkg/apiserver/model/field_error.h"

namespace dra::apiserver {

// An IPv4 or IPv6 address; with a prefix length ("10.0.0.0/24").
bool is_address(const std::string& text);
bool is_address_range(const std::string& text);

using api::dns1035_label_problems;
using api::dns_label_problems;
using api::dns_subdomain_problems;
using api::kDnsLabelMax;
using api::kDnsSubdomainMax;
using api::label_value_problems;
using api::Problems;
using api::qualified_name_problems;
using api::regex_error;

Problems c_identifier_problems(std::string_view text);  // format only, not the length
Problems config_map_key_problems(std::string_view text);
Problems condition_reason_problems(std::string_view text);
Problems env_var_name_problems(std::string_view text);  // printable ASCII without '='
Problems port_name_problems(std::string_view text);
// "must be between 1 and 65535, inclusive"
Problems range_problems(int64_t value, int64_t min, int64_t max);

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
