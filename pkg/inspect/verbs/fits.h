// fits: would these pods and claims fit now, on an empty cluster, or never? The manager's own allocator and placement
// decide; nothing is written.
#pragma once

#include <string>
#include <vector>

#include "pkg/inspect/answer/answer.h"
#include "pkg/inspect/state/manifest.h"
#include "pkg/inspect/state/state.h"

namespace dra::inspect {

inline constexpr uint32_t kMaxCopies = 10'000;
inline constexpr uint32_t kMostMore = 100;  // "how many more" is counted up to this

struct FitsOptions {
  StateOptions state;
  uint32_t copies = 0;    // of each workload and of each claim that no workload uses; 0: as in the file
  bool on_empty = false;  // ask about the empty cluster only
  bool count_more = true;
};

enum class Fit : uint8_t {
  kNow,
  kWhenEmpty,
  kAlone,  // with on_empty: on the empty cluster, but not beside what comes before it in the file
  kNever,
  kUnknown,
  kBroken,  // it names a claim or a template that is neither in the file nor in the cluster
};
std::string_view fit_name(Fit fit);  // "now", "when empty", "alone", "never", "unknown", "broken"

struct FitAnswer {
  std::string what;  // "deployment/train", "resourceclaim/a"
  Fit fit = Fit::kNever;
  uint32_t copies = 0;                       // requested
  uint32_t placed = 0;                       // that fit (now, or on the empty cluster with on_empty)
  uint32_t more = 0;                         // that fit in addition
  bool more_counted_out = true;              // false: counting stopped at kMostMore
  std::vector<std::string> nodes;            // of the copies that were placed
  std::vector<api::AllocationResult> first;  // devices of the first copy
  std::string why;                           // why not all fit
  std::string cause{};                       // its code (pkg/verdict/causes.h), where it is a refusal of one copy
};

// A group (a PodGroup, or a Job with the annotation) is judged as a whole, in one search: its members are those of the
// file, and it fits if spec.minCount (minMember) of them fit at once; else none of them is placed. `copies` does not
// multiply its members.
//
// One answer for each group and for each other workload, claim and template of the manifest that no workload of it
// names, in the order of the file; each is placed beside those before it. `why` of one that never fits is about it
// alone.
Result<std::vector<FitAnswer>> fits(const Objects& objects, const Manifest& manifest, const FitsOptions& options);

Answer to_answer(const std::vector<FitAnswer>& found, const Manifest& manifest, const Objects& objects, bool on_empty);

}  // namespace dra::inspect
