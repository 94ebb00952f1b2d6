// Devices shared by the policies of classes, through random histories: each decision against a search that tries
// everything on a list of single shares, and after each the sums of every device. DRA_SEED picks another start,
// DRA_SHARE_HISTORIES another number of histories.
#include <gtest/gtest.h>

#include <iostream>
#include <set>

#include "pkg/allocator/allocator.h"
#include "pkg/base/random.h"
#include "pkg/inventory/device_index.h"
#include "test/support/environment.h"

namespace dra::allocharness::share_policies_test {
namespace {

constexpr int kTotal = 12, kDevices = 4, kClasses = 3;
constexpr const char* kNamespaces[] = {"a", "b", "c"};

struct Share {
  std::string claim, ns;
  int device_class = 0, amount = 0, device = -1;  // -1: not yet
};

// What a class says, as the twin reads it: by fields that it chose itself.
struct Said {
  bool any = false, malformed = false;
  int sharers = 0, per_namespace = 0, percent = 0;
  bool same_namespace = false;
  std::set<std::string> namespaces;
  std::string text;
};

Said random_policy(Random& dice) {
  Said said;
  if (dice.below(4) == 0) return said;
  said.any = true;
  if (dice.below(10) == 0) {
    said.malformed = true;
    said.text = "sharers=many";
    return said;
  }
  const auto word = [&](const std::string& text) { said.text += (said.text.empty() ? "" : " ") + text; };
  if (dice.below(2) == 0) word("sharers=" + std::to_string(said.sharers = 1 + static_cast<int>(dice.below(5))));
  if (dice.below(3) == 0)
    word("per-namespace=" + std::to_string(said.per_namespace = 1 + static_cast<int>(dice.below(3))));
  else if (dice.below(2) == 0)
    word("per-namespace=" + std::to_string(said.percent = 10 + static_cast<int>(dice.below(91))) + "%");
  if (dice.below(3) == 0) {
    said.same_namespace = true;
    word("with=same-namespace");
  } else if (dice.below(3) == 0) {
    said.namespaces = {"a", kNamespaces[dice.below(3)]};
    std::string list;
    for (const std::string& one : said.namespaces) list += (list.empty() ? "" : ",") + one;
    word("with=namespaces:" + list);
  }
  if (dice.below(2) == 0) word(dice.below(2) == 0 ? "order=pack" : "order=spread");
  if (said.text.empty()) word("with=any");
  return said;
}

class History {
 public:
  History(uint64_t seed, allocator::Strategy strategy)
      : dice_(seed), random_(1), inventory_(inventory::Features::all()) {
    for (int one = 0; one < kClasses; ++one) say(one);
    node_ = inventory_.apply_node("n", {});
    api::ResourceSlice slice;
    slice.metadata.name = "s";
    slice.driver = "drv.test";
    slice.node_name = "n";
    slice.pool = {"n", 1, 1};
    for (int d = 0; d < kDevices; ++d) {
      api::Device& device = slice.devices.emplace_back();
      device.name = "d" + std::to_string(d);
      device.allow_multiple_allocations = true;
      api::DeviceCapacity& memory = device.capacity["memory"];
      memory.value = std::to_string(kTotal);
      memory.request_policy.emplace().default_value = "0";
      memory.request_policy->valid_range.emplace();
      memory.request_policy->valid_range->min = "0";
    }
    inventory_.apply_slice(slice);
    allocator::Options options;
    options.strategy = strategy;
    allocator_.emplace(inventory_, options, random_);
  }

  // One change; what is wrong, if anything.
  std::string step() {
    const uint64_t what = dice_.below(10);
    if (what == 0) {
      say(static_cast<int>(dice_.below(kClasses)));
      return "";
    }
    if (what <= 3 && !shares_.empty()) {
      const std::string claim = shares_[dice_.below(shares_.size())].claim;
      inventory_.remove_claim(claim);
      std::erase_if(shares_, [&](const Share& one) { return one.claim == claim; });
      return check_sums();
    }
    return decide();
  }

  uint64_t given = 0, refused = 0;

