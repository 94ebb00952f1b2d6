#include "pkg/inspect/verbs/make_room.h"

#include <algorithm>
#include <map>
#include <set>

#include "pkg/base/strings.h"
#include "pkg/inspect/state/priorities.h"
#include "pkg/inspect/state/volumes.h"
#include "pkg/protocol/moves.h"

namespace dra::inspect {
namespace {

using preempt::Kind;
using preempt::Verdict;

// The pods of a file, with the claims that they would get.
class PodsOfFile {
 public:
  PodsOfFile(const Objects& objects, const Manifest& manifest) : objects_(objects), manifest_(manifest) {
    for (const auto& claim : manifest.claims) {
      auto own = std::make_shared<api::ResourceClaim>(*claim);
      own->metadata.uid = "room-claim/" + own->metadata.key();
      own->status = {};
      claims_[own->metadata.key()] = std::move(own);
    }
    for (const auto& from : manifest.templates) templates_[from->metadata.key()] = from;
  }

  Result<std::vector<PendingPod>> make() {
    for (const Workload& workload : manifest_.workloads)
      if (auto added = add(workload); !added) return fail(added.error());
    for (const auto& [key, claim] : claims_)
      if (!named_.contains("claim " + key)) add_alone(claim);
    for (const auto& [key, from] : templates_)
      if (!named_.contains("template " + key))
        add_alone(claim_from_template(*from, from->metadata.ns, from->metadata.name, "room-template/" + key));
    if (pods_.empty())
      return fail(Code::kInvalidArgument, "the file has no pod, workload, claim or claim template to make room for");
    if (pods_.size() > kMostPodsToPlace)
      return fail(Code::kResourceExhausted, "the file has " + std::to_string(pods_.size()) +
                                                " pods, and make-room is for " + std::to_string(kMostPodsToPlace) +
                                                " at most");
    return std::move(pods_);
  }
  // Clauses: what is not as the file says.
  const std::vector<std::string>& unknown() const { return unknown_; }

 private:
  Result<void> add(const Workload& workload) {
    if (workload.kind == "DaemonSet")
      return fail(Code::kInvalidArgument, workload.text() +
                                              ": a DaemonSet has a pod on each node; make-room places pods "
                                              "that a scheduler places");
    for (uint32_t i = 0; i < workload.replicas && pods_.size() <= kMostPodsToPlace; ++i) {
      auto pod = std::make_shared<api::Pod>(workload.pod);
      pod->node_name.clear();
      pod->phase = "Pending";
      if (workload.replicas > 1) pod->metadata.name += "-" + std::to_string(i + 1);
      if (objects_.pods.contains(pod->metadata.key())) pod->metadata.name += "-new";
      pod->metadata.uid = "room-pod/" + pod->metadata.key() + "/" + std::to_string(pods_.size());
      if (workload.kind != "Pod")
        pod->metadata.owner_references = {
            {workload.kind == "Job" ? "batch/v1" : "apps/v1", workload.kind, workload.name,
             "room-owner/" + workload.kind + "/" + pod->metadata.ns + "/" + workload.name, true}};
      PendingPod pending{pod, {}, set_priority(*pod)};
      auto claims = claims_for(*pod);
      if (!claims) return fail(claims.error().wrap(workload.text()));
      pending.claims = std::move(*claims);
      pods_.push_back(std::move(pending));
    }
    return {};
  }

  // False: pods of its PriorityClass preempt nobody.
  bool set_priority(api::Pod& pod) {
    SetPriority set = inspect::set_priority(objects_, pod);
    if (!set.unknown.empty()) unknown_.push_back(std::move(set.unknown));
    return set.preempts;
  }

  Result<std::vector<Claim>> claims_for(const api::Pod& pod) {
    std::vector<Claim> claims;
    const std::string prefix = pod.metadata.ns + "/";
    for (const api::PodResourceClaim& entry : pod.resource_claims) {
      const bool from_template = entry.resource_claim_template_name.has_value();
      const std::string key =
          prefix + (from_template ? *entry.resource_claim_template_name : entry.resource_claim_name.value_or(""));
      named_.insert((from_template ? "template " : "claim ") + key);
      const auto own = templates_.find(key);
      const auto known = objects_.templates.find(key);
      const auto own_claim = claims_.find(key);
      const auto known_claim = objects_.claims.find(key);
      if (from_template && (own != templates_.end() || known != objects_.templates.end())) {
        claims.push_back(claim_from_template(own != templates_.end() ? *own->second : *known->second, pod.metadata.ns,
                                             pod.metadata.name + "-" + entry.name,
                                             pod.metadata.uid + "/" + entry.name));
      } else if (!from_template && own_claim != claims_.end()) {
        claims.push_back(own_claim->second);
      } else if (!from_template && known_claim != objects_.claims.end()) {
        claims.push_back(known_claim->second);
      } else {
        return fail(Code::kNotFound, std::string(from_template ? "ResourceClaimTemplate " : "ResourceClaim ") + key +
                                         " (used by pod claim " + quote(entry.name) +
                                         ") is neither in the file nor in the cluster");
      }
    }
    return claims;
  }

