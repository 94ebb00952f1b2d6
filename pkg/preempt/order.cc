#include "pkg/preempt/order.h"

#include <algorithm>
#include <string>

#include "pkg/preempt/fit.h"
#include "pkg/preempt/stage.h"

namespace dra::preempt {
namespace {

// New places that are taken, one after the other; given back by the destructor.
class NewPlaces {
 public:
  // `left`: terminating pods have left.
  NewPlaces(World& world, const Answer& answer, bool left)
      : world_(world), answer_(answer), left_(left), stage_(world), fit_(world, stage_, Options{}.check_steps) {}
  ~NewPlaces() {
    for (const uint32_t pod : placed_) fit_.take_back(pod);
    for (const std::string& uid : assumed_) world_.devices.forget(uid);
  }
  NewPlaces(const NewPlaces&) = delete;
  NewPlaces& operator=(const NewPlaces&) = delete;

  bool is_free(uint32_t pod) {
    std::vector<uint32_t> gone = placed_;
    gone.push_back(pod);
    std::sort(gone.begin(), gone.end());
    for (const uint32_t one : placed_) fit_.take_back(one);
    stage_.arrange({left_, gone, {}});
    for (const uint32_t one : placed_) fit_.put(one, node_of(one));
    const std::vector<std::string> taken = take_devices(pod);
    const bool free =
        fit_.takes(pod, node_of(pod)) && world_.devices.over_commitments(taken, inventory::Layer::kAll).empty();
    for (const std::string& uid : taken) world_.devices.forget(uid);
    return free;
  }
  // After is_free() of the same pod: it leaves, and its next one comes.
  void move(uint32_t pod) {
    for (std::string& uid : take_devices(pod)) assumed_.push_back(std::move(uid));
    fit_.put(pod, node_of(pod));
    placed_.push_back(pod);
  }

 private:
  const std::string& node_of(uint32_t pod) const {
    return answer_.placements.at(world_.pods[pod].object->metadata.key());
  }
  // A claim that several of them share is given once.
  std::vector<std::string> take_devices(uint32_t pod) {
    std::vector<std::string> taken;
    for (const uint32_t claim : world_.pods[pod].claims) {
      const auto given = answer_.allocations.find(world_.claims[claim]->metadata.key());
      if (given == answer_.allocations.end()) continue;
      std::string uid = "new-place/" + given->first;
      if (world_.devices.assumed(uid)) continue;
      world_.devices.assume(uid, given->second);
      taken.push_back(std::move(uid));
    }
    return taken;
  }

  World& world_;
  const Answer& answer_;
  const bool left_;
  Stage stage_;
  Fit fit_;
  std::vector<uint32_t> placed_;
  std::vector<std::string> assumed_;
};

}  // namespace

// A pod that leaves and takes its place keeps nobody else from his: the places are there together. So whoever can go,
// goes, and nothing has to be tried twice.
std::vector<uint32_t> order_of_moves(World& world, const Answer& answer) {
  NewPlaces places(world, answer, true);
  std::vector<uint32_t> order, left = answer.pods;
  while (!left.empty()) {
    const auto next = std::find_if(left.begin(), left.end(), [&](uint32_t pod) { return places.is_free(pod); });
    if (next == left.end()) return {};
    places.move(*next);
    order.push_back(*next);
    left.erase(next);
  }
  return order;
}

std::vector<uint32_t> with_a_free_place(World& world, const Answer& answer, const std::vector<uint32_t>& pods) {
  NewPlaces places(world, answer, false);
  std::vector<uint32_t> free;
  for (const uint32_t pod : pods)
    if (places.is_free(pod)) free.push_back(pod);
  return free;
}

}  // namespace dra::preempt
