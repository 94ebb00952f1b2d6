#include "pkg/verdict/would_fit.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pkg/api/quantity.h"
#include "pkg/api/selectors.h"
#include "pkg/base/strings.h"
#include "pkg/verdict/conjuncts.h"
#include "pkg/verdict/words.h"

namespace dra::verdict {

namespace {

using ClaimPtr = std::shared_ptr<const api::ResourceClaim>;

constexpr size_t kMaxShown = 120;

std::string taint_words(const std::string& key, const std::string& value, const std::string& effect) {
  return clean(key + (value.empty() ? "" : "=" + value) + ":" + effect, kMaxShown);
}

// Whether a driver or an operator says by it that the device does not work: a word of the key or of the value.
bool says_broken(const api::DeviceTaint& taint) {
  static const std::set<std::string, std::less<>> kWords{
      "bad",    "broken",  "dead",    "defect", "defective", "degraded", "ecc",  "error",         "errors",    "fail",
      "failed", "failing", "failure", "fault",  "faulty",    "hung",     "lost", "uncorrectable", "unhealthy", "xid"};
  std::string word;
  for (const char c : to_lower(taint.key + "=" + taint.value + "=")) {
    if (c >= 'a' && c <= 'z') {
      word += c;
      continue;
    }
    if (kWords.contains(word)) return true;
    word.clear();
  }
  return false;
}

// The position of a request in the question.
struct Place {
  size_t claim = 0, request = 0;
  int alternative = -1;
};

const api::DeviceSubRequest& spec_at(const api::ResourceClaim& claim, const Place& place) {
  const api::DeviceRequest& request = claim.spec.requests[place.request];
  return place.alternative < 0 ? *request.exactly : request.first_available[static_cast<size_t>(place.alternative)];
}

class Trials {
 public:
  Trials(const Facts& facts, const Question& question, const WorldObjects& objects, const WouldFitOptions& options)
      : facts_(facts), question_(question), objects_(objects), options_(options) {}

  WouldFit run() {
    tolerate_node_taints();
    uncordon();
    drop_node_selectors();
    ask_less();
    each_request([this](const Place& place) {
      tolerate_device_taints(place);
      weaken_selectors(place);
      ask_less_capacity(place);
      ask_fewer(place);
    });
    release();
    add_node();
    return std::move(out_);
  }

 private:
  // ---- trying

  // A decision about a few nodes is much cheaper than one about all: this many count as one.
  static constexpr size_t kNarrowAsOne = 16;

  bool may_try() {
    if (out_.decisions >= options_.max_decisions) out_.complete = false;
    return out_.complete;
  }
  std::optional<std::string> fits(const Question& question) {
    if (!may_try()) return std::nullopt;
    const bool narrow = !question.nodes.empty() && question_.nodes.empty();
    if (!narrow || ++narrow_ % kNarrowAsOne == 1) ++out_.decisions;
    return fits_on(facts_, question);
  }
  // Adds the suggestion if it makes the question fit.
  bool offer(Suggestion suggestion) {
    const std::unique_ptr<ChangedQuestion> changed = apply_to_question(question_, suggestion);
    const std::optional<std::string> node = fits(changed->question);
    if (!node) return false;
    suggestion.node = *node;
    out_.suggestions.push_back(std::move(suggestion));
    return true;
  }

  template <class F>
  void each_request(F&& f) {
    for (size_t c = 0; c < question_.claims.size(); ++c) {
      if (question_.claims[c]->status.allocation) continue;
      const std::vector<api::DeviceRequest>& requests = question_.claims[c]->spec.requests;
      for (size_t r = 0; r < requests.size(); ++r) {
        if (requests[r].exactly) f(Place{c, r, -1});
        for (size_t a = 0; a < requests[r].first_available.size(); ++a) f(Place{c, r, static_cast<int>(a)});
      }
    }
  }
  Suggestion about(ChangeKind kind, const Place& place) const {
    Suggestion one;
    one.kind = kind;
    one.claim = place.claim;
    one.request = place.request;
    one.alternative = place.alternative;
    return one;
  }
  std::string request_words(const Place& place) const {
    const api::ResourceClaim& claim = *question_.claims[place.claim];
    const std::string& name = claim.spec.requests[place.request].name;
    const std::string sub = place.alternative < 0 ? "" : "/" + spec_at(claim, place).name;
    return "request " + clean(name + sub, kMaxShown) + " of claim " + clean(claim.metadata.key(), kMaxShown);
  }

