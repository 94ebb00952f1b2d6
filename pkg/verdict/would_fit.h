// WouldFit: the smallest changes that make a refused pod fit, each tried by the allocator before it is suggested.
//
//   for (const Suggestion& s : would_fit(facts, question, {claims, slices}).suggestions) print(s.text);
//
// For kubectl-dra: it tries many decisions and may take seconds. While it tries, it changes the inventory and the
// cluster; it restores them, even if it ends early. Not for the manager's thread.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pkg/verdict/verdict.h"

namespace dra::verdict {

enum class ChangeKind : uint8_t {
  kTolerateNodeTaint,    // a toleration of the pod
  kTolerateDeviceTaint,  // a toleration of a request
  kLessCpu,              // or another resource: the most that fits
  kDropSelector,         // of a request: one selector, or one of its && parts
  kRelease,              // the fewest claims
  kAddNode,              // one more node like X, with its devices free
  kFewerDevices,
  kUncordon,
  kLessCapacity,      // of a request: the most of one capacity that fits
  kDropNodeSelector,  // of the pod: one label, or the fewest
  kRepairDevice,      // its taint says that it is broken: nobody should tolerate that
};

struct Suggestion {
  ChangeKind kind = ChangeKind::kFewerDevices;
  std::string text;  // "tolerate taint dedicated=ml:NoSchedule (node-a)"
  // Which request: index in Question::claims, in its requests, in its alternatives (-1: exactly).
  size_t claim = 0, request = 0;
  int alternative = -1;
  std::string resource;  // kLessCpu; kLessCapacity: the capacity's name
  std::string quantity;  // kLessCapacity: what to ask for
  // kRelease: the claims (namespace/name). kAddNode, kUncordon: the node. kDropNodeSelector: the labels' keys.
  std::vector<std::string> names;
  // kLessCpu: the total to ask for, in the resource's unit of placement (thousandths of a cpu). kFewerDevices: the
  // count to ask for. kDropSelector: the index of the selector.
  int64_t amount = 0;
  std::string selector;  // kDropSelector: what is left of it; empty: nothing
  std::vector<api::Toleration> tolerations;
  std::vector<api::DeviceToleration> device_tolerations;
  // No smaller change of this kind makes it fit; false: the best that was found.
  bool smallest = true;
  std::string node;  // where it then fits
};

struct WouldFitOptions {
  size_t exact_holders = 12;      // up to this many holders, sets of claims are tried exhaustively
  size_t max_decisions = 10'000;  // tried in total
};

struct WouldFit {
  std::vector<Suggestion> suggestions;
  size_t decisions = 0;  // tried
  bool complete = true;  // false: ended by max_decisions
};

// The objects that the inventory and the cluster were filled with.
struct WorldObjects {
  std::span<const std::shared_ptr<const api::ResourceClaim>> claims;  // the allocated ones hold devices
  std::span<const std::shared_ptr<const api::ResourceSlice>> slices;  // without them no node is added
};

// For a question that does not fit.
WouldFit would_fit(const Facts& facts, const Question& question, const WorldObjects& objects,
                   const WouldFitOptions& options = {});

// The question with a suggestion applied, if the suggestion changes the pod or its claims; unchanged for other kinds.
// Owns what it points to.
struct ChangedQuestion {
  api::Pod pod;
  Question question;
};
std::unique_ptr<ChangedQuestion> apply_to_question(const Question& question, const Suggestion& suggestion);

}  // namespace dra::verdict
