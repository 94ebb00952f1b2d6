// What the Runner knows of a pass that is under way. For runner.cc and runner_pass.cc only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "pkg/manager/runner.h"

namespace dra::manager {

struct Runner::Pass {
  uint64_t id = 0;
  Lane* lane = nullptr;
  std::string key;
  reconcile::Outcome outcome;
  size_t at = 0;                    // the effect that is next, or under way
  std::string lock;                 // the object this pass has locked
  bool asked = false;               // a confirm was answered: run the key again with what is known now
  bool broke_off = false;           // a write failed, or leadership went
  bool waited = false;              // for another pass to let go of the object it is about to write
  bool outdated = false;            // meanwhile the object became another: to be decided anew
  bool left_out = false;            // a write for people was refused, or not tried
  bool refused_for_people = false;  // it was refused
  std::optional<Failure> failure;   // what the server refused or did not answer
  int rounds = 0;
  bool paid = false;        // holds a token of the lane's pacer
  uint64_t decided_at = 0;  // the time of the lane's parking lot when the reconciler ran
  std::map<std::string, reconcile::Presence> confirmations;
};

}  // namespace dra::manager