  // ---- nodes

  // The fewest taints of one node that, tolerated, make it fit.
  void tolerate_node_taints() {
    constexpr size_t kMostSets = 64;
    if (question_.pod == nullptr) return;
    std::map<std::vector<std::string>, std::vector<api::Taint>> sets;
    for (const placement::NodeIndex node : facts_.cluster.nodes()) {
      std::vector<api::Taint> taints;
      std::vector<std::string> words;
      for (const api::Taint& taint : facts_.cluster.taints(facts_.cluster.row(node).taints)) {
        if ((taint.effect != "NoSchedule" && taint.effect != "NoExecute") || tolerated(taint)) continue;
        taints.push_back(taint);
        words.push_back(taint_words(taint.key, taint.value, taint.effect));
      }
      std::sort(words.begin(), words.end());
      if (!taints.empty() && sets.size() < kMostSets) sets.emplace(std::move(words), std::move(taints));
    }
    std::vector<std::pair<std::vector<std::string>, std::vector<api::Taint>>> order(sets.begin(), sets.end());
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.first.size() < b.first.size(); });
    for (const auto& [words, taints] : order) {
      Suggestion one;
      one.kind = ChangeKind::kTolerateNodeTaint;
      for (const api::Taint& taint : taints)
        one.tolerations.push_back({taint.key, "Equal", taint.value, taint.effect, std::nullopt});
      for (const std::string& word : words) one.text += (one.text.empty() ? "tolerate node taint " : " and ") + word;
      if (offer(std::move(one))) return;
    }
  }
  bool tolerated(const api::Taint& taint) const { return api::tolerates(question_.pod->tolerations, taint); }

  void uncordon() {
    if (question_.pod == nullptr) return;
    const std::vector<placement::NodeIndex> nodes = facts_.cluster.nodes();
    for (const placement::NodeIndex index : nodes) {
      if (!facts_.cluster.row(index).unschedulable || !may_try()) continue;
      const std::shared_ptr<const api::Node> before = facts_.cluster.rest(index).node;
      auto changed = std::make_shared<api::Node>(*before);
      changed->unschedulable = false;
      // kubectl cordon's taint is removed with it.
      std::erase_if(changed->taints, [](const api::Taint& t) { return t.key == "node.kubernetes.io/unschedulable"; });
      facts_.cluster.set_node(changed);
      const std::optional<std::string> node = fits(question_);
      facts_.cluster.set_node(before);
      if (!node) continue;
      Suggestion one;
      one.kind = ChangeKind::kUncordon;
      one.names = {before->metadata.name};
      one.text = "uncordon node " + clean(before->metadata.name, kMaxShown);
      one.node = *node;
      out_.suggestions.push_back(std::move(one));
      return;
    }
  }

  // One label of spec.nodeSelector, else all of them.
  void drop_node_selectors() {
    constexpr size_t kMostLabels = 32;
    if (question_.pod == nullptr) return;
    const api::StringMap& labels = question_.pod->node_selector;
    const auto without = [&](std::vector<std::string> keys) {
      Suggestion one;
      one.kind = ChangeKind::kDropNodeSelector;
      for (const std::string& key : keys)
        one.text += (one.text.empty() ? "drop nodeSelector " : " and ") +
                    clean(key + ": " + labels.find(key)->second, kMaxShown);
      one.names = std::move(keys);
      return offer(std::move(one));
    };
    std::vector<std::string> all;
    for (const auto& [key, value] : labels) {
      if (all.size() >= kMostLabels) return;
      if (without({key})) return;
      all.push_back(key);
    }
    if (all.size() > 1) without(std::move(all));
  }

