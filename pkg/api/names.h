// Formats of names (k8s.io/apimachinery/pkg/util/validation and .../pkg/api/validate/content, Kubernetes 1.36). Each
// function returns what is wrong with a text, in the API server's words, and nothing for a valid text. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dra::api {

using Problems = std::vector<std::string>;

inline constexpr size_t kDnsLabelMax = 63;
inline constexpr size_t kDnsSubdomainMax = 253;
inline constexpr size_t kLabelMax = 63;  // label values, and label keys after their prefix

Problems dns_label_problems(std::string_view text);       // RFC 1123, at most 63 bytes
Problems dns_subdomain_problems(std::string_view text);   // RFC 1123, at most 253 bytes
Problems dns1035_label_problems(std::string_view text);   // service names
Problems qualified_name_problems(std::string_view text);  // label keys: [domain/]name
Problems label_value_problems(std::string_view text);

// "msg (e.g. 'a',  or 'b', regex used for validation is 'r')".
std::string regex_error(std::string_view message, std::string_view regex, const std::vector<std::string>& examples);

}  // namespace dra::api
