// format.dns1123Label() and the like: k8s.io/apiserver/pkg/cel/library format.go, whose rules come from
// k8s.io/apimachinery (validation) and k8s.io/kube-openapi (strfmt).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dra::cel::lib {

// All formats are constants: compare them by address.
struct NamedFormat {
  std::string_view name;
  // Code points of the expression upstream charges validate() for.
  uint64_t regex_size;
  // Messages that say why the text is not of this format; none when it is.
  std::vector<std::string> (*validate)(std::string_view text);
};

// By name ("dns1123Label"), or null.
const NamedFormat* find_named_format(std::string_view name);

}  // namespace dra::cel::lib
