#include "test/oracle/generator.h"

#include <algorithm>
#include <array>

namespace dra::oracle {
namespace {

const std::array<std::string, 2> kDrivers = {"a.example.com", "b.example.com"};

class WorldMaker {
 public:
  WorldMaker(uint64_t seed, const Ingredients& ingredients) : random_(seed), with_(ingredients) {
    world_.id = "seed-" + std::to_string(seed);
    world_.gates = all_gates();
  }

  World make() {
    make_nodes();
    make_classes();
    const int pools = between(1, 4);
    for (int p = 0; p < pools && devices_ < with_.max_devices; ++p) make_pool(p);
    make_usage();
    const int claims = chance(60) ? 1 : between(1, with_.max_claims);
    for (int c = 0; c < claims; ++c) make_claim(c);
    return std::move(world_);
  }

 private:
  bool chance(unsigned percent) { return random_.below(100) < percent; }
  int between(int low, int high) {
    return low + static_cast<int>(random_.below(static_cast<uint64_t>(high - low + 1)));
  }
  template <class C>
  const typename C::value_type& one_of(const C& list) {
    return list[random_.below(list.size())];
  }

  void make_nodes() {
    const int count = with_.several_nodes ? (chance(50) ? 1 : between(2, 3)) : 1;
    for (int n = 0; n < count; ++n) {
      api::Node node;
      node.metadata.name = "n" + std::to_string(n);
      node.metadata.labels = {{"zone", chance(50) ? "za" : "zb"}, {"rank", std::to_string(n)}};
      world_.nodes.push_back(std::move(node));
    }
    world_.single_node = count == 1;
  }

  void make_classes() {
    auto add = [&](std::string name, std::vector<std::string> selectors, bool config) {
      api::DeviceClass out;
      out.metadata.name = std::move(name);
      out.selectors = std::move(selectors);
      if (config) out.config.push_back({kDrivers[0], "{\"of\":\"" + out.metadata.name + "\"}"});
      world_.classes.push_back(std::move(out));
    };
    add("any", {}, chance(20));
    add("a", {"device.driver == \"a.example.com\""}, chance(20));
    add("b", {"device.driver == \"b.example.com\""}, false);
    add("a-model-x", {"device.driver == \"a.example.com\" && device.attributes[\"a.example.com\"].model == \"x\""},
        false);
  }

  // ---- devices

  enum class Where { kNodeName, kSelector, kAllNodes, kPerDevice };

  api::NodeSelector some_selector() {
    api::NodeSelectorTerm term;
    switch (random_.below(4)) {
      case 0:
        term.match_expressions = {{"zone", "In", {chance(50) ? "za" : "zb"}}};
        break;
      case 1:
        term.match_expressions = {{"rank", "Lt", {"2"}}, {"zone", "Exists", {}}};
        break;
      case 2:
        term.match_expressions = {{"zone", "NotIn", {"zb"}}};
        break;
      default:
        term.match_fields = {{"metadata.name", "In", {"n0", "n1"}}};
    }
    return {{term}};
  }

  void make_pool(int number) {
    const std::string& driver = one_of(kDrivers);
    const std::string name = chance(25) ? "shared/pool" : "p" + std::to_string(number);
    for (const api::ResourceSlice& slice : world_.slices)
      if (slice.driver == driver && slice.pool.name == name) return;
    Where where = Where::kNodeName;
    if (chance(35)) where = chance(50) ? Where::kAllNodes : Where::kSelector;
    if (with_.per_device_nodes && chance(15)) where = Where::kPerDevice;
    pool_counters_ = with_.counters && chance(35);
    api::ResourceSlice base;
    base.driver = driver;
    base.pool.name = name;
    base.pool.generation = between(1, 3);
    switch (where) {
      case Where::kNodeName:
        base.node_name = one_of(world_.nodes).metadata.name;
        break;
      case Where::kSelector:
        base.node_selector = some_selector();
        break;
      case Where::kAllNodes:
        base.all_nodes = true;
        break;
      case Where::kPerDevice:
        base.per_device_node_selection = true;
    }
    std::vector<api::ResourceSlice> slices;
    const int device_slices = chance(70) ? 1 : 2;
    int next_device = 0;
    for (int s = 0; s < device_slices; ++s) {
      api::ResourceSlice slice = base;
      const int count = std::min(between(1, 4), with_.max_devices - devices_);
      for (int d = 0; d < count; ++d, ++devices_) slice.devices.push_back(make_device(driver, next_device++, where));
      slices.push_back(std::move(slice));
    }
    if (pool_counters_) slices.push_back(counter_slice(base));
    finish_pool(number, std::move(slices));
  }