  // For each resource that the pod asks for, the largest amount that fits: a smaller amount never fits on fewer nodes.
  void ask_less() {
    if (question_.pod == nullptr) return;
    const Result<placement::PodNeeds> needs = placement::PodNeeds::of(*question_.pod);
    if (!needs) return;
    const placement::Charge& charge = needs->charge();
    const auto row = [this](placement::NodeIndex node) -> const placement::NodeRow& {
      return facts_.cluster.row(node);
    };
    ask_less_of("cpu", charge.cpu, [&](placement::NodeIndex n) { return row(n).cpu - row(n).used_cpu; });
    ask_less_of("memory", charge.memory, [&](placement::NodeIndex n) { return row(n).memory - row(n).used_memory; });
    ask_less_of("ephemeral-storage", charge.ephemeral_storage,
                [&](placement::NodeIndex n) { return row(n).ephemeral_storage - row(n).used_ephemeral_storage; });
  }
  template <class F>
  void ask_less_of(const std::string& resource, int64_t asked, F&& free_on) {
    std::set<int64_t> amounts;
    for (const placement::NodeIndex node : facts_.cluster.nodes())
      if (const int64_t free = free_on(node); free >= 0 && free < asked) amounts.insert(free);
    const std::vector<int64_t> order(amounts.begin(), amounts.end());
    // The first amount that no longer fits.
    const auto end = std::partition_point(order.begin(), order.end(), [&](int64_t amount) {
      return fits(apply_to_question(question_, less(resource, amount))->question).has_value();
    });
    if (end != order.begin() && out_.complete) offer(less(resource, *(end - 1)));
  }
  static Suggestion less(const std::string& resource, int64_t amount) {
    Suggestion one;
    one.kind = ChangeKind::kLessCpu;
    one.resource = resource;
    one.amount = amount;
    one.text = "ask for " + amount_text(resource, amount) + " " + resource;
    return one;
  }

  // One more node of each kind, with the devices that this node alone publishes, until one fits.
  void add_node() {
    constexpr size_t kMostKinds = 32;
    if (objects_.slices.empty()) return;
    for (const auto& slice : objects_.slices) slices_of_node_[slice->node_name].push_back(slice.get());
    std::set<std::string> kinds;
    const std::vector<placement::NodeIndex> nodes = facts_.cluster.nodes();
    for (const placement::NodeIndex index : nodes) {
      const std::shared_ptr<const api::Node> like = facts_.cluster.rest(index).node;
      if (kinds.size() >= kMostKinds || !kinds.insert(kind_of(*like)).second || !may_try()) continue;
      if (try_node(*like)) return;
    }
  }
  std::string kind_of(const api::Node& node) const {
    std::string kind;
    for (const auto& [name, amount] : node.allocatable) kind += name + "=" + amount + ",";
    for (const auto& [key, value] : node.metadata.labels)
      if (key != "kubernetes.io/hostname") kind += key + "=" + value + ",";
    for (const api::Taint& taint : node.taints) kind += taint_words(taint.key, taint.value, taint.effect) + ",";
    if (const auto slices = slices_of_node_.find(node.metadata.name); slices != slices_of_node_.end())
      for (const api::ResourceSlice* slice : slices->second)
        kind += slice->driver + ":" + std::to_string(slice->devices.size()) + ",";
    return kind;
  }
  bool try_node(const api::Node& like) {
    const std::string name = like.metadata.name + "-would-fit";
    if (facts_.cluster.find_node(name)) return false;
    auto node = std::make_shared<api::Node>(like);
    node->metadata.name = name;
    node->metadata.deletion_timestamp.clear();
    node->unschedulable = false;
    std::erase_if(node->taints, [](const api::Taint& t) { return t.key == "node.kubernetes.io/unschedulable"; });
    if (const auto host = node->metadata.labels.find("kubernetes.io/hostname"); host != node->metadata.labels.end())
      host->second = name;
    std::vector<std::string> added;
    for (const api::ResourceSlice* slice : slices_of_node_[like.metadata.name]) {
      api::ResourceSlice copy = *slice;
      copy.metadata.name += "-would-fit";
      copy.pool.name += "-would-fit";
      copy.node_name = name;
      facts_.inventory.apply_slice(copy);
      added.push_back(copy.metadata.name);
    }
    facts_.inventory.apply_node(node);
    facts_.cluster.set_node(node);
    const std::optional<std::string> found = fits(question_);
    facts_.cluster.remove_node(name);
    facts_.inventory.remove_node(name);
    for (const std::string& slice : added) facts_.inventory.remove_slice(slice);
    if (!found) return false;
    Suggestion one;
    one.kind = ChangeKind::kAddNode;
    one.names = {like.metadata.name};
    one.text = "one more node like " + clean(like.metadata.name, kMaxShown);
    one.node = *found == name ? "" : *found;
    out_.suggestions.push_back(std::move(one));
    return true;
  }

