// Continue tokens of paged lists: unpadded base64url of {"v":"meta.k8s.io/v1","rv":R,"start":"KEY"}.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "pkg/base/error.h"

namespace dra::apiserver {

struct ContinueToken {
  int64_t revision = 0;  // of the first page's snapshot; -1 continues with the current state
  std::string start;     // the first key of the next page
};

std::string encode_continue(const ContinueToken& token);
Result<ContinueToken> decode_continue(std::string_view text);

}  // namespace dra::apiserver
