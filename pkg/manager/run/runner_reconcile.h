// What the Runner knows of a reconcile under way. For runner.cc and runner_reconcile.cc only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "pkg/manager/run/runner.h"

namespace dra::manager {

struct Runner::Run {
  uint64_t id = 0;
  ControllerQueue* controller = nullptr;
  reconcile::Key key;
  reconcile::ReconcileResult outcome;
  size_t at = 0;                    // the next effect, or the one under way
  std::string lock;                 // the object that this reconcile has locked
  bool asked = false;               // a live GET was answered: run the key again with what is known now
  bool broke_off = false;           // a write failed, or leadership was lost
  bool waited = false;              // for another reconcile to unlock the object it is about to write
  bool outdated = false;            // the object changed meanwhile: decide again
  bool left_out = false;            // a write for people was refused, or not sent
  bool refused_for_people = false;  // it was refused
  std::optional<Failure> failure;   // what the server refused or did not answer
  int rounds = 0;
  bool paid = false;        // holds a token of its reconciler's pacer
  uint64_t decided_at = 0;  // the time of the queue's parking lot when the reconciler ran
  std::map<std::string, reconcile::Presence> live_answers;
};

// "patch ResourceClaim/status": names the request by what it asks of the server, without the object.
std::string what_of(const reconcile::Write& write);
// Of the object: one write at a time.
std::string lock_name(const reconcile::Ref& object);
// Servers quote whole objects before they say what is wrong: this drops the middle.
std::string shortened(const std::string& message);

}  // namespace dra::manager