  // ---- requests

  void tolerate_device_taints(const Place& place) {
    constexpr size_t kMostTaints = 64;
    std::map<std::pair<bool, std::string>, api::DeviceToleration> taints;  // broken devices last
    for (const inventory::PoolInfo& pool : pools()) {
      if (!facts_.inventory.any_taints(pool.driver, pool.name)) continue;
      for (const inventory::DeviceInfo& device : facts_.inventory.devices(pool.id))
        for (const api::DeviceTaint& taint : device.taints)
          if (taints.size() < kMostTaints && (taint.effect == "NoSchedule" || taint.effect == "NoExecute"))
            taints.try_emplace({says_broken(taint), taint_words(taint.key, taint.value, taint.effect)},
                               api::DeviceToleration{taint.key, "Equal", taint.value, taint.effect, std::nullopt});
    }
    for (const auto& [taint, toleration] : taints) {
      const auto& [broken, words] = taint;
      Suggestion one = about(broken ? ChangeKind::kRepairDevice : ChangeKind::kTolerateDeviceTaint, place);
      one.device_tolerations = {toleration};
      one.text = broken ? "repair the device that is tainted " + words +
                              ", and take the taint away (who tolerates it gets a broken device)"
                        : "tolerate device taint " + words + " in " + request_words(place);
      if (offer(std::move(one))) return;
    }
  }

  // One part of one selector first, then a whole one.
  void weaken_selectors(const Place& place) {
    const std::vector<std::string>& selectors = spec_at(*question_.claims[place.claim], place).selectors;
    for (size_t i = 0; i < selectors.size(); ++i) {
      const std::vector<std::string> parts = conjuncts(selectors[i]);
      for (size_t p = 0; parts.size() > 1 && p < parts.size(); ++p)
        if (offer_without(place, i, parts, p)) return;
    }
    for (size_t i = 0; i < selectors.size(); ++i)
      if (offer_without(place, i, {selectors[i]}, 0)) return;
  }
  bool offer_without(const Place& place, size_t selector, const std::vector<std::string>& parts, size_t left_out) {
    Suggestion one = about(ChangeKind::kDropSelector, place);
    one.amount = static_cast<int64_t>(selector);
    for (size_t p = 0; p < parts.size(); ++p)
      if (p != left_out) one.selector += (one.selector.empty() ? "" : " && ") + parts[p];
    one.text = "drop " + clean(parts[left_out], kMaxShown) + " from " + request_words(place);
    return offer(std::move(one));
  }

