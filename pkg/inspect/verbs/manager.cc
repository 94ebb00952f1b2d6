#include "pkg/inspect/verbs/manager.h"

#include <algorithm>
#include <cctype>

#include "pkg/base/timestamp.h"
#include "pkg/inspect/state/unseen.h"
#include "pkg/protocol/manager_lease.h"

namespace dra::inspect {
namespace {

using protocol::Leadership;

std::string lease_name(const api::Lease& lease) {
  return "Lease " + lease.metadata.key();
}

std::string drivers_text(const protocol::ManagerNotes& notes) {
  std::string text;
  if (!notes.exclusive.empty()) text += "; it allocates alone for " + join(notes.exclusive, ", ");
  if (!notes.shared.empty()) text += "; others may allocate, too, for " + join(notes.shared, ", ");
  return text;
}

// Pods of the manager beside the Lease, where they can be seen.
size_t replicas(const Objects& objects, const api::Lease& lease) {
  return static_cast<size_t>(std::count_if(objects.pods.begin(), objects.pods.end(), [&](const auto& entry) {
    const api::Pod& pod = *entry.second;
    const auto label = pod.metadata.labels.find(std::string(protocol::kManagerLabel));
    return pod.metadata.ns == lease.metadata.ns && pod.phase == "Running" && label != pod.metadata.labels.end() &&
           label->second == protocol::kManagerName;
  }));
}

std::string leader_text(const Objects& objects, const api::Lease& lease) {
  const Timestamp now = objects.taken;
  const size_t running = replicas(objects, lease);
  const protocol::ManagerNotes notes = protocol::notes_of(lease.metadata.annotations);
  std::string text = lease.holder_identity + " has led for " + age_text(lease.acquire_time, now) + " (" +
                     lease_name(lease) + (notes.version.empty() ? "" : ", version " + notes.version) +
                     (notes.mode.empty() ? "" : ", mode " + notes.mode) +
                     (notes.scheduler_names.empty() ? "" : " for " + join(notes.scheduler_names, ", ")) +
                     (notes.opt_in.empty() ? "" : ", opt-in " + notes.opt_in) +
                     (running == 0 ? "" : ", " + counted(running, "replica")) + ")";
  return text + drivers_text(notes);
}

// The last Lease that was renewed: what was there when somebody led.
const api::Lease* latest(const std::vector<const api::Lease*>& leases) {
  const auto later = [](const api::Lease* a, const api::Lease* b) {
    Timestamp x, y;
    const bool has_x = parse_rfc3339(a->renew_time, x), has_y = parse_rfc3339(b->renew_time, y);
    return has_y && (!has_x || x < y);
  };
  const auto found = std::max_element(leases.begin(), leases.end(), later);
  return found == leases.end() ? nullptr : *found;
}

void say_nobody(ManagerSight& sight, const std::vector<const api::Lease*>& all, const Objects& objects) {
  sight.health = ManagerHealth::kNobody;
  const api::Lease* last = latest(all);
  if (last == nullptr) {
    sight.text = "no dra-controller-manager is installed" +
                 (objects.managers.ns.empty() ? std::string() : " in namespace " + objects.managers.ns) +
                 ": no Lease has the label " + std::string(protocol::kManagerLabel) + "=" +
                 std::string(protocol::kManagerName);
    sight.to_do = "install it (docs/install.md), or take the gate " + std::string(kManagerGate) + " out of the pods";
    return;
  }
  const bool renewed = !last->renew_time.empty();
  sight.text = renewed ? "no dra-controller-manager has led since " + last->renew_time + ", for " +
                             age_text(last->renew_time, objects.taken) + " (" + lease_name(*last) + ")"
                       : "no dra-controller-manager has ever led (" + lease_name(*last) + ")";
  sight.to_do = "see why none runs: kubectl get pods -n " + last->metadata.ns + " -l " +
                std::string(protocol::kManagerLabel) + "=" + std::string(protocol::kManagerName);
}

}  // namespace

bool waits_for_manager(const Objects& objects, const api::Pod& pod) {
  if (!pod.node_name.empty() || pod.terminal() || pod.metadata.deleting()) return false;
  const auto& gates = pod.scheduling_gates;
  if (std::find(gates.begin(), gates.end(), kManagerGate) != gates.end()) return true;
  return gates.empty() &&
         std::any_of(objects.managers.leases.begin(), objects.managers.leases.end(), [&](const auto& entry) {
           const auto names = protocol::notes_of(entry.second->metadata.annotations).scheduler_names;
           return std::find(names.begin(), names.end(), pod.scheduler_name) != names.end();
         });
}

ManagerSight manager_sight(const Objects& objects) {
  ManagerSight sight;
  for (const auto& [key, pod] : objects.pods)
    if (waits_for_manager(objects, *pod)) sight.waiting.push_back(key);
  if (!objects.managers.why_hidden.empty()) {
    sight.text = "not visible: the manager's Lease (" + objects.managers.why_hidden + ")";
    sight.to_do = "ask for the ClusterRole " + std::string(kViewerRole) +
                  ", or name the manager's namespace, where you may read it: --manager-namespace";
    return sight;
  }
  if (!objects.managers.asked) {
    sight.text = "the manager's Lease is not in this snapshot";
    return sight;
  }
  std::vector<const api::Lease*> all, leading;
  for (const auto& [key, lease] : objects.managers.leases) {
    all.push_back(lease.get());
    if (protocol::leadership_of(*lease, objects.taken) == Leadership::kLeads) leading.push_back(lease.get());
  }
  if (leading.empty()) {
    say_nobody(sight, all, objects);
    return sight;
  }
  std::vector<std::string> texts;
  for (const api::Lease* lease : leading) texts.push_back(leader_text(objects, *lease));
  sight.health = ManagerHealth::kServes;
  sight.text = join(texts, "; ");
  if (leading.size() > 1) {
    sight.health = ManagerHealth::kIdle;
    sight.text = "several managers lead, and each allocates as if it were alone: " + sight.text;
    sight.to_do = "uninstall all but one";
  } else if (protocol::notes_of(leading[0]->metadata.annotations).mode == "observe") {
    // An observer explains; it is in order unless pods rely on it.
    sight.health = ManagerHealth::kIdle;
    sight.to_do = "in mode observe it lifts no gate: install it with scheduling.mode=gate, or take the gate " +
                  std::string(kManagerGate) + " out of the pods";
  }
  return sight;
}

void say_manager(Answer& answer, const Objects& objects, const api::Pod& pod) {
  if (!waits_for_manager(objects, pod)) return;
  const ManagerSight sight = manager_sight(objects);
  std::string sentence = sight.text + ".";
  sentence[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(sentence[0])));
  switch (sight.health) {
    case ManagerHealth::kUnknown:
      if (objects.managers.why_hidden.empty()) return;  // an old snapshot: nothing to say
      answer.say({"ManagerNotVisible",
                  "Whether a dra-controller-manager serves it is not visible: " + objects.managers.why_hidden + ".",
                  {},
                  "",
                  {},
                  {},
                  {{"ToDo", sight.to_do}}});
      if (answer.status == Status::kYes) answer.status = Status::kUnknown;
      return;
    case ManagerHealth::kServes:
      if (answer.status == Status::kYes) answer.say("ManagerServes", "Its manager: " + sight.text + ".");
      return;
    case ManagerHealth::kNobody:
    case ManagerHealth::kIdle:
      answer.say({sight.health == ManagerHealth::kNobody ? "ManagerAbsent" : "ManagerIdle", sentence});
      if (!sight.to_do.empty()) {
        answer.lines.push_back("  " + sight.to_do);
        answer.statements.back().remedies.push_back({"ToDo", sight.to_do});
      }
      answer.status = Status::kNo;
      return;
  }
}

}  // namespace dra::inspect