 private:
  void say(int number) {
    said_[number] = random_policy(dice_);
    api::DeviceClass device_class;
    device_class.metadata.name = "class-" + std::to_string(number);
    device_class.selectors = {"true"};
    if (said_[number].any) device_class.metadata.annotations["dra-controller-manager/shares"] = said_[number].text;
    inventory_.apply_class(device_class);
  }

  std::string decide() {
    auto claim = std::make_shared<api::ResourceClaim>();
    claim->metadata.ns = kNamespaces[dice_.below(3)];
    claim->metadata.uid = claim->metadata.name = "claim-" + std::to_string(++claims_);
    std::vector<Share> asked;
    for (uint64_t r = 0, count = 1 + dice_.below(2); r < count; ++r) {
      Share share{claim->metadata.uid, claim->metadata.ns, static_cast<int>(dice_.below(kClasses)),
                  static_cast<int>(dice_.below(6)), -1};
      api::DeviceRequest& request = claim->spec.requests.emplace_back();
      request.name = "r" + std::to_string(r);
      request.exactly.emplace();
      request.exactly->device_class_name = "class-" + std::to_string(share.device_class);
      request.exactly->allocation_mode = "ExactCount";
      request.exactly->count = 1;
      request.exactly->capacity_requests["memory"] = std::to_string(share.amount);
      asked.push_back(share);
    }
    allocator::Request request;
    request.claims = {claim};
    const allocator::FoundNodes found = allocator_->find_nodes(request, {&node_, 1});
    const bool possible = fits(asked, 0);
    if ((found.outcome == allocator::Outcome::kFeasible) != possible)
      return possible ? "refused what fits" : "gave what does not fit";
    if (!possible) {
      ++refused;
      return "";
    }
    ++given;
    claim->status.allocation = found.decisions.front().results.front();
    for (size_t r = 0; r < asked.size(); ++r) {
      asked[r].device = std::stoi(claim->status.allocation->results[r].device.substr(1));
      shares_.push_back(asked[r]);
    }
    for (const Share& one : asked)
      if (!allowed(one.device, asked)) return "broke a policy";
    if (dice_.below(2) == 0) inventory_.assume(claim->metadata.uid, *claim->status.allocation, claim.get());
    inventory_.apply_claim(*claim);
    inventory_.forget(claim->metadata.uid);
    return check_sums();
  }

  bool fits(std::vector<Share>& asked, size_t next) {
    if (next == asked.size()) return true;
    for (int device = 0; device < kDevices; ++device) {
      asked[next].device = device;
      const size_t before = shares_.size();
      for (size_t i = 0; i <= next; ++i) shares_.push_back(asked[i]);
      const bool good = allowed(device, asked);
      shares_.resize(before);
      if (good && fits(asked, next + 1)) return true;
    }
    asked[next].device = -1;
    return false;
  }

  // All shares of the device together, of which those of the last claim are new.
  bool allowed(int device, const std::vector<Share>& asked) const {
    std::vector<const Share*> here;
    int sum = 0;
    std::set<std::string> namespaces;
    for (const Share& one : shares_) {
      if (one.device != device) continue;
      here.push_back(&one);
      sum += one.amount;
      namespaces.insert(one.ns);
    }
    if (sum > kTotal) return false;
    for (const Share* one : here) {
      const Said& said = said_[one->device_class];
      const bool is_new = one->claim == asked.front().claim;
      if (!said.any) continue;
      if (said.malformed) {
        if (is_new) return false;
        continue;
      }
      if (said.sharers > 0 && static_cast<int>(here.size()) > said.sharers) return false;
      if (said.same_namespace && namespaces.size() > 1) return false;
      for (const std::string& ns : namespaces)
        if (!said.namespaces.empty() && !said.namespaces.contains(ns)) return false;
      if (!is_new) continue;
      int shares = 0, amount = 0;
      for (const Share* other : here)
        if (other->ns == one->ns && other->device_class == one->device_class) ++shares, amount += other->amount;
      if (said.per_namespace > 0 && shares > said.per_namespace) return false;
      if (said.percent > 0 && amount * 100 > kTotal * said.percent) return false;
    }
    return true;
  }

