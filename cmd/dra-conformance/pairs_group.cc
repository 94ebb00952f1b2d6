// dra-conformance pairs: lines with a group.
#include <nlohmann/json.hpp>

#include "cmd/dra-conformance/pairs_lines.h"

namespace dra::conformance {

PairsAnswer run_group_line(const std::string& text, const PairsFlags&) {
  const nlohmann::json source = nlohmann::json::parse(text);
  PairsAnswer answer;
  answer.id = source.value("id", "");
  answer.why = "groups are not decided by this build";
  answer.line = nlohmann::json({{"id", answer.id}, {"members", nullptr}, {"error", answer.why}}).dump();
  return answer;
}

}  // namespace dra::conformance
