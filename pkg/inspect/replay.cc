#include "pkg/inspect/replay.h"

#include <algorithm>

namespace dra::inspect {
namespace {

std::vector<std::string> sorted_devices(const api::AllocationResult& allocation) {
  std::vector<std::string> names;
  for (const auto& result : allocation.results)
    names.push_back(result.request + "=" + result.driver + "/" + result.pool + "/" + result.device);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

Result<Answer> replay(const Objects& objects, const std::string& target, const std::string& ns,
                      const StateOptions& options) {
  const std::string name = target.starts_with("pod/") ? target.substr(4) : target;
  const auto known = objects.pods.find(ns + "/" + name);
  if (known == objects.pods.end())
    return fail(Code::kNotFound, "pod " + quote(name) + " is not known in namespace " + ns);
  const std::shared_ptr<const api::Pod> was = known->second;
  const auto claims = claims_of(objects, *was);
  if (!claims) return fail(claims.error());
  Objects before = objects;
  auto pod = std::make_shared<api::Pod>(*was);
  pod->node_name.clear();
  before.pods[was->metadata.key()] = pod;
  std::vector<Claim> asked;
  for (const Claim& claim : *claims) {
    auto copy = std::make_shared<api::ResourceClaim>(*claim);
    const auto& reserved = claim->status.reserved_for;
    const bool alone =
        std::all_of(reserved.begin(), reserved.end(), [&](const auto& one) { return one.uid == was->metadata.uid; });
    if (alone) copy->status = {};
    before.claims[claim->metadata.key()] = copy;
    asked.push_back(std::move(copy));
  }
  State state(before, options);
  const Placed placed = state.place(pod.get(), asked);
  Answer answer{"DRAReplay"};
  const auto differs = [&](const std::string& line) {
    answer.lines.push_back(line);
    answer.status = Status::kNo;
  };
  if (placed.outcome != allocator::Outcome::kFeasible) {
    const bool waits = was->node_name.empty();
    if (waits)
      answer.lines.push_back("The same: pod " + was->metadata.key() + " does not fit: " + placed.why);
    else
      differs("Decided then: " + was->node_name + ". Decided now: it does not fit: " + placed.why);
    return answer;
  }
  if (!was->node_name.empty() && was->node_name != placed.node)
    differs("Node then: " + was->node_name + ". Node now: " + placed.node + ".");
  size_t next = 0;
  for (size_t i = 0; i < asked.size(); ++i) {
    if (asked[i]->status.allocation) continue;  // shared with others: kept
    const auto now = sorted_devices(placed.results[next++]);
    const auto& allocation = (*claims)[i]->status.allocation;
    const auto then = allocation ? sorted_devices(*allocation) : std::vector<std::string>();
    if (allocation && then != now)
      differs("Claim " + asked[i]->metadata.name + " then: " + join(then, ", ") + ". Now: " + join(now, ", ") + ".");
    else
      answer.lines.push_back("Claim " + asked[i]->metadata.name +
                             (allocation ? ": the same, " : " (not allocated then): ") + join(now, ", ") + ".");
  }
  answer.lines.insert(answer.lines.begin(),
                      answer.status == Status::kYes
                          ? "Pod " + was->metadata.key() + ": " +
                                (was->node_name.empty() ? "fits now, on " : "the same decision, on ") + placed.node +
                                "."
                          : "Pod " + was->metadata.key() + ": the decision differs.");
  return answer;
}

}  // namespace dra::inspect