  api::ResourceSlice counter_slice(api::ResourceSlice base) {
    for (int set = 0; set < 2; ++set)
      base.shared_counters.push_back(
          {"set" + std::to_string(set),
           {{"mem", std::to_string(between(2, 8)) + "0Gi"}, {"slots", std::to_string(between(1, 3))}}});
    return base;
  }

  void finish_pool(int number, std::vector<api::ResourceSlice> slices) {
    for (size_t s = 0; s < slices.size(); ++s) {
      slices[s].pool.resource_slice_count = static_cast<int64_t>(slices.size());
      // Names whose order is not the order of making.
      slices[s].metadata.name = std::string(1, static_cast<char>('a' + random_.below(3))) + "-" +
                                std::to_string(number) + "-" + std::to_string(s);
    }
    if (with_.odd_pools && chance(12)) {
      switch (random_.below(4)) {
        case 0:  // incomplete
          ++slices[0].pool.resource_slice_count;
          for (api::ResourceSlice& slice : slices)
            slice.pool.resource_slice_count = slices[0].pool.resource_slice_count;
          break;
        case 1:  // invalid: a name twice
          if (!slices[0].devices.empty()) {
            slices[0].devices.push_back(slices[0].devices[0]);
            ++devices_;
          }
          break;
        case 2:  // invalid: a counter that nobody declares
          if (!slices[0].devices.empty()) slices[0].devices[0].consumes_counters = {{"nowhere", {{"mem", "1"}}}};
          break;
        default: {  // what an older generation left behind
          api::ResourceSlice old = slices[0];
          old.metadata.name = "0-old-" + std::to_string(number);
          --old.pool.generation;
          for (api::Device& device : old.devices) device.name = "old-" + device.name;
          slices.push_back(std::move(old));
        }
      }
    }
    for (api::ResourceSlice& slice : slices) world_.slices.push_back(std::move(slice));
  }

  api::Device make_device(const std::string& driver, int number, Where where) {
    api::Device device;
    device.name = "d" + std::to_string(number);
    add_attributes(driver, number, device);
    device.capacity["memory"].value = std::to_string(between(1, 4)) + "0Gi";
    if (chance(15)) device.capacity["cores"].value = std::to_string(between(1, 8));
    if (where == Where::kPerDevice) {
      switch (random_.below(3)) {
        case 0:
          device.node_name = one_of(world_.nodes).metadata.name;
          break;
        case 1:
          device.node_selector = some_selector();
          break;
        default:
          device.all_nodes = true;
      }
    }
    if (with_.shared_devices && chance(25)) make_shared(device);
    if (pool_counters_ && chance(70)) add_counters(device);
    if (with_.taints && chance(18)) {
      static const std::array<std::string, 4> kEffects = {"NoSchedule", "NoExecute", "None", "NoSchedule"};
      device.taints.push_back({chance(50) ? "k" : "l", chance(50) ? "v" : "w", one_of(kEffects), ""});
      if (chance(25)) device.taints.push_back({"m", "", one_of(kEffects), ""});
    }
    if (with_.binding_conditions && chance(8)) {
      device.binding_conditions = {"example.com/ready"};
      device.binding_failure_conditions = {"example.com/failed"};
      device.binds_to_node = chance(50);
    }
    return device;
  }

