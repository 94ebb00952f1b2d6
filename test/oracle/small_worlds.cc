// All small worlds, by number.
#include "test/oracle/generator.h"

namespace dra::oracle {
namespace {

// Takes `number % choices` off the number.
uint64_t take(uint64_t& number, uint64_t choices) {
  const uint64_t digit = number % choices;
  number /= choices;
  return digit;
}

constexpr uint64_t kDeviceForms = 3 * 2 * 2;
constexpr uint64_t kRequestForms = 4;
// Devices, then requests, then constraint and counter size.
constexpr uint64_t kDeviceSets =
    kDeviceForms + kDeviceForms * kDeviceForms + kDeviceForms * kDeviceForms * kDeviceForms;
constexpr uint64_t kRequestSets = kRequestForms + kRequestForms * kRequestForms;

api::DeviceRequest small_request(uint64_t form, int number) {
  api::DeviceRequest request;
  request.name = "r" + std::to_string(number);
  api::DeviceSubRequest body;
  body.device_class_name = "any";
  body.allocation_mode = form == 2 ? "All" : "ExactCount";
  if (form != 2) body.count = form == 0 ? 1 : 2;
  if (form != 3) {
    request.exactly = body;
    return request;
  }
  body.name = "two";
  request.first_available.push_back(body);
  body.name = "one";
  body.count = 1;
  request.first_available.push_back(body);
  return request;
}

}  // namespace

uint64_t small_world_count() {
  return kDeviceSets * kRequestSets * 3 * 2;
}

World small_world(uint64_t number) {
  World world;
  world.id = "small-" + std::to_string(number);
  world.gates = all_gates();
  world.nodes.emplace_back().metadata.name = "n0";
  world.classes.emplace_back().metadata.name = "any";
  const uint64_t constraint = take(number, 3);
  const uint64_t counter = take(number, 2) + 1;
  uint64_t requests = take(number, kRequestSets);
  int request_count = requests < kRequestForms ? 1 : 2;
  if (request_count == 2) requests -= kRequestForms;
  uint64_t devices = number % kDeviceSets;
  int device_count = 1;
  for (uint64_t sets = kDeviceForms; devices >= sets; sets *= kDeviceForms) {
    devices -= sets;
    ++device_count;
  }
  api::ResourceSlice slice;
  slice.metadata.name = "devices";
  slice.driver = "d.example.com";
  slice.pool = {"p", 1, 2};
  slice.node_name = "n0";
  api::ResourceSlice counters = slice;
  counters.metadata.name = "counters";
  counters.shared_counters.push_back({"set", {{"slots", std::to_string(counter)}}});
  for (int d = 0; d < device_count; ++d) {
    api::Device& device = slice.devices.emplace_back();
    device.name = "d" + std::to_string(d);
    const uint64_t attribute = take(devices, 3);
    if (attribute < 2) device.attributes["p"] = std::string(attribute == 0 ? "x" : "y");
    if (take(devices, 2) == 1) world.allocated.insert({slice.driver, slice.pool.name, device.name});
    if (take(devices, 2) == 1) device.consumes_counters.push_back({"set", {{"slots", "1"}}});
  }
  world.slices = {slice, counters};
  api::ResourceClaim& claim = world.claims.emplace_back();
  claim.metadata.name = "c";
  claim.metadata.ns = "default";
  claim.metadata.uid = "c";
  for (int r = 0; r < request_count; ++r)
    claim.spec.requests.push_back(small_request(take(requests, kRequestForms), r));
  if (constraint > 0) {
    api::DeviceConstraint& one = claim.spec.constraints.emplace_back();
    (constraint == 1 ? one.match_attribute : one.distinct_attribute) = "d.example.com/p";
  }
  return world;
}

}  // namespace dra::oracle
