// Words for device groups, shared by sentence() and text(). Internal to pkg/verdict.
#pragma once

#include <string>

#include "pkg/verdict/verdict.h"

namespace dra::verdict {

// "2 x gpu", "all gpu".
std::string wanted_words(const RequestVerdict& request);
// What follows the number: "in use", "tainted (key=value:NoSchedule)".
std::string problem_words(const RequestVerdict& request, const DeviceGroup& group, bool several_nodes);
// "claim ns/c (pod ns/p)", ..., "3 more"; empty: no holder, or none that may be named.
std::string holder_words(const DeviceGroup& group, size_t most);
// "on every node, all devices need ..., and pool a/p is invalid: WHY", if a pool rules mode All out somewhere.
std::string blocked_words(const Verdict& verdict, const RequestVerdict& request);
// "no node has more than 8 of the 24 devices of class gpu", if no node has enough of them, in use or not.
std::string too_few_there_words(const Verdict& verdict, const RequestVerdict& request);
// "7 nodes without a device of class gpu": of the nodes that do not take the pod; empty if there is none.
std::string without_class_words(const Verdict& verdict);
// Why the class selects no device here; empty if it selects some.
std::string unselected_words(const RequestVerdict& request);

}  // namespace dra::verdict