  std::string check_sums() {
    std::vector<int> sums(kDevices, 0);
    for (const Share& one : shares_) sums[static_cast<size_t>(one.device)] += one.amount;
    const inventory::Pool& pool = *inventory_.device_index().find_pool("drv.test", "n");
    for (uint32_t d = 0; d < kDevices; ++d) {
      const auto* kept = pool.shared(d);
      const inventory::Amount have = kept == nullptr ? 0 : (*kept)[0];
      if (have != inventory::to_amount(*api::Quantity::parse(std::to_string(sums[d])))) return "sums differ";
    }
    const auto findings = inventory_.audit();
    return findings.empty() ? "" : findings.front().message;
  }

  SeededRandom dice_, random_;
  inventory::Inventory inventory_;
  std::optional<allocator::Allocator> allocator_;
  inventory::NodeId node_ = 0;
  Said said_[kClasses];
  std::vector<Share> shares_;
  int claims_ = 0;
};

TEST(SharePolicies, HoldThroughHistories) {
  using allocator::Strategy;
  const uint64_t first = test::number_from("DRA_SEED", 1), histories = test::number_from("DRA_SHARE_HISTORIES", 200);
  std::cout << "histories of shares from seed " << first << ", " << histories << " of them\n";
  constexpr Strategy kAll[] = {Strategy::kFirstFit, Strategy::kBestFit, Strategy::kPack, Strategy::kSpread};
  uint64_t given = 0, refused = 0;
  for (uint64_t seed = first; seed < first + histories; ++seed) {
    History history(seed, kAll[seed % 4]);
    for (int i = 0; i < 20; ++i) ASSERT_EQ(history.step(), "") << "seed " << seed << ", step " << i;
    given += history.given;
    refused += history.refused;
  }
  std::cout << given << " claims had shares, " << refused << " had none\n";
  EXPECT_GT(given, histories * 3);
  EXPECT_GT(refused, histories);
}

// Shares that consume nothing: the order of the class decides, not the rest of a capacity.
TEST(SharePolicies, PackAndSpreadCountShares) {
  for (const bool pack : {true, false}) {
    inventory::Inventory inventory(inventory::Features::all());
    api::DeviceClass device_class;
    device_class.metadata.name = "shared";
    device_class.selectors = {"true"};
    device_class.metadata.annotations["dra-controller-manager/shares"] = pack ? "order=pack" : "order=spread";
    inventory.apply_class(device_class);
    std::vector<inventory::NodeId> nodes;
    for (const std::string node : {"n0", "n1"}) {
      nodes.push_back(inventory.apply_node(node, {}));
      api::ResourceSlice slice;
      slice.metadata.name = slice.node_name = node;
      slice.driver = "drv.test";
      slice.pool = {node, 1, 1};
      for (const char* name : {"d0", "d1"}) {
        api::Device& device = slice.devices.emplace_back();
        device.name = name;
        device.allow_multiple_allocations = true;
      }
      inventory.apply_slice(slice);
    }
    SeededRandom random(1);
    allocator::Allocator allocator(inventory, {}, random);
    std::set<std::string> used;
    for (int i = 0; i < 4; ++i) {
      auto claim = std::make_shared<api::ResourceClaim>();
      claim->metadata.uid = "c" + std::to_string(i);
      claim->metadata.ns = "ns";
      api::DeviceRequest& request = claim->spec.requests.emplace_back();
      request.name = "r";
      request.exactly.emplace().device_class_name = "shared";
      request.exactly->count = 1;
      allocator::Request asked;
      asked.claims = {claim};
      const auto found = allocator.find_nodes(asked, nodes);
      ASSERT_EQ(found.outcome, allocator::Outcome::kFeasible);
      const auto& result = found.decisions.front().results.front();
      used.insert(result.results.front().pool + "/" + result.results.front().device);
      inventory.assume(claim->metadata.uid, result, claim.get());
    }
    EXPECT_EQ(used.size(), pack ? 1u : 4u);
  }
}

}  // namespace
}  // namespace dra::allocharness::share_policies_test
