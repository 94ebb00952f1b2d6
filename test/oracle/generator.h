// Generators of worlds: random ones from a seed, and all small ones by number.
#pragma once

#include <cstdint>

#include "pkg/base/random.h"
#include "test/oracle/world.h"

namespace dra::oracle {

// What a random world may contain beyond plain objects. All on: everything that a real cluster can contain.
struct Ingredients {
  bool several_nodes = true;
  bool per_device_nodes = true;
  bool counters = true;
  bool shared_devices = true;
  bool taints = true;
  bool binding_conditions = true;
  bool odd_pools = true;        // incomplete, invalid, obsolete
  bool selector_errors = true;  // selectors that fail on some devices
  bool limits = true;           // sometimes more devices than a claim may have
  bool gates_off = true;        // sometimes without one of the gates
  // What 1.37 and 1.38 add; off, so that the worlds of known seeds stay as they are.
  bool compatibility_groups = false;
  bool derived_attributes = false;
  bool either_capacity_name = false;
  int max_claims = 3;
  int max_devices = 8;
};

// A world from a seed; the same seed gives the same world on every machine. Small enough for the exhaustive search most
// of the time.
World random_world(uint64_t seed, const Ingredients& ingredients = {});

// Adds identities of silicon to a world: values that devices share, records of what is held, device plugins, classes
// that share (docs/design/identity.md).
World with_identities(World world, uint64_t seed);

// Every world of up to three devices (attribute x, y or none; free or held; with or without a counter), one or two
// requests (one, two, all, or two with one as alternative) and one constraint (none, match, distinct).
uint64_t small_world_count();
World small_world(uint64_t number);

}  // namespace dra::oracle