  void add_attributes(const std::string& driver, int number, api::Device& device) {
    static const std::array<std::string, 3> kModels = {"x", "y", "z"};
    static const std::array<std::string, 3> kRoots = {"r0", "r1", "r2"};
    auto key = [&](const std::string& id) { return chance(15) ? driver + "/" + id : id; };
    device.attributes[key("model")] = one_of(kModels);
    device.attributes[key("index")] = int64_t{number};
    device.attributes[key("version")] = api::VersionText{chance(50) ? "1.0.0" : "1.2.0"};
    if (chance(85)) device.attributes[key("numa")] = int64_t{between(0, 1)};
    if (chance(30)) device.attributes[key("flag")] = chance(50);
    if (chance(80)) {
      // Standard attributes have a domain of their own, so they tie devices of different drivers together.
      api::DeviceAttribute roots = std::string(one_of(kRoots));
      if (chance(40)) {
        std::vector<std::string> list = {one_of(kRoots)};
        const std::string& second = one_of(kRoots);
        if (second != list[0]) list.push_back(second);
        roots = list;
      }
      device.attributes["resource.kubernetes.io/pcieRoot"] = roots;
    }
    if (chance(40)) {
      if (chance(50))
        device.attributes["example.com/lane"] = int64_t{between(0, 2)};
      else
        device.attributes["example.com/lane"] = std::vector<int64_t>{between(0, 1), between(2, 3)};
    }
  }

  void make_shared(api::Device& device) {
    device.allow_multiple_allocations = true;
    api::DeviceCapacity& memory = device.capacity["memory"];
    switch (random_.below(4)) {
      case 0:
        break;  // no policy: who asks for nothing takes it all
      case 1:
        memory.request_policy = {"5Gi", {}, api::CapacityRange{"5Gi", std::nullopt, "5Gi"}};
        break;
      case 2:
        memory.request_policy = {"5Gi", {"5Gi", "10Gi"}, std::nullopt};
        break;
      default:
        memory.request_policy = {"3Gi", {}, api::CapacityRange{"1Gi", "9Gi", "2Gi"}};
    }
  }

  void add_counters(api::Device& device) {
    const int sets = chance(75) ? 1 : 2;
    const int first = between(0, 1);
    for (int s = 0; s < sets; ++s) {
      api::CounterMap counters;
      if (chance(80)) counters["mem"] = std::to_string(between(1, 4)) + "0Gi";
      if (counters.empty() || chance(40)) counters["slots"] = "1";
      device.consumes_counters.push_back({"set" + std::to_string((first + s) % 2), counters});
    }
  }

  // ---- who holds what today

  void make_usage() {
    const unsigned busy = chance(40) ? 0 : 25;
    for (const api::ResourceSlice& slice : world_.slices)
      for (const api::Device& device : slice.devices) {
        if (!chance(busy)) continue;
        const DeviceName name{slice.driver, slice.pool.name, device.name};
        if (!device.allow_multiple_allocations) {
          world_.allocated.insert(name);
          continue;
        }
        // All capacities are in a share; of the policied one some, of the others everything.
        for (const auto& [capacity, value] : device.capacity)
          world_.consumed[name][capacity] = capacity == "memory" ? (chance(50) ? "5Gi" : "10Gi") : "1";
        world_.allocated_shares.insert({name, random_.uuid()});
      }
  }

  // ---- what is asked for

  std::string some_expression() {
    const std::string domain = chance(75) ? kDrivers[0] : kDrivers[1];
    const std::string attribute = "device.attributes[\"" + domain + "\"].";
    const bool risky = with_.selector_errors && chance(12);
    if (risky) return attribute + (chance(50) ? "numa == 0" : "model == \"x\"");
    const std::string guard = "device.driver == \"" + domain + "\" && ";
    switch (random_.below(8)) {
      case 0:
        return guard + attribute + "model == \"x\"";
      case 1:
        return guard + attribute + "model in [\"x\", \"y\"]";
      case 2:
        return guard + attribute + "index > 0";
      case 3:
        return guard + attribute + "index % 2 == 0";
      case 4:
        return guard + attribute + "version.isGreaterThan(semver(\"1.0.0\"))";
      case 5:
        return "\"numa\" in device.attributes[\"" + domain + "\"] && " + attribute + "numa == 0";
      case 6:
        return "!device.attributes[\"" + domain + "\"].?flag.orValue(false)";
      default:
        return guard + "device.capacity[\"" + domain + "\"].memory.compareTo(quantity(\"20Gi\")) >= 0";
    }
  }

