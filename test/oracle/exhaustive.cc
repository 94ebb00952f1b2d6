#include "test/oracle/exhaustive.h"

#include <algorithm>
#include <functional>
#include <map>

namespace dra::oracle {
namespace {

class Search {
 public:
  // The search ends with the first solution for which `enough` is true; without `enough`, with the first.
  Search(const Scene& scene, uint64_t max_steps, std::function<bool(const std::vector<Pick>&)> enough = nullptr)
      : scene_(scene), max_steps_(max_steps), enough_(std::move(enough)) {}

  bool run() { return !asks_too_much() && request(0); }
  bool gave_up() const { return steps_ >= max_steps_ || !error_.empty(); }
  // A derived attribute that failed.
  const std::string& error() const { return error_; }
  uint64_t steps() const { return steps_; }
  const std::vector<Pick>& picks() const { return picks_; }

 private:
  bool request(size_t index) {
    if (index == scene_.requests.size()) return !enough_ || enough_(picks_);
    for (const SceneOption& option : scene_.requests[index].options) {
      if (gave_up()) return false;
      if (option.impossible || beyond_limit(index, option)) continue;
      if (option.all ? all(index, option) : some(index, option, 0, option.count)) return true;
    }
    return false;
  }

  // A claim with more results than it may have, whatever is chosen: then nothing is tried at all.
  bool asks_too_much() const {
    std::map<size_t, int64_t> least;
    for (const SceneRequest& request : scene_.requests) {
      int64_t fewest = request.options.empty() ? 0 : INT64_MAX;
      for (const SceneOption& option : request.options) fewest = std::min(fewest, option.all ? 1 : option.count);
      least[request.claim] += fewest;
    }
    return std::any_of(least.begin(), least.end(),
                       [](const auto& one) { return one.second > static_cast<int64_t>(api::kMaxAllocationResults); });
  }

  // Some request has derived attributes.
  bool may_fail() const {
    return std::any_of(scene_.requests.begin(), scene_.requests.end(), [](const SceneRequest& request) {
      return std::any_of(request.options.begin(), request.options.end(),
                         [](const SceneOption& option) { return option.spec->derived_attributes.has_value(); });
    });
  }

  static int64_t size_of(const SceneOption& option) {
    return option.all ? static_cast<int64_t>(option.candidates.size()) : option.count;
  }

  // Whether the claim would have too many results with this option and the smallest options of its later requests.
  // Avoids trying combinations that the limit refuses anyway.
  bool beyond_limit(size_t index, const SceneOption& option) const {
    int64_t results = size_of(option);
    for (const Pick& pick : picks_) results += pick.option->claim == option.claim;
    // Where a derived attribute may fail, each device that is tried counts: nothing is left out early.
    if (may_fail()) return results > static_cast<int64_t>(api::kMaxAllocationResults);
    for (size_t later = index + 1; later < scene_.requests.size(); ++later) {
      const SceneRequest& request = scene_.requests[later];
      if (request.claim != option.claim || request.options.empty()) continue;
      int64_t smallest = size_of(request.options[0]);
      for (const SceneOption& other : request.options) smallest = std::min(smallest, size_of(other));
      results += smallest;
    }
    return results > static_cast<int64_t>(api::kMaxAllocationResults);
  }

  // All: every candidate, at least one.
  bool all(size_t index, const SceneOption& option) {
    const size_t before = picks_.size();
    bool holds = !option.candidates.empty();
    for (size_t i = 0; i < option.candidates.size() && holds; ++i) holds = option.tolerated[i] && add(option, i);
    if (holds && request(index + 1)) return true;
    picks_.resize(before);
    return false;
  }

  // `missing` more of the candidates from position `from` on.
  bool some(size_t index, const SceneOption& option, size_t from, int64_t missing) {
    if (missing == 0) return request(index + 1);
    for (size_t i = from; i < option.candidates.size() && !gave_up(); ++i) {
      // Not where a derived attribute may fail: then each device that is tried counts.
      if (!option.spec->derived_attributes && static_cast<int64_t>(option.candidates.size() - i) < missing)
        return false;
      if (!option.tolerated[i] || !add(option, i)) continue;
      if (some(index, option, i + 1, missing - 1)) return true;
      picks_.pop_back();
    }
    return false;
  }

  bool add(const SceneOption& option, size_t candidate) {
    ++steps_;
    picks_.push_back({&option, option.candidates[candidate]});
    const std::string broken = conflict(scene_, picks_);
    if (broken.empty()) return true;
    if (broken.starts_with(kDerivedFails)) error_ = broken;
    picks_.pop_back();
    return false;
  }

  const Scene& scene_;
  const uint64_t max_steps_;
  const std::function<bool(const std::vector<Pick>&)> enough_;
  uint64_t steps_ = 0;
  std::string error_;
  std::vector<Pick> picks_;
};

}  // namespace

bool for_each_solution(const Scene& scene, uint64_t max_steps,
                       const std::function<void(const std::vector<Pick>&)>& visit) {
  Search search(scene, max_steps, [&](const std::vector<Pick>& picks) {
    visit(picks);
    return false;
  });
  search.run();
  return !search.gave_up();
}

std::optional<std::vector<Pick>> first_solution(const Scene& scene, uint64_t max_steps,
                                                const std::function<bool(const std::vector<Pick>&)>& accept,
                                                bool& gave_up) {
  Search search(scene, max_steps, accept);
  const bool found = search.run();
  gave_up = !found && search.gave_up();
  if (!found) return std::nullopt;
  return search.picks();
}

Solution solve(const World& world, uint64_t max_steps, const SelectorJudge& judge) {
  Solution verdict;
  for (const api::Node& node : world.nodes) {
    const Scene scene = build_scene(world, node, judge);
    if (!scene.error.empty()) {
      verdict.answer = Answer::kError;
      verdict.error = scene.error;
      return verdict;
    }
    Search search(scene, max_steps);
    const bool found = search.run();
    verdict.steps += search.steps();
    if (found) {
      verdict.answer = Answer::kFeasible;
      verdict.node = node.metadata.name;
      for (const Pick& pick : search.picks())
        verdict.picks.push_back({scene.world->claims[pick.option->claim].metadata.name + ":" + pick.option->result_name,
                                 scene.devices[pick.device].name.text()});
      return verdict;
    }
    if (!search.error().empty()) {
      verdict.answer = Answer::kError;
      verdict.error = search.error();
      verdict.must_fail = true;
      return verdict;
    }
    if (search.gave_up()) {
      verdict.answer = Answer::kTooBig;
      return verdict;
    }
  }
  return verdict;
}

}  // namespace dra::oracle