  // For each capacity that the request asks for, the largest amount that some device has and that fits.
  void ask_less_capacity(const Place& place) {
    constexpr size_t kMostValues = 64;
    for (const auto& [name, asked] : spec_at(*question_.claims[place.claim], place).capacity_requests) {
      const auto wanted = api::Quantity::parse(asked);
      if (!wanted) continue;
      const std::string plain = name.substr(name.find('/') + 1);  // npos + 1 is 0
      std::map<api::Quantity, std::string, std::greater<>> values;
      for (const auto& slice : objects_.slices)
        for (const api::Device& device : slice->devices) {
          const auto has = device.capacity.find(device.capacity.contains(name) ? name : plain);
          if (has == device.capacity.end() || values.size() >= kMostValues) continue;
          if (const auto value = api::Quantity::parse(has->second.value); value && *value < *wanted)
            values.try_emplace(*value, has->second.value);
        }
      for (const auto& [value, text] : values) {
        Suggestion one = about(ChangeKind::kLessCapacity, place);
        one.resource = name;
        one.quantity = text;
        one.text = "ask for " + clean(text, kMaxShown) + " " + clean(name, kMaxShown) + " in " + request_words(place);
        if (offer(std::move(one))) break;
      }
    }
  }

  void ask_fewer(const Place& place) {
    const api::DeviceSubRequest& spec = spec_at(*question_.claims[place.claim], place);
    if (spec.allocation_mode == "All") return;
    for (int64_t count = std::min<int64_t>(spec.count, api::kMaxAllocationResults + 1) - 1; count >= 1; --count) {
      Suggestion one = about(ChangeKind::kFewerDevices, place);
      one.amount = count;
      one.text = "ask for " + counted(static_cast<uint64_t>(count), "device") + " in " + request_words(place);
      if (offer(std::move(one))) return;
    }
  }

  // Listing all pools is slow, and the attempts leave the list unchanged.
  const std::vector<inventory::PoolInfo>& pools() {
    if (pools_.empty()) pools_ = facts_.inventory.pools();
    return pools_;
  }

  // ---- claims of others

  static constexpr size_t kMostShrunk = 512;  // with more holders, those that need no release are not sought

  // Claims that hold something, except the pod's own.
  std::vector<ClaimPtr> holders() const {
    std::set<std::string> own;
    for (const ClaimPtr& claim : question_.claims) own.insert(claim->metadata.uid);
    std::vector<ClaimPtr> all;
    for (const ClaimPtr& claim : objects_.claims)
      if (claim->status.allocation && !claim->status.allocation->results.empty() && !own.contains(claim->metadata.uid))
        all.push_back(claim);
    return all;
  }

  // The nodes whose answer the release of these claims can change: the nodes of their pools, if they are in the
  // question. Nothing if a pool spans several nodes: then any node.
  std::optional<std::vector<std::string>> nodes_changed_by(const std::vector<ClaimPtr>& released) {
    if (node_of_pool_.empty())
      for (const inventory::PoolInfo& pool : pools()) node_of_pool_[{pool.driver, pool.name}] = pool.node;
    std::set<std::string> nodes;
    for (const ClaimPtr& claim : released)
      for (const api::DeviceRequestAllocationResult& device : claim->status.allocation->results) {
        const auto pool = node_of_pool_.find({device.driver, device.pool});
        if (pool == node_of_pool_.end() || pool->second.empty()) return std::nullopt;
        const bool asked = question_.nodes.empty() || std::find(question_.nodes.begin(), question_.nodes.end(),
                                                                pool->second) != question_.nodes.end();
        if (asked) nodes.insert(pool->second);
      }
    return std::vector<std::string>(nodes.begin(), nodes.end());
  }

