#include "test/integration/faults.h"

namespace dra::integration {

client::Response refused_by_webhook() {
  client::Response answer;
  answer.status = 500;
  answer.content_type = "application/json";
  answer.body = R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)"
                R"("message":"failed calling webhook","reason":"InternalError","code":500})";
  return answer;
}

client::FaultPlan lagging(Random& random, Duration lag) {
  return [&random, lag](const client::Request&, bool streamed) {
    client::Fault fault;
    fault.delay_request = Duration(random.below(20'000'000));
    fault.delay_answer = Duration(random.below(streamed ? static_cast<uint64_t>(lag.count()) : 20'000'000));
    return fault;
  };
}

}  // namespace dra::integration
