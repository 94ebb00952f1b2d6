// GET pods/NAME/log: containers are simulated, so each has written one line, which names the devices it sees.
#pragma once

#include "pkg/apiserver/rest/call.h"

namespace dra::apiserver {

// Answers with the line of the container that the query names, or of the pod's only one. Refuses in the real server's
// words: several containers and none named, no such container, a container that has not started.
void pod_log(const Env& env, const CallPtr& call);

// "simulated container "c" of pod ns/p on node n sees gpu.example.com/pool/gpu-0 (claim c-x, request gpu)", without a
// newline. The devices are those of the claim requests that the container names, and of its extended resources; "no
// devices" if there are none. Pure except for the reader.
std::string container_line(const ObjectReader& reader, const Json& pod, const Json& container);

}  // namespace dra::apiserver