  // Releases exactly these claims, and then restores them. Without that it does not fit, so other nodes than theirs
  // need no check.
  std::optional<std::string> fits_without(const std::vector<ClaimPtr>& released) {
    constexpr size_t kFewNodes = 64;
    Question question = question_;
    if (auto nodes = nodes_changed_by(released); nodes && nodes->size() <= kFewNodes) {
      if (nodes->empty()) return std::nullopt;
      question.nodes = std::move(*nodes);
    }
    for (const ClaimPtr& claim : released) facts_.inventory.remove_claim(claim->metadata.uid);
    std::optional<std::string> node = fits(question);
    for (const ClaimPtr& claim : released) facts_.inventory.apply_claim(*claim);
    return node;
  }

  void release() {
    const std::vector<ClaimPtr> all = holders();
    // If no release helps, this ends the search at once; with very many holders it costs more than it saves.
    if (all.empty() || (all.size() <= kMostShrunk && !fits_without(all))) return;
    const bool exact = all.size() <= options_.exact_holders;
    const std::vector<ClaimPtr> fewest = exact ? fewest_of(all) : few_of(all);
    const std::optional<std::string> node = fewest.empty() ? std::nullopt : fits_without(fewest);
    if (!node) return;
    Suggestion one;
    one.kind = ChangeKind::kRelease;
    one.smallest = (exact && out_.complete) || fewest.size() == 1;
    for (const ClaimPtr& claim : fewest) one.names.push_back(claim->metadata.key());
    // Not for the reader to do: the claims are in use.
    const bool several = one.names.size() > 1;
    for (size_t i = 0; i < one.names.size() && i < kMaxNames; ++i)
      one.text += (i > 0     ? ", "
                   : several ? "the owners of claims "
                             : "the owner of claim ") +
                  clean(one.names[i], kMaxShown);
    if (one.names.size() > kMaxNames) one.text += " and " + std::to_string(one.names.size() - kMaxNames) + " more";
    one.text += several ? " release them" : " releases it";
    one.node = *node;
    out_.suggestions.push_back(std::move(one));
  }

  // Every set, smaller ones first.
  std::vector<ClaimPtr> fewest_of(const std::vector<ClaimPtr>& all) {
    const uint32_t sets = uint32_t{1} << all.size();
    for (int size = 1; size <= static_cast<int>(all.size()); ++size)
      for (uint32_t set = 1; set < sets && may_try(); ++set) {
        if (std::popcount(set) != size) continue;
        std::vector<ClaimPtr> chosen;
        for (size_t i = 0; i < all.size(); ++i)
          if (set >> i & 1) chosen.push_back(all[i]);
        if (fits_without(chosen)) return chosen;
      }
    return all;
  }

  // One claim if any suffices; else the best pool's claims, else all claims; both less those that need no release.
  std::vector<ClaimPtr> few_of(const std::vector<ClaimPtr>& all) {
    constexpr size_t kMostAlone = 2'000, kMostPools = 64;
    for (size_t i = 0; i < all.size() && i < kMostAlone && may_try(); ++i)
      if (fits_without({all[i]})) return {all[i]};
    std::map<std::string, std::vector<ClaimPtr>> by_pool;
    for (const ClaimPtr& claim : all)
      for (const api::DeviceRequestAllocationResult& device : claim->status.allocation->results) {
        std::vector<ClaimPtr>& there = by_pool[device.pool];
        if (there.empty() || there.back() != claim) there.push_back(claim);
      }
    std::vector<std::vector<ClaimPtr>> groups;
    for (auto& [pool, claims] : by_pool) groups.push_back(std::move(claims));
    std::stable_sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
    std::vector<ClaimPtr> best;
    for (size_t i = 0; i < groups.size() && i < kMostPools && may_try(); ++i)
      if (groups[i].size() > 1 && fits_without(groups[i]))
        if (std::vector<ClaimPtr> few = shrink(groups[i]); best.empty() || few.size() < best.size())
          best = std::move(few);
    if (best.empty() && all.size() <= kMostShrunk) best = shrink(all);
    return best;
  }
  std::vector<ClaimPtr> shrink(std::vector<ClaimPtr> claims) {
    for (size_t i = claims.size(); i-- > 0 && may_try();) {
      std::vector<ClaimPtr> without = claims;
      without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
      if (!without.empty() && fits_without(without)) claims = std::move(without);
    }
    return claims;
  }