  api::DeviceSubRequest make_body() {
    static const std::array<std::string, 6> kClasses = {"any", "any", "a", "a", "b", "a-model-x"};
    api::DeviceSubRequest body;
    body.device_class_name = one_of(kClasses);
    if (chance(12)) {
      body.allocation_mode = "All";
    } else {
      body.allocation_mode = "ExactCount";
      body.count = chance(65) ? 1 : between(2, 3);
      if (chance(1)) body.count = 33;
    }
    if (chance(35)) body.selectors.push_back(some_expression());
    if (chance(8)) body.selectors.push_back(some_expression());
    if (with_.taints && chance(25)) {
      static const std::array<std::string, 3> kEffects = {"", "NoSchedule", "NoExecute"};
      api::DeviceToleration toleration;
      toleration.effect = one_of(kEffects);
      toleration.key = chance(50) ? "k" : chance(50) ? "" : "l";
      toleration.op = chance(60) || toleration.key.empty() ? "Exists" : "Equal";
      if (toleration.op == "Equal") toleration.value = "v";
      body.tolerations.push_back(toleration);
    }
    if (with_.shared_devices && chance(20)) {
      static const std::array<std::string, 6> kAmounts = {"3Gi", "5Gi", "6Gi", "10Gi", "20Gi", "1"};
      body.capacity_requests["memory"] = one_of(kAmounts);
      if (chance(10)) body.capacity_requests["cores"] = "2";
    }
    return body;
  }

  void make_claim(int number) {
    api::ResourceClaim claim;
    claim.metadata.name = "c" + std::to_string(number);
    claim.metadata.ns = "default";
    claim.metadata.uid = "uid-" + std::to_string(number);
    const int requests = chance(50) ? 1 : between(1, 3);
    for (int r = 0; r < requests; ++r) {
      api::DeviceRequest request;
      request.name = "r" + std::to_string(r);
      if (chance(20)) {
        const int alternatives = between(1, 3);
        for (int a = 0; a < alternatives; ++a) {
          request.first_available.push_back(make_body());
          request.first_available.back().name = "s" + std::to_string(a);
        }
      } else {
        request.exactly = make_body();
        request.exactly->admin_access = chance(6);
      }
      claim.spec.requests.push_back(std::move(request));
    }
    const int constraints = chance(50) ? 0 : between(1, 2);
    for (int c = 0; c < constraints; ++c) claim.spec.constraints.push_back(make_constraint(claim.spec));
    if (chance(15))
      claim.spec.config.push_back({some_requests(claim.spec), api::OpaqueConfig{kDrivers[1], "{\"n\":1}"}});
    world_.claims.push_back(std::move(claim));
  }

  std::vector<std::string> some_requests(const api::ResourceClaimSpec& spec) {
    std::vector<std::string> out;
    if (chance(50)) return out;
    for (const api::DeviceRequest& request : spec.requests) {
      if (!chance(70)) continue;
      if (!request.first_available.empty() && chance(50))
        out.push_back(request.name + "/" + one_of(request.first_available).name);
      else
        out.push_back(request.name);
    }
    return out;
  }

  api::DeviceConstraint make_constraint(const api::ResourceClaimSpec& spec) {
    static const std::array<std::string, 6> kAttributes = {"resource.kubernetes.io/pcieRoot",
                                                           "resource.kubernetes.io/pcieRoot",
                                                           "a.example.com/numa",
                                                           "a.example.com/model",
                                                           "example.com/lane",
                                                           "b.example.com/version"};
    api::DeviceConstraint out;
    out.requests = some_requests(spec);
    (chance(65) ? out.match_attribute : out.distinct_attribute) = one_of(kAttributes);
    return out;
  }

  SeededRandom random_;
  const Ingredients with_;
  World world_;
  int devices_ = 0;
  bool pool_counters_ = false;
};

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

World random_world(uint64_t seed, const Ingredients& ingredients) {
  return WorldMaker(seed, ingredients).make();
}

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
