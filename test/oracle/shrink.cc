#include "test/oracle/shrink.h"

#include <iterator>

namespace dra::oracle {
namespace {

// Every way of making a world one thing smaller, as functions of a number: apply(n, world) makes the n-th change and
// returns false if there are fewer.
class Reducer {
 public:
  explicit Reducer(World& world, size_t number) : world_(world), left_(number) {}

  bool apply() {
    drop_from(world_.nodes, 1) || drop_from(world_.claims, 1) || drop_slice() || claims() || slices() || usage() ||
        drop_from(world_.classes, 1) || classes() || drop_from(world_.taint_rules);
    return done_;
  }

 private:
  // Counts down to the requested change; true if this is the one.
  bool mine() {
    if (done_ || left_-- != 0) return false;
    return done_ = true;
  }

  template <class List>
  bool drop_from(List& list, size_t keep = 0) {
    if (list.size() <= keep) return false;
    for (auto item = list.begin(); item != list.end(); ++item)
      if (mine()) {
        list.erase(item);
        return true;
      }
    return false;
  }

  template <class T>
  bool reset(T& value) {
    if (value == T{} || !mine()) return false;
    value = T{};
    return true;
  }

  // A slice is removed together with its share of the announced count.
  bool drop_slice() {
    for (size_t i = 0; i < world_.slices.size(); ++i) {
      if (!mine()) continue;
      const api::ResourceSlice gone = world_.slices[i];
      world_.slices.erase(world_.slices.begin() + static_cast<std::ptrdiff_t>(i));
      for (api::ResourceSlice& slice : world_.slices)
        if (slice.driver == gone.driver && slice.pool.name == gone.pool.name &&
            slice.pool.generation == gone.pool.generation)
          --slice.pool.resource_slice_count;
      return true;
    }
    return false;
  }

  bool body(api::DeviceSubRequest& spec) {
    if (drop_from(spec.selectors) || drop_from(spec.tolerations) || drop_from(spec.capacity_requests)) return true;
    if (spec.derived_attributes && drop_from(*spec.derived_attributes)) return true;
    if (spec.admin_access && mine()) {
      spec.admin_access = false;
      return true;
    }
    if (spec.count > 1 && mine()) {
      --spec.count;
      return true;
    }
    return false;
  }

  bool claims() {
    for (api::ResourceClaim& claim : world_.claims) {
      if (drop_from(claim.spec.requests, 1) || drop_from(claim.spec.constraints) || drop_from(claim.spec.config))
        return true;
      for (api::DeviceRequest& request : claim.spec.requests) {
        if (request.exactly && body(*request.exactly)) return true;
        if (drop_from(request.first_available, 1)) return true;
        for (api::DeviceSubRequest& alternative : request.first_available)
          if (body(alternative)) return true;
      }
      for (api::DeviceConstraint& constraint : claim.spec.constraints)
        if (drop_from(constraint.requests)) return true;
    }
    return false;
  }

  bool slices() {
    for (api::ResourceSlice& slice : world_.slices) {
      if (drop_from(slice.devices) || drop_from(slice.shared_counters)) return true;
      for (api::CounterSet& set : slice.shared_counters)
        if (drop_from(set.counters)) return true;
      for (api::Device& device : slice.devices)
        if (drop_from(device.attributes) || drop_from(device.capacity) || drop_from(device.consumes_counters) ||
            drop_from(device.taints) || reset(device.allow_multiple_allocations) || reset(device.binds_to_node) ||
            drop_conditions(device) || policies(device) || drop_groups(device))
          return true;
    }
    return false;
  }

  bool drop_groups(api::Device& device) {
    for (api::DeviceCounterConsumption& consumption : device.consumes_counters)
      if (drop_from(consumption.compatibility_groups)) return true;
    return false;
  }

  bool drop_conditions(api::Device& device) {
    if (device.binding_conditions.empty() || !mine()) return false;
    device.binding_conditions.clear();
    device.binding_failure_conditions.clear();
    return true;
  }

  bool policies(api::Device& device) {
    for (auto& [name, capacity] : device.capacity)
      if (capacity.request_policy && mine()) {
        capacity.request_policy.reset();
        return true;
      }
    return false;
  }

  bool usage() {
    return drop_from(world_.allocated) || drop_from(world_.allocated_shares) || drop_from(world_.consumed);
  }

  bool classes() {
    for (api::DeviceClass& device_class : world_.classes)
      if (drop_from(device_class.selectors) || drop_from(device_class.config)) return true;
    return false;
  }

  World& world_;
  size_t left_;
  bool done_ = false;
};

}  // namespace

World shrink(World world, const std::function<bool(const World&)>& fails, int max_tries) {
  size_t number = 0;
  size_t since_success = 0;
  while (max_tries-- > 0) {
    World smaller = world;
    if (!Reducer(smaller, number).apply()) {
      // After the last change: once more from the start, unless a whole round removed nothing.
      if (since_success >= number) break;
      number = 0;
      since_success = 0;
      continue;
    }
    if (fails(smaller)) {
      world = std::move(smaller);
      since_success = 0;
    } else {
      ++number;
      ++since_success;
    }
  }
  return world;
}

}  // namespace dra::oracle