  const Facts& facts_;
  const Question& question_;
  const WorldObjects& objects_;
  const WouldFitOptions options_;
  WouldFit out_;
  std::vector<inventory::PoolInfo> pools_;
  size_t narrow_ = 0;                                                        // decisions about a few nodes
  std::map<std::pair<std::string, std::string>, std::string> node_of_pool_;  // by driver and pool; empty: several nodes
  std::map<std::string, std::vector<const api::ResourceSlice*>> slices_of_node_;
};

}  // namespace

WouldFit would_fit(const Facts& facts, const Question& question, const WorldObjects& objects,
                   const WouldFitOptions& options) {
  return Trials(facts, question, objects, options).run();
}

std::unique_ptr<ChangedQuestion> apply_to_question(const Question& question, const Suggestion& suggestion) {
  auto changed = std::make_unique<ChangedQuestion>();
  changed->question = question;
  if (question.pod != nullptr) {
    changed->pod = *question.pod;
    changed->question.pod = &changed->pod;
  }
  for (const api::Toleration& toleration : suggestion.tolerations) changed->pod.tolerations.push_back(toleration);
  if (suggestion.kind == ChangeKind::kLessCpu) {
    // The pod's own figure replaces the sum over its containers; overhead is added to it.
    int64_t overhead = 0;
    if (const auto amounts = placement::amounts_of(changed->pod.overhead))
      overhead = placement::amount_of(*amounts, suggestion.resource);
    if (!changed->pod.pod_requests) changed->pod.pod_requests.emplace();
    (*changed->pod.pod_requests)[suggestion.resource] =
        amount_text(suggestion.resource, std::max<int64_t>(0, suggestion.amount - overhead));
  }
  if (suggestion.kind == ChangeKind::kDropNodeSelector)
    for (const std::string& key : suggestion.names) changed->pod.node_selector.erase(key);
  const bool of_request = suggestion.kind == ChangeKind::kTolerateDeviceTaint ||
                          suggestion.kind == ChangeKind::kRepairDevice ||
                          suggestion.kind == ChangeKind::kDropSelector ||
                          suggestion.kind == ChangeKind::kFewerDevices || suggestion.kind == ChangeKind::kLessCapacity;
  if (!of_request || suggestion.claim >= question.claims.size()) return changed;
  auto claim = std::make_shared<api::ResourceClaim>(*question.claims[suggestion.claim]);
  if (suggestion.request >= claim->spec.requests.size()) return changed;
  api::DeviceRequest& request = claim->spec.requests[suggestion.request];
  const auto alternative = static_cast<size_t>(std::max(suggestion.alternative, 0));
  if (suggestion.alternative >= 0 ? alternative >= request.first_available.size() : !request.exactly) return changed;
  api::DeviceSubRequest& spec = suggestion.alternative < 0 ? *request.exactly : request.first_available[alternative];
  spec.tolerations.insert(spec.tolerations.end(), suggestion.device_tolerations.begin(),
                          suggestion.device_tolerations.end());
  if (suggestion.kind == ChangeKind::kFewerDevices) spec.count = suggestion.amount;
  if (suggestion.kind == ChangeKind::kLessCapacity) spec.capacity_requests[suggestion.resource] = suggestion.quantity;
  const auto at = static_cast<size_t>(suggestion.amount);
  if (suggestion.kind == ChangeKind::kDropSelector && at < spec.selectors.size()) {
    if (suggestion.selector.empty())
      spec.selectors.erase(spec.selectors.begin() + suggestion.amount);
    else
      spec.selectors[at] = suggestion.selector;
  }
  changed->question.claims[suggestion.claim] = std::move(claim);
  return changed;
}

}  // namespace dra::verdict
