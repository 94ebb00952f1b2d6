#include "pkg/apiserver/rest/continue_token.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/apiserver/model/json_text.h"
#include "pkg/base/strings.h"

namespace dra::apiserver {

std::string encode_continue(const ContinueToken& token) {
  const nlohmann::json j = {{"v", "meta.k8s.io/v1"}, {"rv", token.revision}, {"start", token.start}};
  std::string out = base64_encode(j.dump());
  std::replace(out.begin(), out.end(), '+', '-');
  std::replace(out.begin(), out.end(), '/', '_');
  while (!out.empty() && out.back() == '=') out.pop_back();
  return out;
}

Result<ContinueToken> decode_continue(std::string_view text) {
  auto wrong = [](std::string_view what) {
    return fail(Code::kInvalidArgument, "continue key is not valid: " + std::string(what));
  };
  std::string standard(text);
  if (const size_t at = standard.find_first_of("=+/ \t\r\n"); at != std::string::npos)
    return wrong("illegal base64 data at input byte " + std::to_string(at));
  // A last group of one character encodes less than a byte.
  if (standard.size() % 4 == 1)
    return wrong("illegal base64 data at input byte " + std::to_string(standard.size() - 1));
  std::replace(standard.begin(), standard.end(), '-', '+');
  std::replace(standard.begin(), standard.end(), '_', '/');
  while (standard.size() % 4 != 0) standard += '=';
  std::string bytes;
  if (!base64_decode(standard, bytes)) return wrong("illegal base64 data");
  Json j;
  std::vector<std::string> duplicates;
  std::string error;
  if (!parse_json(bytes, j, duplicates, error)) return wrong(error);
  if (!j.is_object()) return wrong("not a token of this server");
  if (j.value("v", nlohmann::json()) != "meta.k8s.io/v1")
    return wrong("server does not recognize this encoded version");
  const auto rv = j.find("rv");
  const auto start = j.find("start");
  if (rv == j.end() || !rv->is_number_integer() || rv->get<int64_t>() == 0)
    return wrong("incorrect encoded start resourceVersion (version meta.k8s.io/v1)");
  if (start == j.end() || !start->is_string() || start->get_ref<const std::string&>().empty())
    return wrong("no start key");
  return ContinueToken{rv->get<int64_t>(), start->get<std::string>()};
}

}  // namespace dra::apiserver
