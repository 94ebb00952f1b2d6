// Node names come and go for as long as the manager runs (an autoscaler makes new ones all year). The inventory keeps
// only those that a Node object or a pool names, never gives a number twice, and decisions are those of an inventory
// that has never seen another name.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>

#include "pkg/allocator/allocator.h"
#include "pkg/base/random.h"
#include "pkg/inventory/device_index.h"

namespace dra::allocharness::node_names_test {
namespace {

using allocator::Allocator;
using allocator::Decision;
using allocator::FoundNodes;
using allocator::Outcome;
using inventory::NodeId;

std::shared_ptr<const api::ResourceClaim> claim(const std::string& uid, int64_t count, const std::string& selector) {
  auto made = std::make_shared<api::ResourceClaim>();
  made->metadata.name = made->metadata.uid = uid;
  api::DeviceRequest& request = made->spec.requests.emplace_back();
  request.name = "r";
  request.exactly.emplace();
  request.exactly->device_class_name = "any";
  request.exactly->count = count;
  if (!selector.empty()) request.exactly->selectors = {selector};
  return made;
}

std::vector<std::shared_ptr<const api::ResourceClaim>> some_claims() {
  const std::string fast = "device.attributes[\"drv\"].fast";
  return {claim("one", 1, ""), claim("two", 2, ""), claim("fast", 1, fast), claim("four", 4, "")};
}

// The objects, and one inventory that lives through all their changes with its allocator.
class History {
 public:
  explicit History(uint64_t seed) : dice_(seed) {
    set_up(inventory_);
    kept_ = std::make_unique<Allocator>(inventory_, allocator::Options{}, random_);
  }

  void change() {
    const std::string name = some_name();
    switch (dice_.below(8)) {
      case 0:
      case 1:
        nodes_[name] = dice_.below(2) == 0 ? "a" : "b";
        inventory_.apply_node(name, {{"zone", nodes_[name]}});
        break;
      case 2:
        nodes_.erase(name);
        inventory_.remove_node(name);
        break;
      case 3:
      case 4:
        put(name);
        break;
      case 5:
        slices_.erase("s-" + name);
        inventory_.remove_slice("s-" + name);
        break;
      case 6:
        hold();
        break;
      default:
        holders_.erase("holder-" + std::to_string(dice_.below(4)));
        for (int i = 0; i < 4; ++i)
          if (!holders_.contains("holder-" + std::to_string(i))) inventory_.remove_claim("holder-" + std::to_string(i));
    }
  }

  void check_numbers() {
    std::set<std::string> named;
    for (const auto& [name, zone] : nodes_) named.insert(name);
    for (const auto& [slice_name, slice] : slices_) {
      if (!slice.node_name.empty()) named.insert(slice.node_name);
      for (const api::Device& device : slice.devices)
        if (!device.node_name.empty()) named.insert(device.node_name);
    }
    const inventory::DeviceIndex& index = inventory_.device_index();
    ASSERT_EQ(index.known_nodes(), named.size()) << "names that nothing names any more";
    for (const std::string& name : named) {
      const NodeId id = inventory_.node_id(name);
      ASSERT_TRUE(index.knows(id)) << name;
      ASSERT_EQ(index.node_name(id), name);
      const auto [given, first] = given_.emplace(id, name);
      ASSERT_EQ(given->second, name) << "number " << id << " was given twice";
    }
    size_t known = 0;
    for (const auto& [id, name] : given_) {
      if (index.knows(id)) {
        ++known;
        continue;
      }
      ASSERT_EQ(index.node_name(id), "");
      ASSERT_TRUE(index.view(id).segments.empty());
    }
    ASSERT_EQ(known, named.size());
    forgotten_ = given_.size() - known;
  }

  // Numbers that are no longer known are asked about, too: whoever kept one must not get a device for it.
  void compare(int* feasible, int* infeasible) {
    inventory::Inventory anew{inventory::Features::all()};
    set_up(anew);
    for (const auto& [name, slice] : slices_) anew.apply_slice(slice);
    for (const auto& [name, zone] : nodes_) anew.apply_node(name, {{"zone", zone}});
    for (const auto& [uid, allocation] : holders_) anew.apply_allocation(uid, allocation);
    Allocator fresh(anew, {}, random_);
    allocator::Request request;
    request.claims = {claims_[dice_.below(claims_.size())]};
    std::vector<NodeId> order, order_anew;
    for (const auto& [id, name] : given_) {
      order.push_back(id);
      if (inventory_.knows(id)) order_anew.push_back(anew.node_id(name));
    }
    const FoundNodes here = kept_->find_nodes(request, order);
    const FoundNodes there = fresh.find_nodes(request, order_anew);
    ASSERT_EQ(here.outcome, there.outcome);
    ASSERT_EQ(text(inventory_, here), text(anew, there));
    ++(here.decisions.empty() ? *infeasible : *feasible);
    last_ = here.decisions.empty() ? std::nullopt : std::optional(here.decisions[0].results[0]);

    request.strategy = allocator::Strategy::kBestFit;
    const FoundNodes best = kept_->find_nodes(request, order);
    ASSERT_EQ(best.outcome, there.outcome);
    for (const Decision& decision : best.decisions)
      ASSERT_EQ(fresh.allocate(request, anew.node_id(inventory_.node_name(decision.node))).outcome, Outcome::kFeasible);
    for (const NodeId id : order)
      if (!inventory_.knows(id)) {
        ASSERT_NE(kept_->allocate(request, id).outcome, Outcome::kFeasible);
      }
    for (const inventory::AuditFinding& finding : inventory_.audit())
      ASSERT_NE(finding.kind, inventory::AuditFinding::Kind::kDrift) << finding.message;
  }

