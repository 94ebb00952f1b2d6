#include "cmd/dra-controller-manager/flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cmd/dra-controller-manager/contradictions.h"
#include "cmd/dra-controller-manager/foreign_flags.h"
#include "cmd/flag_problem.h"
#include "cmd/flag_values.h"
#include "cmd/identity_flags.h"
#include "cmd/sharing_flags.h"
#include "controllers/all.h"
#include "pkg/api/topology_level.h"
#include "pkg/base/strings.h"
#include "pkg/gang/gang.h"
#include "pkg/manager/serve/reference.h"

namespace dra::cmd {

namespace {

constexpr const char* kDescription =
    "Allocates devices to ResourceClaims, makes claims from templates and frees them (resource.k8s.io).\n\n"
    "Beside a stock kube-scheduler and kube-controller-manager the defaults are safe: only pods that carry the\n"
    "scheduling gate dra-controller-manager/allocation are touched. A device is never shared by accident only if all\n"
    "consumers of its driver opt in, or the devices bear a NoSchedule taint named by --ignore-taints.";

// The texts of flags whose meaning depends on other flags or needs parsing.
struct Texts {
  std::string controllers = "*", feature_gates, kubernetes_version, ignored_fields, cel_extensions;
  std::string lease_kind = "leases";
};

// "*" means all, "-name" removes one of those named before or by "*".
Result<std::vector<std::string>> chosen_controllers(const std::string& list) {
  std::vector<std::string> chosen;
  const auto put = [&chosen](const std::string& name) {
    if (std::find(chosen.begin(), chosen.end(), name) == chosen.end()) chosen.push_back(name);
  };
  const std::vector<std::string> items = names(list);
  if (std::find(items.begin(), items.end(), "*") != items.end())
    for (const std::string& name : controller_names()) put(name);
  for (const std::string& item : items) {
    if (item == "*") continue;
    const bool off = item.front() == '-';
    const std::string name = off ? item.substr(1) : item;
    if (name == "resourceclaim-controller" || name == "resource-claim-controller")
      return fail(Code::kInvalidArgument,
                  "--controllers: what \"" + name + "\" does is done here by claimtemplate and lifecycle; name these");
    const reconcile::Controller* known = find_controller(name);
    if (!known)
      return fail(Code::kInvalidArgument,
                  "--controllers: \"" + name + "\" is not in the list of known controllers: " + known_controllers());
    if (off)
      std::erase(chosen, known->name);
    else
      put(std::string(known->name));
  }
  return chosen;
}

// Switches on what --cel-extensions names. Returns the first unknown name, as one sentence; empty when all are known.
std::string switch_on_cel_extensions(const std::string& list, manager::ManagerOptions& options) {
  for (const std::string& name : names(list)) {
    if (name != "quantity-operators")
      return "--cel-extensions: \"" + name + "\" is not in the list of known extensions: quantity-operators";
    options.quantity_operators = true;
  }
  return "";
}

// Topology levels are label keys or device attributes, and few.
std::string wrong_level(const std::vector<std::string>& levels) {
  if (levels.size() > gang::kMaxTopologyLevels)
    return "--topology-levels has " + std::to_string(levels.size()) + " levels; name at most " +
           std::to_string(gang::kMaxTopologyLevels);
  for (const std::string& level : levels)
    if (!api::topology_level_problems(level).empty())
      return "--topology-levels: \"" + level + "\" is neither the key of a label nor attribute:<domain>/<name>";
  return "";
}

// The first fault as one sentence; empty when there is none.
std::string settle(const CLI::App& app, const Texts& texts, Flags& flags) {
  const auto controllers = chosen_controllers(texts.controllers);
  if (!controllers) return controllers.error().message();
  flags.manager.settings.controllers = *controllers;
  auto features = inventory::FeatureChoice::parse(texts.feature_gates, texts.kubernetes_version);
  if (!features) return features.error().message();
  api::IgnoredFields ignored;
  if (const std::string wrong = api::read_ignored_fields(texts.ignored_fields, ignored); !wrong.empty())
    return "--ignore-unknown-fields: " + wrong;
  features->ignore(std::move(ignored));
  flags.manager.features = *features;
  if (std::string wrong = switch_on_cel_extensions(texts.cel_extensions, flags.manager); !wrong.empty()) return wrong;
  if (std::string wrong = wrong_level(flags.manager.settings.topology_levels); !wrong.empty()) return wrong;
  return contradiction(flags, [&app](const char* flag) { return app.count(flag) > 0; });
}

void define_connection(CLI::App& app, Flags& flags) {
  app.add_option("--kubeconfig", flags.config.kubeconfig,
                 "Kubeconfig file; without it the pod's own configuration, $KUBECONFIG, or ~/.kube/config");
  app.add_option("--context", flags.config.context, "Context of the kubeconfig file");
  app.add_option("--master", flags.config.master, "Address of the API server; overrides the kubeconfig file's");
  app.add_option("--kube-api-qps", flags.manager.pace.qps,
                 "Requests a second; 0 means no limit of our own, the server's 429 is obeyed")
      ->capture_default_str()
      ->check(in_range(0.0, 1e6));
  app.add_option("--kube-api-burst", flags.manager.pace.burst, "Burst of --kube-api-qps")
      ->capture_default_str()
      ->check(in_range(1, 1'000'000, "whole number"));
}

void define_modes(CLI::App& app, Texts& texts, Flags& flags) {
  manager::ManagerOptions& options = flags.manager;
  using manager::ClaimTemplates;
  add_choice<ClaimTemplates>(app, "--claim-templates", options.settings.claim_templates,
                             {{"observe", ClaimTemplates::kObserve}, {"own", ClaimTemplates::kOwn}},
                             "observe: use the claims that kube-controller-manager makes; own: make them here, its "
                             "resourceclaim-controller must be off (--controllers=*,-resourceclaim-controller)");
  app.add_flag("--resourceclaim-controller-is-off", options.claim_controller_is_off,
               "With --claim-templates=own: kube-controller-manager's resourceclaim-controller is known to be off, so "
               "claims are made at once although kube-controller-manager runs");
  using reconcile::Scheduling;
  add_choice<Scheduling>(
      app, "--scheduling", options.settings.scheduling,
      {{"observe", Scheduling::kObserve}, {"gate", Scheduling::kGate}, {"bind", Scheduling::kBind}},
      "gate: allocate for pods that carry the gate dra-controller-manager/allocation, then lift it; bind: "
      "also bind pods of --scheduler-names, no other scheduler may serve these names; observe: explain only");
  add_list(app, "--scheduler-names", options.settings.scheduler_names,
           "Names in pod.spec.schedulerName that are ours to bind");
  app.add_flag("--release-gates", options.settings.release_gates,
               "Lift every gate of ours and allocate nothing more, before an uninstall");
  add_duration(app, "--release-deadline", flags.release_deadline, {},
               "With --release-gates: end with status 0 once no pod carries our gate, or with 1 after this time");
  add_list(app, "--ignore-taints", options.ignored_taints,
           "Keys of NoSchedule device taints that keep other allocators away and that this one ignores");
  add_choice<bool>(app, "--usage", flags.usage, {{"on", true}, {"off", false}},
                   "Whether the leader counts who used what (metrics dra_usage_*), and writes the totals into a "
                   "ConfigMap beside its Lease once a minute; needs --leader-elect, and not with --scheduling=observe");
  app.add_option("--controllers", texts.controllers,
                 "Controllers to run: * for all, name, -name; known: " + known_controllers())
      ->capture_default_str();
}

void define_eviction(CLI::App& app, Flags& flags) {
  using manager::DeviceTaintEviction;
  add_choice<DeviceTaintEviction>(
      app, "--device-taint-eviction", flags.manager.settings.device_taint_eviction,
      {{"observe", DeviceTaintEviction::kObserve}, {"own", DeviceTaintEviction::kOwn}},
      "Pods of devices with NoExecute taints. observe: kube-controller-manager's "
      "device-taint-eviction-controller evicts them (on by default since 1.36), an event reports those "
      "that it left for 30 s; own: they are evicted here, it must be off "
      "(--controllers=*,-device-taint-eviction-controller)");
  app.add_option("--max-evictions-per-rule", flags.manager.settings.max_evictions_per_rule,
                 "With --device-taint-eviction=own: a DeviceTaintRule that would evict more pods evicts none until it "
                 "bears the annotation dra-controller-manager/allow-evictions=GENERATION; its status says so (default: "
                 "no limit)")
      ->check(in_range<uint64_t>(1, 1'000'000, "whole number"));
  app.add_option("--device-taint-eviction-rate", flags.manager.settings.device_taint_eviction_rate,
                 "Pods a second that are evicted at most; 0 means no limit")
      ->capture_default_str()
      ->check(in_range(0.0, 10'000.0));
}

void define_rules(CLI::App& app, Texts& texts, Flags& flags) {
  app.add_option("--feature-gates", texts.feature_gates,
                 "DRA feature gates of the cluster as Name=true|false,...; what is not named follows the API server's "
                 "release and what it serves and stores");
  app.add_option(
      "--kubernetes-version", texts.kubernetes_version,
      "Decide by the rules of this release (1.36, 1.37, 1.38) for selectors and capacities, whatever the API "
      "server says that it is");
  app.add_option("--ignore-unknown-fields", texts.ignored_fields,
                 "Fields of slices, claims, classes and PodGroups that are ignored although this version does not know "
                 "or support them, as the event about one names it: resourceslices.spec.devices.newField,... Without "
                 "it what has such a field is not allocated");
  using allocator::Strategy;
  add_choice<Strategy>(
      app, "--strategy", flags.manager.strategy,
      {{"first-fit", Strategy::kFirstFit},
       {"best-fit", Strategy::kBestFit},
       {"pack", Strategy::kPack},
       {"spread", Strategy::kSpread}},
      "How node and devices are chosen together. first-fit: the first devices in kube-scheduler's order on "
      "the node that it would score highest; best-fit: what leaves most of use to the requests of late; "
      "pack: the fullest first; spread: the emptiest first. A DeviceClass may say otherwise: annotation "
      "dra-controller-manager/strategy");
}

void define_search(CLI::App& app, Texts& texts, Flags& flags) {
  reconcile::Settings& options = flags.manager.settings;
  add_duration(app, "--gang-hold-timeout", options.gang_hold_timeout, {"30s", "1s", "1h"},
               "Devices that are held for a group of pods go back after this time when the group could not be "
               "completed; scheduleTimeoutSeconds of a PodGroup makes it shorter");
  add_duration(app, "--gang-starvation-after", options.gang_starvation_after, {"5m", "1s", "24h"},
               "A group of pods that fits into the cluster, but waits for so long, keeps the nodes that it needs from "
               "pods of its priority and below until it is placed");
  app.add_option("--max-moves", options.max_moves, "With --defragment: moves for one pod that waits, at most")
      ->capture_default_str()
      ->check(in_range<uint64_t>(1, 64, "whole number"));
  add_duration(app, "--move-after", options.move_after, {"10m", "0s", "24h"},
               "With --defragment: pods that run for less are left where they are");
  app.add_option("--moves-per-hour", options.moves_per_hour,
                 "With --defragment: moves in an hour, made or advised, in all, and of a namespace without the "
                 "annotation dra-controller-manager/moves-per-hour")
      ->capture_default_str()
      ->check(in_range<uint64_t>(0, 1000, "whole number"));
  add_list(app, "--topology-levels", options.topology_levels,
           "Labels of nodes, and attributes of their devices, from wide domains to narrow ones, separated by commas, "
           "as example.com/spine,attribute:gpu.nvidia.com/cliqueId,kubernetes.io/hostname. Groups and pods name one of "
           "them in the annotations dra-controller-manager/topology-required and topology-preferred");
  app.add_option(
         "--allocation-step-budget", flags.manager.step_budget,
         "Most steps of half a microsecond that one attempt to find devices may take; the first attempt has 50000, "
         "each further one twice as many as the one before")
      ->capture_default_str()
      ->check(in_range<uint64_t>(1, 1'000'000'000'000, "whole number"));
  app.add_option("--cel-extensions", texts.cel_extensions,
                 "Extensions of device selectors, beyond what API servers accept; known: quantity-operators (write "
                 "device.capacity[...].memory >= quantity(\"40Gi\"))");
  app.add_flag("--strict-selector-errors", flags.manager.strict_selector_errors,
               "Give up a pod's allocation when a selector fails on a device, as kube-scheduler does; otherwise that "
               "device is left out and reported");
  app.add_flag(
      "--stale-pool-generations", flags.manager.stale_generations,
      "Let a node use its complete older generation of a pool whose newer slices are for other nodes only, as "
      "kube-scheduler does (on unless set to false: then only the newest generation counts, as the API has it)");
}

void define_controllers(CLI::App& app, Flags& flags) {
  for (const reconcile::Controller* controller : all_controllers()) {
    app.option_defaults()->group("Controller " + std::string(controller->name));
    for (const reconcile::Flag& flag : controller->flags) {
      std::string& value = flags.manager.settings.flags[std::string(flag.name)];
      value = flag.default_value;
      app.add_option("--" + std::string(flag.name), value, std::string(flag.help))
          ->capture_default_str()
          ->check(one_of(std::vector<std::string>(flag.words.begin(), flag.words.end())));
    }
  }
}

void define_election(CLI::App& app, Texts& texts, Flags& flags) {
  app.add_option("--leader-elect", flags.leader_elect, "Campaign for a Lease before doing anything")
      ->default_str("true")
      ->expected(0, 1)
      ->default_val(true);
  add_duration(app, "--leader-elect-lease-duration", flags.election.lease_duration, {"15s"},
               "How long others wait for a silent leader");
  add_duration(app, "--leader-elect-renew-deadline", flags.election.renew_deadline, {"10s"},
               "How long a leader tries to renew");
  add_duration(app, "--leader-elect-retry-period", flags.election.retry_period, {"2s"}, "Time between tries");
  app.add_option("--leader-elect-resource-lock", texts.lease_kind, "What is competed for; leases is all there is")
      ->capture_default_str()
      ->check(one_of({"leases"}));
  app.add_option("--leader-elect-resource-name", flags.lease_name, "Name of the Lease")->capture_default_str();
  app.add_option("--leader-elect-resource-namespace", flags.lease_namespace, "Namespace of the Lease")
      ->capture_default_str();
}

void define_serving(CLI::App& app, Flags& flags) {
  app.add_option("--bind-address", flags.bind_address, "Address of /healthz, /livez, /readyz, /metrics and /configz")
      ->capture_default_str();
  app.add_option("--metrics-port", flags.metrics_port, "Port of the same (HTTP); 0 for any free one, -1 for none")
      ->capture_default_str()
      ->check(port_from(-1));
  app.add_option("--secure-port", flags.secure_port, "Port of the same over HTTPS; 0 for none")
      ->capture_default_str()
      ->check(port_from(0));
  app.add_option("--tls-cert-file", flags.tls_certificate_file,
                 "PEM certificate of --secure-port; without it a self-signed one is made");
  app.add_option("--tls-private-key-file", flags.tls_key_file, "PEM key of --tls-cert-file");
  using manager::MetricsAuthentication;
  add_choice<MetricsAuthentication>(
      app, "--metrics-authentication", flags.metrics_authentication,
      {{"secure", MetricsAuthentication::kSecure},
       {"always", MetricsAuthentication::kAlways},
       {"never", MetricsAuthentication::kNever}},
      "Where /metrics and /configz are for those only whom the API server permits (TokenReview, "
      "SubjectAccessReview): secure (on --secure-port), always (and not on --metrics-port) or never");
}

void define(CLI::App& app, Texts& texts, Flags& flags) {
  const auto group = [&app](const char* title) { app.option_defaults()->group(title); };
  group("Connection");
  define_connection(app, flags);
  group("What it does");
  define_modes(app, texts, flags);
  define_controllers(app, flags);
  group("What it does");
  define_eviction(app, flags);
  define_rules(app, texts, flags);
  define_search(app, texts, flags);
  group("One piece of silicon");
  add_identity_flags(app, flags.manager.identities);
  group("Shared devices");
  add_sharing_flags(app, flags.manager.sharing);
  group("Leader election");
  define_election(app, texts, flags);
  group("Serving");
  define_serving(app, flags);
  group("Log");
  app.add_option("-v,--v", flags.verbosity, "Verbosity of the log, 0 to 10")
      ->capture_default_str()
      ->check(in_range(0, 10, "whole number"));
  add_choice<log::Format>(app, "--logging-format", flags.log_format,
                          {{"text", log::Format::kText}, {"json", log::Format::kJson}}, "text or json");
  group("Process");
  add_duration(app, "--controller-shutdown-timeout", flags.shutdown_timeout, {"10s"},
               "How long writes in flight are waited for at the end");
}

}  // namespace

Parsed parse_flags(const std::vector<std::string>& arguments, const std::string& version) {
  Flags flags;
  Texts texts;
  flags.manager.settings.scheduler_names = {"default-scheduler", "dra-controller-manager"};
  flags.manager.pace.burst = 30;
  CLI::App app(kDescription, "dra-controller-manager");
  app.set_version_flag("--version", "dra-controller-manager " + version);
  app.get_formatter()->column_width(44);
  define(app, texts, flags);
  bool print_reference = false;
  app.add_flag("--print-reference", print_reference)->group("");  // not in --help: for scripts/render-reference
  Parsed parsed;
  const std::vector<std::string> given = normalised(arguments);
  if (const std::string foreign = foreign_flag(given); !foreign.empty()) {
    parsed.text = "error: " + foreign + "\n";
    parsed.exit_status = 1;
    return parsed;
  }
  try {
    app.parse(for_parser(app, given));
  } catch (const CLI::CallForHelp&) {
    parsed.text = app.help();
    return parsed;
  } catch (const CLI::CallForVersion& call) {
    parsed.text = std::string(call.what()) + "\n";
    return parsed;
  } catch (const CLI::ParseError& error) {
    parsed.text = "error: " + flag_problem(app, error, given) + "; see --help\n";
    parsed.exit_status = 1;
    return parsed;
  }
  if (print_reference) {
    parsed.text = manager::reference_json() + "\n";
    return parsed;
  }
  if (const std::string wrong = settle(app, texts, flags); !wrong.empty()) {
    parsed.text = "error: " + wrong + "\n";
    parsed.exit_status = 1;
    return parsed;
  }
  parsed.flags = std::move(flags);
  return parsed;
}

}  // namespace dra::cmd
