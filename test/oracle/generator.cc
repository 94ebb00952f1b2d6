#include "test/oracle/generator.h"

#include <algorithm>
#include <array>

#include "test/oracle/generator_dice.h"

namespace dra::oracle {
namespace {

class WorldMaker {
 public:
  WorldMaker(uint64_t seed, const Ingredients& ingredients) : dice_(seed), with_(ingredients) {
    world_.id = "seed-" + std::to_string(seed);
    world_.gates = all_gates();
  }

  World make() {
    make_nodes();
    make_classes();
    const int pools = dice_.between(1, 4);
    for (int p = 0; p < pools && devices_ < with_.max_devices; ++p) make_pool(p);
    if (with_.limits && dice_.chance(2)) make_crowd();
    make_usage();
    if (with_.taints && dice_.chance(15)) make_taint_rules();
    const int claims = dice_.chance(60) ? 1 : dice_.between(1, with_.max_claims);
    for (int c = 0; c < claims; ++c) world_.claims.push_back(random_claim(c, most_asked_, with_, dice_));
    if (with_.gates_off && dice_.chance(8)) world_.gates.erase(std::next(world_.gates.begin(), dice_.between(0, 6)));
    add_what_137_adds(world_, with_, dice_);
    return std::move(world_);
  }

 private:
  void make_nodes() {
    const int count = with_.several_nodes ? (dice_.chance(50) ? 1 : dice_.between(2, 3)) : 1;
    for (int n = 0; n < count; ++n) {
      api::Node node;
      node.metadata.name = "n" + std::to_string(n);
      node.metadata.labels = {{"zone", dice_.chance(50) ? "za" : "zb"}, {"rank", std::to_string(n)}};
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
    add("any", {}, dice_.chance(20));
    add("a", {"device.driver == \"a.example.com\""}, dice_.chance(20));
    add("b", {"device.driver == \"b.example.com\""}, false);
    add("a-model-x", {"device.driver == \"a.example.com\" && device.attributes[\"a.example.com\"].model == \"x\""},
        false);
    add("risky", {"device.attributes[\"a.example.com\"].numa == 0"}, false);
  }

  // ---- devices

  static inline const std::array<std::string, 4> kEffects = {"NoSchedule", "NoExecute", "None", "NoSchedule"};

  enum class Where { kNodeName, kSelector, kAllNodes, kPerDevice };

  api::NodeSelector some_selector() {
    api::NodeSelectorTerm term;
    switch (dice_.below(4)) {
      case 0:
        term.match_expressions = {{"zone", "In", {dice_.chance(50) ? "za" : "zb"}}};
        break;
      case 1:
        term.match_expressions = {{"rank", "Lt", {"2"}}, {"zone", "Exists", {}}};
        break;
      case 2:
        term.match_expressions = {{"zone", "NotIn", {"zb"}}};
        break;
      default:
        // Field requirements have one value, as the API server requires.
        term.match_fields = {{"metadata.name", "In", {dice_.chance(50) ? "n0" : "n1"}}};
    }
    return {{term}};
  }

  // Rules that match nothing, everything, or what their selectors name.
  void make_taint_rules() {
    const int rules = dice_.between(1, 2);
    for (int r = 0; r < rules; ++r) {
      api::DeviceTaintRule& rule = world_.taint_rules.emplace_back();
      rule.metadata.name = "rule-" + std::to_string(r);
      rule.taint = {dice_.chance(50) ? "k" : "l", dice_.chance(50) ? "v" : "", dice_.one_of(kEffects), ""};
      rule.has_selector = dice_.chance(90);
      if (!rule.has_selector) continue;
      if (dice_.chance(50)) rule.driver = dice_.one_of(kDrivers);
      if (dice_.chance(30)) rule.pool = "p" + std::to_string(dice_.between(0, 2));
      if (dice_.chance(40)) rule.device = "d" + std::to_string(dice_.between(0, 3));
    }
  }

  // More devices than a claim may have results, all equal.
  void make_crowd() {
    api::ResourceSlice slice;
    slice.metadata.name = "crowd";
    slice.driver = dice_.one_of(kDrivers);
    slice.pool = {"crowd", 1, 1};
    slice.node_name = dice_.one_of(world_.nodes).metadata.name;
    most_asked_ = dice_.between(31, 34);
    for (int d = 0; d < most_asked_; ++d) slice.devices.emplace_back().name = "d" + std::to_string(d);
    world_.slices.push_back(std::move(slice));
  }

  void make_pool(int number) {
    const std::string& driver = dice_.one_of(kDrivers);
    const std::string name = dice_.chance(25) ? "shared/pool" : "p" + std::to_string(number);
    for (const api::ResourceSlice& slice : world_.slices)
      if (slice.driver == driver && slice.pool.name == name) return;
    Where where = Where::kNodeName;
    if (dice_.chance(35)) where = dice_.chance(50) ? Where::kAllNodes : Where::kSelector;
    if (with_.per_device_nodes && dice_.chance(15)) where = Where::kPerDevice;
    pool_counters_ = with_.counters && dice_.chance(35);
    api::ResourceSlice base;
    base.driver = driver;
    base.pool.name = name;
    base.pool.generation = dice_.between(1, 3);
    switch (where) {
      case Where::kNodeName:
        base.node_name = dice_.one_of(world_.nodes).metadata.name;
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
    const int device_slices = dice_.chance(70) ? 1 : 2;
    int next_device = 0;
    for (int s = 0; s < device_slices; ++s) {
      api::ResourceSlice slice = base;
      const int count = std::min(dice_.between(1, 4), with_.max_devices - devices_);
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
           {{"mem", std::to_string(dice_.between(2, 8)) + "0Gi"}, {"slots", std::to_string(dice_.between(1, 3))}}});
    return base;
  }

  void finish_pool(int number, std::vector<api::ResourceSlice> slices) {
    for (size_t s = 0; s < slices.size(); ++s) {
      slices[s].pool.resource_slice_count = static_cast<int64_t>(slices.size());
      // Names whose order differs from the order of creation.
      slices[s].metadata.name = std::string(1, static_cast<char>('a' + dice_.below(3))) + "-" + std::to_string(number) +
                                "-" + std::to_string(s);
    }
    if (with_.odd_pools && dice_.chance(12)) {
      switch (dice_.below(5)) {
        case 0:  // incomplete
          ++slices[0].pool.resource_slice_count;
          for (api::ResourceSlice& slice : slices)
            slice.pool.resource_slice_count = slices[0].pool.resource_slice_count;
          break;
        case 1:  // invalid: a duplicate name
          if (!slices[0].devices.empty()) {
            slices[0].devices.push_back(slices[0].devices[0]);
            ++devices_;
          }
          break;
        case 2:  // invalid: a counter that is not declared
          if (!slices[0].devices.empty()) slices[0].devices[0].consumes_counters = {{"nowhere", {{"mem", "1"}}}};
          break;
        case 3:  // another node publishes its own pool under this name
          add_twins(slices);
          break;
        default: {  // left by an older generation
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

  void add_twins(std::vector<api::ResourceSlice>& slices) {
    if (slices[0].node_name.empty() || pool_counters_) return;
    std::vector<api::ResourceSlice> twins = slices;
    const std::string node = dice_.one_of(world_.nodes).metadata.name;
    int more = 0;
    for (api::ResourceSlice& twin : twins) {
      more += static_cast<int>(twin.devices.size());
      twin.metadata.name = "twin-" + twin.metadata.name;
      twin.node_name = node;
    }
    if (devices_ + more > with_.max_devices) return;
    devices_ += more;
    slices.insert(slices.end(), twins.begin(), twins.end());
  }

  api::Device make_device(const std::string& driver, int number, Where where) {
    api::Device device;
    device.name = "d" + std::to_string(number);
    add_attributes(driver, number, device);
    device.capacity["memory"].value = std::to_string(dice_.between(1, 4)) + "0Gi";
    if (dice_.chance(20)) device.capacity["cores"].value = std::to_string(dice_.between(1, 8));
    if (where == Where::kPerDevice) {
      switch (dice_.below(3)) {
        case 0:
          device.node_name = dice_.one_of(world_.nodes).metadata.name;
          break;
        case 1:
          device.node_selector = some_selector();
          // In the API, devices, unlike slices, may have several terms.
          if (dice_.chance(25)) device.node_selector->terms.push_back(some_selector().terms[0]);
          break;
        default:
          device.all_nodes = true;
      }
    }
    if (with_.shared_devices && dice_.chance(25)) make_shared(device);
    if (pool_counters_ && dice_.chance(70)) add_counters(device);
    if (with_.taints && dice_.chance(18)) {
      device.taints.push_back({dice_.chance(50) ? "k" : "l", dice_.chance(50) ? "v" : "w", dice_.one_of(kEffects), ""});
      if (dice_.chance(25)) device.taints.push_back({"m", "", dice_.one_of(kEffects), ""});
    }
    if (with_.binding_conditions && dice_.chance(8)) {
      device.binding_conditions = {"example.com/ready"};
      device.binding_failure_conditions = {"example.com/failed"};
      device.binds_to_node = dice_.chance(50);
    }
    return device;
  }

  void add_attributes(const std::string& driver, int number, api::Device& device) {
    static const std::array<std::string, 3> kModels = {"x", "y", "z"};
    static const std::array<std::string, 3> kRoots = {"r0", "r1", "r2"};
    auto key = [&](const std::string& id) { return dice_.chance(15) ? driver + "/" + id : id; };
    device.attributes[key("model")] = dice_.one_of(kModels);
    device.attributes[key("index")] = int64_t{number};
    device.attributes[key("version")] = api::VersionText{dice_.chance(50) ? "1.0.0" : "1.2.0"};
    if (dice_.chance(85)) device.attributes[key("numa")] = int64_t{dice_.between(0, 1)};
    if (dice_.chance(30)) device.attributes[key("flag")] = dice_.chance(50);
    if (dice_.chance(80)) {
      // Standard attributes have their own domain, so they connect devices of different drivers.
      api::DeviceAttribute roots = std::string(dice_.one_of(kRoots));
      if (dice_.chance(40)) {
        std::vector<std::string> list = {dice_.one_of(kRoots)};
        const std::string& second = dice_.one_of(kRoots);
        if (second != list[0]) list.push_back(second);
        roots = list;
      }
      device.attributes["resource.kubernetes.io/pcieRoot"] = roots;
    }
    if (dice_.chance(40)) {
      if (dice_.chance(50))
        device.attributes["example.com/lane"] = int64_t{dice_.between(0, 2)};
      else
        device.attributes["example.com/lane"] = std::vector<int64_t>{dice_.between(0, 1), dice_.between(2, 3)};
    }
    if (dice_.chance(25)) {  // values of several types under one name
      api::DeviceAttribute& tags = device.attributes["example.com/tags"];
      switch (dice_.below(5)) {
        case 0:
          tags = std::vector<api::VersionText>{{"1.0.0"}, {"1.2.0"}};
          break;
        case 1:
          tags = api::VersionText{dice_.chance(50) ? "1.0.0" : "1.2.0"};
          break;
        case 2:
          tags = std::vector<bool>{dice_.chance(50)};
          break;
        case 3:
          tags = std::string("1.0.0");
          break;
        default:
          tags = std::vector<std::string>{"x", "1.0.0"};
      }
    }
  }

  void make_shared(api::Device& device) {
    device.allow_multiple_allocations = true;
    api::DeviceCapacity& memory = device.capacity["memory"];
    if (auto cores = device.capacity.find("cores"); cores != device.capacity.end() && dice_.chance(50))
      cores->second.request_policy = {"1", {}, api::CapacityRange{"500m", std::nullopt, std::nullopt}};
    switch (dice_.below(6)) {
      case 0:
        break;  // no policy: a request without an amount takes it all
      case 3:   // the default alone may exceed the capacity
        memory.request_policy = {dice_.chance(80) ? "4Gi" : "50Gi", {}, std::nullopt};
        break;
      case 4:  // a default off the grid to which requests are rounded
        memory.request_policy = {"6Gi", {}, api::CapacityRange{"2Gi", "10Gi", std::nullopt}};
        break;
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
    const int sets = dice_.chance(75) ? 1 : 2;
    const int first = dice_.between(0, 1);
    for (int s = 0; s < sets; ++s) {
      api::CounterMap counters;
      if (dice_.chance(80)) counters["mem"] = std::to_string(dice_.between(1, 4)) + "0Gi";
      if (counters.empty() || dice_.chance(40)) counters["slots"] = "1";
      device.consumes_counters.push_back({"set" + std::to_string((first + s) % 2), counters});
    }
  }

  // ---- current holders

  void make_usage() {
    const unsigned busy = dice_.chance(40) ? 0 : 25;
    for (const api::ResourceSlice& slice : world_.slices)
      for (const api::Device& device : slice.devices) {
        if (!dice_.chance(busy)) continue;
        const DeviceName name{slice.driver, slice.pool.name, device.name};
        if (!device.allow_multiple_allocations) {
          world_.allocated.insert(name);
          continue;
        }
        // A share takes from all capacities: part of the one with a policy, all of the others.
        for (const auto& [capacity, value] : device.capacity)
          world_.consumed[name][capacity] = capacity == "memory" ? (dice_.chance(50) ? "5Gi" : "10Gi") : "1";
        world_.allocated_shares.insert({name, dice_.random().uuid()});
      }
  }

  Dice dice_;
  const Ingredients with_;
  World world_;
  int devices_ = 0;
  int most_asked_ = 8;
  bool pool_counters_ = false;
};

}  // namespace

World random_world(uint64_t seed, const Ingredients& ingredients) {
  return WorldMaker(seed, ingredients).make();
}

}  // namespace dra::oracle
