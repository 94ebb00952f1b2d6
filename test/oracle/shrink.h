// Shrinking: the smallest world that still fails.
#pragma once

#include <functional>

#include "test/oracle/world.h"

namespace dra::oracle {

// Removes things from the world, one at a time, as long as `fails` stays true: nodes, claims, requests, alternatives,
// constraints, selectors, tolerations, slices, devices, attributes, usage. Ends when nothing more can be removed or
// after `max_tries` calls of `fails`.
World shrink(World world, const std::function<bool(const World&)>& fails, int max_tries = 20'000);

}  // namespace dra::oracle
