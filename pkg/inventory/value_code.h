// The encoding of attribute values as texts: equal texts mean equal values of equal type.
//
//   'i' + 8 bytes  int      'b' + '0' or '1'  bool      's' + text  string      'v' + text  version
//   'l' + (4 bytes length + code)...  list of one of these        '?'  no value
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/resource.h"

namespace dra::inventory {

std::string encode_value(const api::DeviceAttribute& value);
// A list of these values, each encoded.
std::string encode_list(const std::vector<std::string>& elements);
// The codes of the elements of a list; a scalar is a list of one. The views point into `code`.
std::vector<std::string_view> value_elements(std::string_view code);
// The value that was encoded.
api::DeviceAttribute decode_value(std::string_view code);
// The value as readable text: 5, true, "x".
std::string value_text(std::string_view code);

}  // namespace dra::inventory
