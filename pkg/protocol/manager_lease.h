// What a manager says of itself on the Lease of its leader election, so that others need not reach it: annotations that
// the leader writes with each renewal, and a label to find the Lease by. kubectl-dra reads them. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/core.h"
#include "pkg/api/meta.h"
#include "pkg/base/timestamp.h"

namespace dra::protocol {

// The label that all objects of the chart have; of Leases, only the leader election's has it.
inline constexpr std::string_view kManagerLabel = "app.kubernetes.io/name";
inline constexpr std::string_view kManagerName = "dra-controller-manager";

// Longer texts are cut at a comma: a Lease is small.
inline constexpr size_t kMaxLeaseAnnotation = 4096;

struct ManagerNotes {
  std::string version;                       // of the program
  std::string mode;                          // "observe", "gate", "bind"
  std::string opt_in;                        // the chart's optIn.mode; empty: not installed by the chart
  std::vector<std::string> scheduler_names;  // bind mode: whose pods it binds
  std::vector<std::string> exclusive,
      shared;                // drivers, by who allocates their devices: this manager alone, or others too
  std::string usage{};       // why who used what is not counted, or not written; empty: it is, or it is switched off
  std::string preempts{};    // "on"; or why nobody is evicted although --preemption=on says so; empty: it is off
  std::string quarantine{};  // devices that nobody gets (pkg/protocol/avoided.h), or nothing
  std::string moves{};       // whom --defragment=on moved in the last hour (pkg/protocol/moves.h), the newest first
  bool operator==(const ManagerNotes&) const = default;
};

// An empty value: the annotation has to go. `opt_in` is not among them: the chart writes it.
api::StringMap annotations_of(const ManagerNotes& notes);
ManagerNotes notes_of(const api::StringMap& annotations);

enum class Leadership : uint8_t {
  kLeads,
  kLate,  // somebody holds the Lease and has not renewed it in time
  kNone,  // nobody holds it
};
// A holder is late after twice the duration of the Lease: clocks of different machines are compared here.
Leadership leadership_of(const api::Lease& lease, Timestamp now);

}  // namespace dra::protocol
