#include "cmd/dra-controller-manager/contradictions.h"

#include <algorithm>
#include <initializer_list>

namespace dra::cmd {
namespace {

using Given = std::function<bool(const char* flag)>;
using reconcile::Scheduling;

struct Pair {
  bool there;
  const char* what;
};

std::string first_of(std::initializer_list<Pair> pairs) {
  for (const Pair& pair : pairs)
    if (pair.there) return pair.what;
  return "";
}

bool runs(const Flags& flags, std::string_view controller) {
  const auto& chosen = flags.manager.settings.controllers;
  return std::find(chosen.begin(), chosen.end(), controller) != chosen.end();
}

bool word_is(const Flags& flags, const char* flag, std::initializer_list<std::string_view> words) {
  const auto found = flags.manager.settings.flags.find(flag);
  return found != flags.manager.settings.flags.end() &&
         std::find(words.begin(), words.end(), found->second) != words.end();
}

// The chart refuses the same pairs of its values (charts/dra-controller-manager/templates/_helpers.tpl).
std::string of_modes(const Flags& flags, const Given& given) {
  const reconcile::Settings& s = flags.manager.settings;
  const bool observes = s.scheduling == Scheduling::kObserve, binds = s.scheduling == Scheduling::kBind;
  const bool own_claims = s.claim_templates == manager::ClaimTemplates::kOwn;
  const bool own_evictions = s.device_taint_eviction == manager::DeviceTaintEviction::kOwn;
  return first_of({
      {observes && own_claims,
       "--scheduling=observe writes nothing but events, and --claim-templates=own makes claims; use "
       "--claim-templates=observe, or --scheduling=gate or bind"},
      {observes && own_evictions,
       "--scheduling=observe writes nothing but events, and --device-taint-eviction=own evicts pods; use "
       "--device-taint-eviction=observe, or --scheduling=gate or bind"},
      {observes && word_is(flags, "recreate-pinned-pods", {"on", "true"}),
       "--scheduling=observe writes nothing but events, and --recreate-pinned-pods=on evicts pods; use "
       "--recreate-pinned-pods=off, or --scheduling=gate"},
      {observes && word_is(flags, "recover-failed-prepares", {"on", "true"}),
       "--scheduling=observe writes nothing but events, and --recover-failed-prepares=on evicts pods; use "
       "--recover-failed-prepares=off, or --scheduling=gate or bind"},
      {observes && given("--usage") && flags.usage,
       "--scheduling=observe writes nothing but events, and --usage=on writes totals into a ConfigMap; use "
       "--usage=off, "
       "or --scheduling=gate or bind"},
      {!flags.leader_elect && given("--usage") && flags.usage,
       "--usage=on writes totals beside the Lease of the leader, and --leader-elect=false has none; use --usage=off, "
       "or "
       "--leader-elect"},
      {observes && s.release_gates,
       "--release-gates lifts gates, which --scheduling=observe does not allow; use --scheduling=gate"},
      {binds && s.release_gates,
       "--release-gates allocates nothing more and ends, and --scheduling=bind serves the pods of --scheduler-names; "
       "use --scheduling=gate for this run, which lifts the gates of all"},
      {binds && s.scheduler_names.empty(), "--scheduling=bind needs at least one name in --scheduler-names"},
      {!binds && given("--scheduler-names"),
       "--scheduler-names are names that are ours to bind, and only --scheduling=bind binds; use --scheduling=bind, or "
       "leave --scheduler-names out"},
      {!binds && word_is(flags, "preemption", {"on", "true"}),
       "--preemption=on evicts pods for those that this manager binds, and only --scheduling=bind binds; use "
       "--scheduling=bind, or --preemption=off: kubectl dra whatif preempt advises in every mode"},
      {!binds && word_is(flags, "defragment", {"on"}),
       "--defragment=on moves pods to places that this manager gives them, and only --scheduling=bind binds; use "
       "--scheduling=bind, or --defragment=advice, which names the moves"},
      {observes && word_is(flags, "defragment", {"advice"}),
       "--defragment=advice is about pods that this manager serves, and --scheduling=observe serves none; use "
       "--scheduling=gate or bind, or --defragment=off: kubectl dra whatif make-room advises in every mode"},
      {flags.manager.claim_controller_is_off && !own_claims,
       "--resourceclaim-controller-is-off is of use with --claim-templates=own only; use that, or leave it out"},
      {s.max_evictions_per_rule > 0 && !own_evictions,
       "--max-evictions-per-rule guards evictions of this manager, which --device-taint-eviction=observe leaves to "
       "kube-controller-manager; use --device-taint-eviction=own"},
      {given("--device-taint-eviction-rate") && !own_evictions,
       "--device-taint-eviction-rate limits evictions of this manager, which --device-taint-eviction=observe leaves to "
       "kube-controller-manager; use --device-taint-eviction=own"},
      {flags.release_deadline > Duration::zero() && !s.release_gates,
       "--release-deadline is for --release-gates; set both or neither"},
  });
}

std::string of_controllers(const Flags& flags, const Given& given) {
  const reconcile::Settings& s = flags.manager.settings;
  return first_of({
      {s.controllers.empty(),
       "--controllers leaves no controller, so nothing would be done; use * for all, or *,-name for all but one"},
      {s.claim_templates == manager::ClaimTemplates::kOwn && !runs(flags, "claimtemplate"),
       "--claim-templates=own makes claims, and --controllers leaves out claimtemplate, which does it; add it, or use "
       "--claim-templates=observe"},
      {s.device_taint_eviction == manager::DeviceTaintEviction::kOwn && !runs(flags, "tainteviction"),
       "--device-taint-eviction=own evicts pods, and --controllers leaves out tainteviction, which does it; add it, or "
       "use --device-taint-eviction=observe"},
      {word_is(flags, "preemption", {"on", "true"}) && !runs(flags, "preemption"),
       "--preemption=on evicts pods, and --controllers leaves out preemption, which does it; add it, or use "
       "--preemption=off"},
      {word_is(flags, "defragment", {"advice", "on"}) && !runs(flags, "defragment"),
       "--defragment advises moves or makes them, and --controllers leaves out defragment, which does it; add it, or "
       "use --defragment=off"},
      {word_is(flags, "recover-failed-prepares", {"on", "true"}) && !runs(flags, "recovery"),
       "--recover-failed-prepares=on evicts pods, and --controllers leaves out recovery, which does it; add it, or use "
       "--recover-failed-prepares=off"},
      {given("--scheduling") && !runs(flags, "allocation"),
       "--scheduling says how pods are served, and --controllers leaves out allocation, which does it; add it, or "
       "leave "
       "--scheduling out"},
      {s.release_gates && !runs(flags, "allocation"),
       "--release-gates lifts gates, and --controllers leaves out allocation, which does it; add it"},
  });
}

std::string of_serving(const Flags& flags) {
  const bool https = flags.secure_port != 0;
  return first_of({
      {flags.metrics_authentication == manager::MetricsAuthentication::kAlways && !https,
       "--metrics-authentication=always needs --secure-port: tokens are not read over plain HTTP"},
      {https && flags.secure_port == flags.metrics_port,
       "--secure-port and --metrics-port are the same port; choose another one for one of them, or --metrics-port=-1"},
      {flags.tls_certificate_file.empty() != flags.tls_key_file.empty(),
       "--tls-cert-file and --tls-private-key-file belong together; give both or none"},
      {!flags.tls_certificate_file.empty() && !https, "--tls-cert-file is of use with --secure-port only; give both"},
  });
}

}  // namespace

std::string contradiction(const Flags& flags, const Given& given) {
  for (const std::string& found : {of_modes(flags, given), of_controllers(flags, given), of_serving(flags)})
    if (!found.empty()) return found;
  if (flags.leader_elect)
    if (const auto valid = client::validate(flags.election); !valid) return valid.error().message();
  return "";
}

}  // namespace dra::cmd