  // A pod that asks for the claim and nothing else, and goes to any node that is not cordoned.
  void add_alone(const Claim& claim) {
    auto pod = std::make_shared<api::Pod>();
    pod->metadata.ns = claim->metadata.ns;
    pod->metadata.name = claim->metadata.name;
    if (objects_.pods.contains(pod->metadata.key())) pod->metadata.name += "-new";
    pod->metadata.uid = "room-pod/" + pod->metadata.key() + "/" + std::to_string(pods_.size());
    pod->phase = "Pending";
    pod->tolerations.push_back({"", "Exists", "", "", std::nullopt});
    pod->resource_claims.push_back({"claim", claim->metadata.name, std::nullopt});
    PendingPod pending{pod, {claim}, set_priority(*pod)};
    pods_.push_back(std::move(pending));
  }

  const Objects& objects_;
  const Manifest& manifest_;
  std::map<std::string, Claim> claims_;
  std::map<std::string, std::shared_ptr<const api::ResourceClaimTemplate>> templates_;
  std::set<std::string> named_;
  std::vector<PendingPod> pods_;
  std::vector<std::string> unknown_;
};

std::vector<preempt::PodGroupFacts> groups_of(const Manifest& manifest) {
  std::vector<preempt::PodGroupFacts> groups;
  for (const PodGroup& group : manifest.groups)
    for (const bool of_plugins : {false, true})
      groups.push_back({of_plugins, group.ns + "/" + group.name, group.min_count, false});
  return groups;
}

// One search places one group, or pods that belong to none; empty: it can.
std::string why_not_one_search(const preempt::World& world) {
  for (const uint32_t pod : world.pending) {
    if (world.pods[pod].group_missing)
      return "pod " + world.pods[pod].object->metadata.key() +
             " names a PodGroup that is neither in the file nor in the cluster";
    if (world.pods[pod].group != world.pods[world.pending.front()].group)
      return "the file has pods of several groups, or of one and others; give each group a file of its own";
  }
  return "";
}

Table moves_table(const EvictionWorld& evictions, const preempt::Answer& found) {
  Table table{"",
              "moves",
              {{"MOVES", "pod"},
               {"FROM", "from"},
               {"TO", "to"},
               {"DEVICES", "devices"},
               {"OWNER", "owner"},
               {"PRIORITY", "priority"},
               {"BUDGETS", "budgets"},
               {"DEVICES NOW", "devicesNow", true}},
              {}};
  const preempt::World& world = evictions.world();
  for (const uint32_t pod : found.pods) {
    const api::Pod& object = *world.pods[pod].object;
    const auto place = found.placements.find(object.metadata.key());
    std::vector<std::string> devices;
    for (const uint32_t claim : world.pods[pod].claims)
      if (const auto given = found.allocations.find(world.claims[claim]->metadata.key());
          given != found.allocations.end())
        for (const auto& result : given->second.results) devices.push_back(result.device);
    table.rows.push_back(
        {"pod/" + object.metadata.name,
         {object.metadata.key(), object.node_name, Cell(place == found.placements.end() ? "-" : place->second),
          Cell::list(std::move(devices)), owner_text(object), Cell(std::to_string(object.priority)),
          Cell::list(evictions.budgets_of(pod)), Cell::list(devices_of_pod(evictions, pod))}});
  }
  return table;
}

// Owners and namespaces that allow fewer moves in an hour than these.
void note_pace(Answer& answer, const EvictionWorld& evictions, const Objects& objects,
               const std::vector<uint32_t>& pods) {
  std::map<std::string, std::pair<uint32_t, uint32_t>> owners, namespaces;  // name to moves, and how many are allowed
  for (const uint32_t pod : pods) {
    const api::ObjectMeta& meta = evictions.world().pods[pod].object->metadata;
    const auto mark = meta.annotations.find(protocol::kMovesPerHourAnnotation);
    const uint32_t allowed = mark == meta.annotations.end() ? protocol::kMovesPerHourOfOwner
                                                            : protocol::read_moves_per_hour(mark->second).value_or(0);
    auto& owner =
        owners.try_emplace(meta.ns + " " + owner_text(*evictions.world().pods[pod].object), 0, allowed).first->second;
    ++owner.first;
    owner.second = std::min(owner.second, allowed);
    const auto ns = objects.namespaces.find(meta.ns);
    if (ns == objects.namespaces.end()) continue;
    const auto limit = ns->second->metadata.annotations.find(protocol::kMovesPerHourAnnotation);
    if (limit == ns->second->metadata.annotations.end()) continue;
    ++namespaces.try_emplace(meta.ns, 0, protocol::read_moves_per_hour(limit->second).value_or(0)).first->second.first;
  }
  const auto say = [&](const std::string& who, const std::pair<uint32_t, uint32_t>& moves) {
    if (moves.first <= moves.second) return;
    answer.say({"MovesPerHour",
                who + " allows " + counted(moves.second, "move") + " in an hour (" +
                    std::string(protocol::kMovesPerHourAnnotation) + "), and " + std::to_string(moves.first) +
                    " of these pods are its.",
                {},
                "",
                {{"allowed", moves.second}, {"pods", moves.first}}});
  };
  for (const auto& [name, moves] : owners) {
    const size_t space = name.find(' ');
    say(name.substr(space + 1) + " of namespace " + name.substr(0, space), moves);
  }
  for (const auto& [name, moves] : namespaces) say("namespace " + name, moves);
}

void say_room(Answer& answer, const EvictionWorld& evictions, const preempt::Answer& found,
              const RoomOptions& options) {
  const std::string who = pending_text(evictions);
  const bool one = evictions.world().pending.size() == 1;
  const size_t number = found.pods.size();
  std::vector<std::string> keys;
  for (const uint32_t pod : found.pods) keys.push_back(evictions.world().pods[pod].object->metadata.key());
  switch (found.verdict) {
    case Verdict::kFits:
      return answer.say("Fits", "Nobody has to move: " + who + (one ? " fits" : " fit") + " now.");
    case Verdict::kWait:
      return answer.say(
          "FitsSoon", "Nobody has to move: " + who + (one ? " fits" : " fit") + " once pods that terminate have left.");
    case Verdict::kEvict:
      answer.say({"Moves",
                  counted(number, "pod") + (number == 1 ? " has" : " have") + " to move so that " + who +
                      (one ? " fits" : " fit") + ", and each finds another place: " + pods_text(evictions, found.pods) +
                      ". With fewer moves it is impossible.",
                  {},
                  "",
                  {{"pods", number}},
                  {{"pods", std::move(keys)}}});
      return answer.say("AdviceOnly", "This is advice: nobody moves them.");
    case Verdict::kNever:
      answer.say({"NeverWhateverMoves",
                  (options.max_moves ? "Not with " + counted(*options.max_moves, "move") + " at most: "
                                     : std::string("Never, whoever moves: ")) +
                      who + (one ? " does" : " do") + " not fit, whichever of the " +
                      counted(evictions.candidates(), "pod") + " that may move " +
                      "find another place; budgets are never broken for it.",
                  {},
                  "",
                  {{"candidates", evictions.candidates()}}});
      answer.status = Status::kNo;
      return;
    case Verdict::kUndecided:
      answer.say("Undecided", "Who has to move for " + who + " could not be decided within the limits of the search.");
      answer.status = Status::kUnknown;
      return;
  }
}

}  // namespace

Result<Answer> make_room(const Objects& objects, const Manifest& manifest, const RoomOptions& options) {
  Objects together = objects;  // pointers only
  for (const auto& device_class : manifest.classes) together.classes[device_class->metadata.name] = device_class;
  add_volume_claims(together, manifest);
  PodsOfFile file(together, manifest);
  auto pods = file.make();
  if (!pods) return fail(pods.error());
  State state(together, options.state);
  EvictionWorld evictions(state, Kind::kMoves, *pods, groups_of(manifest));
  evictions.world().max_moves = options.max_moves;
  const std::string refused = evictions.ask_for_more();
  if (const std::string why = why_not_one_search(evictions.world()); !why.empty())
    return fail(Code::kInvalidArgument, why);
  Answer answer{"DRAMakeRoom"};
  preempt::Answer found;
  if (refused.empty()) {
    found = least_evictions(evictions, Kind::kMoves, options.limits);
    say_room(answer, evictions, found, options);
    note_pace(answer, evictions, together, found.pods);
  } else {
    answer.say("Undecided", "Who has to move cannot be judged: " + refused + ".");
    answer.status = Status::kUnknown;
  }
  answer.tables.push_back(moves_table(evictions, found));
  answer.tables.push_back(places_table(evictions, found));
  for (const std::string& clause : file.unknown()) answer.notes.push_back(clause);
  for (const auto& [number, error] : manifest.broken) {
    answer.notes.push_back("not read: " + error.message());
    answer.status = Status::kUsage;
  }
  for (const std::string& skipped : manifest.skipped) answer.notes.push_back("not placed: " + skipped);
  note_limits_of(answer, evictions, objects, "move");
  return answer;
}

}  // namespace dra::inspect
