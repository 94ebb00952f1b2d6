// explain, for a workload that has no pods: why its controller made none, and whether they would fit. Pure.
#pragma once

#include <string>
#include <string_view>

#include "pkg/inspect/answer/answer.h"
#include "pkg/inspect/state/state.h"

namespace dra::inspect {

// `text`: the Job, Deployment, ReplicaSet, StatefulSet or DaemonSet as a server sends it. Status: kNo. An error: it is
// no such object.
Result<Answer> explain_without_pods(const Objects& objects, const StateOptions& options, const std::string& ns,
                                    std::string_view text);

}  // namespace dra::inspect
