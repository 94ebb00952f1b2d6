// whatif: which pods would move, wait or start after a change. Simulated on a copy of what was read; writes nothing.
//
// The rules are the manager's in bind mode on an otherwise idle cluster: waiting pods are decided by priority, then
// age, groups whole, and what one takes is gone for the next (waiting.h). A deleted pod with a controller (not a
// DaemonSet) is recreated, without what the manager wrote into it (successor.h), with new claims from its templates.
// Nobody preempts meanwhile: preempt.h and make_room.h say who would go, or move, so that others fit. Pure.
#pragma once

#include <string>
#include <vector>

#include "pkg/inspect/answer/answer.h"
#include "pkg/inspect/state/state.h"
#include "pkg/inspect/state/successor.h"

namespace dra::inspect {

struct Change {
  enum class Kind : uint8_t { kDelete, kDrain, kCordon, kTaint, kAddNode, kScale };
  Kind kind = Kind::kDelete;
  std::string target;  // kDelete: "pod/X", "claim/X", "deployment/X"; kScale: "deployment/X"; kTaint: "NODE[/DEVICE]";
                       // otherwise a node
  api::DeviceTaint taint;  // kTaint
  uint32_t count = 1;      // kAddNode: how many; kScale: replicas
  bool all = false;        // kTaint, instead of a target: every device of the cluster
  bool alone = false;      // kTaint: the device alone, not what draws on the same silicon (taint.h)
};
// The names of the kinds on a command line: "delete", "drain", "cordon", "taint", "add-node", "scale".
Result<Change::Kind> change_kind_of(std::string_view word);

enum class Fate : uint8_t {
  kMoves,         // leaves its node and runs on another (or the same) one
  kWaits,         // leaves its node or is new, and no node accepts it
  kGone,          // leaves and is not recreated
  kStarts,        // waited, and fits only after the change
  kStartsAnyway,  // waited, and fits with or without
  kStaysWaiting,
  kNoLonger,  // waited, would have fitted, and no longer does after the change
};
std::string_view fate_name(Fate fate);
// The pod leaves its node, whatever comes after.
bool is_of_leaving(Fate fate);

struct PodFate {
  std::string pod;  // namespace/name
  Fate fate = Fate::kMoves;
  std::string before;  // node, or ""
  std::string after;   // node, or ""
  std::vector<std::string> devices;
  std::string why;      // why it waits
  std::string cause{};  // its code (pkg/verdict/causes.h), where it is one of a refusal
};

// kTaint of one device: which devices would get the taint, and what rules of others do with it; empty for others.
std::string taint_reaches(const Objects& objects, const Change& change);

// The owners whose pods the change creates anew, in no order, at most kMaxOwnersRead: if add_owner() adds their
// templates to the objects, whatif() uses these. Without a template the old pod is the model. Empty also for a wrong
// change.
inline constexpr size_t kMaxOwnersRead = 64;
std::vector<OwnerToRead> owners_of_change(const Objects& objects, const Change& change, const std::string& ns);

// Unaffected pods are left out. Errors: the object is not known.
Result<std::vector<PodFate>> whatif(const Objects& objects, const Change& change, const StateOptions& options,
                                    const std::string& ns);

// Status: kNo if a pod that ran before waits or is gone.
Answer whatif_answer(const std::vector<PodFate>& fates, const Objects& objects);

// "key=value:Effect", "key:Effect".
Result<api::DeviceTaint> parse_taint(std::string_view text);

}  // namespace dra::inspect
