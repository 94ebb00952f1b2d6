// Step: the effects of one pass (reconcile) of a simulated component. Passes are pure functions of their objects and of
// the time; the simulation (simulation.h) performs their requests and runs them again when an object changes or
// `requeue_after` has passed.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/clock.h"

namespace dra::sandbox {

using Json = nlohmann::json;

// One HTTP request to the API server. If it is refused, that is logged and the pass runs again later.
struct ApiCall {
  std::string method;  // POST, PATCH (merge patch), DELETE
  std::string path;
  std::string body;
};

struct Step {
  std::vector<ApiCall> calls;
  std::optional<Duration> requeue_after;

  void requeue_in(Duration delay) {
    if (!requeue_after || delay < *requeue_after) requeue_after = delay;
  }
};

// Finds a claim by namespace and name; nullptr if there is none.
using ClaimLookup = std::function<const Json*(std::string_view ns, std::string_view name)>;

// Pod annotations that control how the simulated kubelet ends the containers.
inline constexpr std::string_view kRunSecondsAnnotation = "dra-sandbox/run-seconds";
inline constexpr std::string_view kExitCodeAnnotation = "dra-sandbox/exit-code";

// The object's "namespace/name".
std::string object_key(const Json& object);
// The value at a JSON pointer; `fallback` if it is absent or of another type.
std::string text_at(const Json& object, const char* pointer, std::string_view fallback = "");
int64_t number_at(const Json& object, const char* pointer, int64_t fallback);
// True if the object's controlling owner reference has this uid.
bool controlled_by(const Json& object, std::string_view uid);

}  // namespace dra::sandbox
