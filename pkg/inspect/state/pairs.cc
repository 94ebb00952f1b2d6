#include "pkg/inspect/state/pairs.h"

#include "pkg/protocol/pod_pairs.h"

namespace dra::inspect {

std::vector<allocator::PairRule> pairs_asked(const api::Pod* pod, const std::vector<Claim>& claims, std::string& why) {
  static const api::Pod kNoPod;
  const alignment::PodPairs read = protocol::pairs_of_pod(pod != nullptr ? *pod : kNoPod, claims);
  if (!read.refusal) return allocator::pair_rules(read.entries, claims);
  why = read.refusal->message;
  return {};
}

}  // namespace dra::inspect
