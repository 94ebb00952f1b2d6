// Checks of doctor about what drivers publish and claims ask of it. Pure.
#pragma once

#include <string>
#include <vector>

#include "pkg/inspect/state/alignment.h"
#include "pkg/inspect/state/state.h"

namespace dra::inspect {

// A class whose selectors match no published device, while pods or claims wait for one.
struct UnservedClass {
  std::string device_class;
  std::string finding;  // one sentence
  std::string to_do;
};
// In the order of names. Classes with selectors that do not compile are left out: doctor names them otherwise.
std::vector<UnservedClass> unserved_classes(const State& state);

// An attribute that says nothing on some nodes, and the claims and templates that align by it.
struct UselessAlignment {
  SilentAttribute silent;
  std::vector<std::string> users;  // "ResourceClaimTemplate ml/pair"; at most kMostUsers
  size_t more_users = 0;
};
inline constexpr size_t kMostUsers = 3;
std::vector<UselessAlignment> useless_alignments(const Objects& objects);

// Devices with one taint (NoSchedule or NoExecute), by the rules that give it, or by the driver that publishes it.
struct TaintedDevices {
  std::string taint;               // "key=value:Effect"
  std::string driver;              // that publishes the taint; empty: rules give it
  std::vector<std::string> rules;  // names of DeviceTaintRules
  size_t devices = 0;
  std::string first;  // "driver/pool/device"
};
// Those of rules first. A device counts once for each of its taints and givers.
std::vector<TaintedDevices> tainted_devices(const Objects& objects);
std::string words_of(const TaintedDevices& tainted);
std::string remedy_of(const TaintedDevices& tainted);

}  // namespace dra::inspect