  size_t forgotten() const { return forgotten_; }

 private:
  static void set_up(inventory::Inventory& inventory) {
    api::DeviceClass any;
    any.metadata.name = "any";
    inventory.apply_class(any);
  }

  // Mostly one of the newest, so that most names are used for a while and then never again; sometimes an old one
  // returns.
  std::string some_name() {
    if (dice_.below(6) == 0) ++newest_;
    const uint64_t back = dice_.below(12) == 0 ? dice_.below(newest_ + 1) : dice_.below(4);
    return "n" + std::to_string(newest_ - std::min(back, newest_));
  }

  void put(const std::string& name) {
    api::ResourceSlice slice;
    slice.metadata.name = "s-" + name;
    slice.driver = "drv";
    slice.pool = {dice_.below(4) == 0 ? "shared-" + std::to_string(dice_.below(2)) : name, 1, 1};
    const uint64_t place = dice_.below(8);
    slice.per_device_node_selection = place == 0;
    slice.all_nodes = place == 1 && dice_.below(4) == 0;
    if (place == 2) slice.node_selector.emplace().terms.push_back({{{"zone", "In", {"a"}}}, {}});
    if (!slice.per_device_node_selection && !slice.all_nodes && !slice.node_selector) slice.node_name = name;
    for (uint64_t d = 0, count = 1 + dice_.below(4); d < count; ++d) {
      api::Device& device = slice.devices.emplace_back();
      device.name = "d" + std::to_string(d);
      device.attributes["fast"] = dice_.below(2) == 0;
      if (slice.per_device_node_selection) device.node_name = d % 2 == 0 ? name : some_name();
    }
    slices_[slice.metadata.name] = slice;
    inventory_.apply_slice(slice);
  }

  void hold() {
    if (!last_) return;
    const std::string uid = "holder-" + std::to_string(dice_.below(4));
    holders_[uid] = *last_;
    inventory_.apply_allocation(uid, *last_);
  }

  static std::string text(const inventory::Inventory& inventory, const FoundNodes& found) {
    if (found.decisions.empty()) return "none";
    std::string out = inventory.node_name(found.decisions[0].node) + ":";
    for (const api::DeviceRequestAllocationResult& entry : found.decisions[0].results[0].results)
      out += " " + entry.pool + "/" + entry.device;
    return out;
  }

  SeededRandom dice_;
  SeededRandom random_{1};
  uint64_t newest_ = 0;
  inventory::Inventory inventory_{inventory::Features::all()};
  std::unique_ptr<Allocator> kept_;
  std::map<std::string, std::string> nodes_;  // their zones
  std::map<std::string, api::ResourceSlice> slices_;
  std::map<std::string, api::AllocationResult> holders_;
  std::optional<api::AllocationResult> last_;
  std::map<NodeId, std::string> given_;
  size_t forgotten_ = 0;
  const std::vector<std::shared_ptr<const api::ResourceClaim>> claims_ = some_claims();
};

TEST(NodeNames, OnlyNamesInUseAreKeptAndNoNumberReturns) {
  const char* given = std::getenv("DRA_SEED");
  const uint64_t first = given ? std::strtoull(given, nullptr, 10) : 1;
  std::cout << "histories from seed " << first << "\n";
  int feasible = 0, infeasible = 0;
  size_t forgotten = 0;
  for (uint64_t seed = first; seed < first + 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    History history(seed);
    for (int step = 0; step < 150; ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      history.change();
      history.check_numbers();
      if (HasFatalFailure()) return;
      history.compare(&feasible, &infeasible);
      if (HasFatalFailure()) return;
    }
    forgotten += history.forgotten();
  }
  EXPECT_GT(feasible, 500);
  EXPECT_GT(infeasible, 500);
  EXPECT_GT(forgotten, 500u);
}

}  // namespace
}  // namespace dra::allocharness::node_names_test
