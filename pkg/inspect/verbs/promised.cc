#include "pkg/inspect/verbs/promised.h"

#include <algorithm>
#include <set>

#include "pkg/base/strings.h"
#include "pkg/inspect/verbs/judge.h"

namespace dra::inspect {
namespace {

constexpr size_t kNamedAtMost = 8;

std::string listed(const std::vector<std::string>& names) {
  return join_some(names, kNamedAtMost);
}

// What its own pods get.
std::vector<std::string> devices_of(const Promised& one) {
  std::vector<std::string> names;
  for (const auto& [claim, allocation] : one.promise.allocations)
    if (!one.is_of_a_move(claim))
      for (const auto& result : allocation.results)
        names.push_back(result.driver + "/" + result.pool + "/" + result.device);
  return names;
}

// Those that are still there, by the uid that was written.
std::vector<std::string> victims_left(const Objects& objects, const protocol::Promise& promise) {
  std::vector<std::string> names;
  for (const protocol::Instance& victim : promise.victims) {
    const auto known = objects.pods.find(victim.key);
    if (known != objects.pods.end() && known->second->metadata.uid == victim.uid) names.push_back(victim.key);
  }
  return names;
}

bool is_for(const PromisedTo& to, const api::Pod& pod) {
  return to.move != nullptr ? protocol::is_next_of(*to.move, pod) : to.promise->is_for(pod);
}

}  // namespace

std::string shown(const PromisedTo& to) {
  return to.move != nullptr ? "next of " + to.move->pod.key : owner_name(*to.promise);
}

std::string in_words(const PromisedTo& to) {
  if (to.move == nullptr) return owner_of(*to.promise);
  return "the next pod of the controller of " + to.move->pod.key + ", which moves for " + owner_of(*to.promise);
}

std::map<inventory::DeviceName, PromisedTo> promised_devices(const std::vector<Promised>& all) {
  std::map<inventory::DeviceName, PromisedTo> owners;
  const auto add = [&owners](const api::AllocationResult& allocation, PromisedTo to) {
    for (const auto& result : allocation.results)
      if (!result.admin_access) owners.try_emplace({result.driver, result.pool, result.device}, to);
  };
  for (const Promised& one : all) {
    for (const protocol::Promise::Move& move : one.promise.moves)
      for (const std::string& claim : move.claims) add(one.promise.allocations.at(claim), {&one, &move});
    for (const auto& [claim, allocation] : one.promise.allocations)
      if (!one.is_of_a_move(claim)) add(allocation, {&one, nullptr});
  }
  return owners;
}

void say_promise(Answer& answer, const Objects& objects, const api::Pod& pod) {
  for (const Promised& one : promised_pods(objects)) {
    if (!one.is_for(pod)) continue;
    std::set<std::string> distinct;
    for (const protocol::Promise::Place& place : protocol::places_of(one.promise, *one.pod))
      distinct.insert(place.node);
    const std::vector<std::string> nodes(distinct.begin(), distinct.end());
    const std::vector<std::string> devices = devices_of(one);
    const bool moves = one.promise.has_moves();
    const std::vector<std::string> left = victims_left(objects, one.promise);
    answer.say({"Promised",
                (nodes.size() == 1 ? "Node " : "Nodes ") + listed(nodes) +
                    (devices.empty() ? "" : " with " + listed(devices)) + (nodes.size() == 1 ? " was" : " were") +
                    " promised to " + owner_of(one) + " " + age_text(one.promise.since, objects.taken) + " ago" +
                    (left.empty() ? std::string(moves ? ": who moves for it has left, or is not visible."
                                                      : ": whose place it takes are gone, or not visible.")
                     : moves      ? ", when these have moved, each to a place of its own: " + listed(left) + "."
                                  : ", in the place of " + listed(left) + ".") +
                    (one.promise.proven ? "" : " The promise is not proven yet, so nobody has been told to go."),
                ref_of(*one.pod),
                "status.conditions[" + std::string(protocol::kPromiseCondition) + "]",
                {{"devices", devices.size()}, {"pods", left.size()}},
                {{"nodes", nodes}, {"devices", devices}, {"pods", left}}});
  }
}

bool note_promises(Answer& answer, const Objects& objects) {
  std::vector<std::string> names;
  bool moves = false;
  for (const Promised& one : proven_promises(objects)) {
    names.push_back(owner_of(one) + " (priority " + std::to_string(one.pod->priority) + ")");
    moves = moves || one.promise.has_moves();
  }
  if (names.empty()) return false;
  const bool one = names.size() == 1;
  answer.notes.push_back("kept: what the manager promised to " + listed(names) + ", which " + (one ? "takes" : "take") +
                         " the place of others" + (moves ? ", or for which others move" : ""));
  return true;
}

bool say_kept_from(Answer& answer, const State& state, const api::Pod& pod) {
  std::vector<std::string> names, owners;
  bool moves = false;
  const std::vector<Promised> all = promised_pods(state.objects);
  for (const auto& [device, to] : promised_devices(all)) {
    if (to.promise->pod->priority < pod.priority || is_for(to, pod)) continue;
    if (const auto known = state.inventory.device(device); !known || !known->holders.empty()) continue;
    names.push_back(device.text());
    moves = moves || to.promise->promise.has_moves();
    const std::string text = owner_of(*to.promise) + " (priority " + std::to_string(to.promise->pod->priority) + ")";
    if (std::find(owners.begin(), owners.end(), text) == owners.end()) owners.push_back(text);
  }
  if (names.empty()) return false;
  answer.say({"DevicesPromised",
              counted(names.size(), "device") + (names.size() == 1 ? " is" : " are") + " free and kept for " +
                  listed(owners) + ", which take the place of others" + (moves ? ", or for which others move" : "") +
                  ": " + listed(names) + ".",
              ref_of(pod),
              "",
              {{"devices", names.size()}},
              {{"devices", names}}});
  return true;
}

}  // namespace dra::inspect
