#include "pkg/protocol/pod_status.h"

namespace dra::protocol {

void write_conditions(JsonText& out, const api::Condition& condition, const std::string& since,
                      std::optional<int64_t> generation) {
  out.array("conditions", [&] {
    out.object([&] {
      out.member("lastTransitionTime", since);
      out.member("message", condition.message);
      if (generation) out.member("observedGeneration", *generation);
      out.member("reason", condition.reason);
      out.member("status", condition.status);
      out.member("type", condition.type);
    });
  });
}

}  // namespace dra::protocol
