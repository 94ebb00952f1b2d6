#include "cmd/dra-controller-manager/flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <optional>

#include "cmd/dra-controller-manager/foreign_flags.h"
#include "cmd/flag_hint.h"
#include "controllers/all.h"
#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "pkg/gang/gang.h"
#include "pkg/manager/reference.h"

namespace dra::cmd {

namespace {

constexpr const char* kDescription =
    "Allocates devices to ResourceClaims, makes claims from templates and frees them (resource.k8s.io).\n\n"
    "Beside a stock kube-scheduler and kube-controller-manager the defaults are safe: only pods that carry the\n"
    "scheduling gate dra-controller-manager/allocation are touched. A device is never shared by accident only if all\n"
    "consumers of its driver opt in, or the devices bear a NoSchedule taint named by --ignore-taints.";

// The texts of flags that need more than a type.
struct Texts {
  std::string claim_templates = "observe", scheduling = "gate", strategy = "best-fit", controllers = "*",
              scheduler_names, ignore_taints;
  std::string device_taint_eviction = "observe";
  std::optional<int64_t> max_evictions_per_rule;
  std::string feature_gates, kubernetes_version, cel_extensions, log_format = "text";
  std::string metrics_authentication = "secure";
  std::string lease_kind = "leases", lease_duration = "15s", renew_deadline = "10s", retry_period = "2s",
              shutdown = "10s", release_deadline, gang_hold_timeout, gang_starvation_after, topology_levels;
};

std::string one_of(const std::string& flag, const std::string& value, const std::string& allowed) {
  return "--" + flag + "=" + value + " is not known; use one of " + allowed;
}

std::vector<std::string> names(const std::string& list) {
  std::vector<std::string> found;
  for (const std::string& part : split(list, ','))
    if (const std::string name(trim(part)); !name.empty()) found.push_back(name);
  return found;
}

// "*" is all, "-name" takes one away; nothing but takings-away means all but those.
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

// What --cel-extensions names is switched on. The first name that is not known, as one sentence; empty when all are.
std::string switch_on_cel_extensions(const std::string& list, manager::ManagerOptions& options) {
  for (const std::string& name : names(list)) {
    if (name != "quantity-operators")
      return "--cel-extensions: \"" + name + "\" is not in the list of known extensions: quantity-operators";
    options.quantity_operators = true;
  }
  return "";
}

// The first thing that is wrong, as one sentence; empty when all is well.
std::string settle(const Texts& texts, Flags& flags) {
  if (texts.claim_templates == "own")
    flags.manager.claim_templates = manager::ClaimTemplates::kOwn;
  else if (texts.claim_templates != "observe")
    return one_of("claim-templates", texts.claim_templates, "observe, own");
  if (texts.device_taint_eviction == "own")
    flags.manager.device_taint_eviction = manager::DeviceTaintEviction::kOwn;
  else if (texts.device_taint_eviction != "observe")
    return one_of("device-taint-eviction", texts.device_taint_eviction, "observe, own");
  if (!(flags.manager.device_taint_eviction_rate >= 0 && flags.manager.device_taint_eviction_rate <= 10'000))
    return "--device-taint-eviction-rate is out of range; use 0 (no limit) to 10000 pods a second";
  if (texts.max_evictions_per_rule) {
    if (texts.device_taint_eviction != "own")
      return "--max-evictions-per-rule guards evictions of this manager, which --device-taint-eviction=observe leaves "
             "to "
             "kube-controller-manager; use --device-taint-eviction=own";
    if (*texts.max_evictions_per_rule < 1 || *texts.max_evictions_per_rule > 1'000'000)
      return "--max-evictions-per-rule is out of range; use 1 to 1000000 pods, or leave it out for no limit";
    flags.manager.max_evictions_per_rule = static_cast<uint64_t>(*texts.max_evictions_per_rule);
  }
  static const std::map<std::string, allocation::Mode> kModes{
      {"observe", allocation::Mode::kObserve}, {"gate", allocation::Mode::kGate}, {"bind", allocation::Mode::kBind}};
  const auto mode = kModes.find(texts.scheduling);
  if (mode == kModes.end()) return one_of("scheduling", texts.scheduling, "observe, gate, bind");
  const std::optional<allocator::Strategy> strategy = allocator::parse_strategy(texts.strategy);
  if (!strategy) return one_of("strategy", texts.strategy, "first-fit, best-fit, pack, spread");
  flags.manager.strategy = *strategy;
  if (flags.manager.claim_controller_is_off && texts.claim_templates != "own")
    return "--resourceclaim-controller-is-off is of use with --claim-templates=own only";
  flags.manager.allocation.mode = mode->second;
  flags.manager.allocation.scheduler_names = names(texts.scheduler_names);
  if (mode->second == allocation::Mode::kBind && flags.manager.allocation.scheduler_names.empty())
    return "--scheduling=bind needs at least one name in --scheduler-names";
  if (flags.manager.allocation.release_gates && mode->second == allocation::Mode::kObserve)
    return "--release-gates lifts gates, which --scheduling=observe does not allow; use --scheduling=gate";
  flags.manager.ignored_taints = names(texts.ignore_taints);
  const auto controllers = chosen_controllers(texts.controllers);
  if (!controllers) return controllers.error().message();
  flags.manager.controllers = *controllers;
  const auto features = inventory::FeatureChoice::parse(texts.feature_gates, texts.kubernetes_version);
  if (!features) return "--feature-gates, --kubernetes-version: " + features.error().message();
  flags.manager.features = *features;
  if (std::string wrong = switch_on_cel_extensions(texts.cel_extensions, flags.manager); !wrong.empty()) return wrong;
  if (texts.log_format == "json")
    flags.log_format = log::Format::kJson;
  else if (texts.log_format != "text")
    return one_of("logging-format", texts.log_format, "text, json");
  static const std::map<std::string, manager::MetricsAuthentication> kAuthentications{
      {"secure", manager::MetricsAuthentication::kSecure},
      {"always", manager::MetricsAuthentication::kAlways},
      {"never", manager::MetricsAuthentication::kNever}};
  const auto authentication = kAuthentications.find(texts.metrics_authentication);
  if (authentication == kAuthentications.end())
    return one_of("metrics-authentication", texts.metrics_authentication, "secure, always, never");
  flags.metrics_authentication = authentication->second;
  if (flags.metrics_authentication == manager::MetricsAuthentication::kAlways && flags.secure_port == 0)
    return "--metrics-authentication=always needs --secure-port: tokens are not read over plain HTTP";
  if (texts.lease_kind != "leases") return one_of("leader-elect-resource-lock", texts.lease_kind, "leases");
  const std::tuple<const char*, const std::string*, Duration*> durations[] = {
      {"leader-elect-lease-duration", &texts.lease_duration, &flags.election.lease_duration},
      {"leader-elect-renew-deadline", &texts.renew_deadline, &flags.election.renew_deadline},
      {"leader-elect-retry-period", &texts.retry_period, &flags.election.retry_period},
      {"controller-shutdown-timeout", &texts.shutdown, &flags.shutdown_timeout},
      {"release-deadline", &texts.release_deadline, &flags.release_deadline},
      {"gang-hold-timeout", &texts.gang_hold_timeout, &flags.manager.allocation.gang_hold_timeout},
      {"gang-starvation-after", &texts.gang_starvation_after, &flags.manager.allocation.gang_starvation_after}};
  for (const auto& [name, text, out] : durations) {
    if (text->empty()) continue;
    const std::optional<Duration> parsed = parse_duration(*text);
    if (!parsed) return "--" + std::string(name) + "=" + *text + " is no duration; write 15s, 500ms or 1m30s";
    *out = *parsed;
  }
  if (flags.manager.allocation.gang_hold_timeout < std::chrono::seconds(1) ||
      flags.manager.allocation.gang_hold_timeout > std::chrono::hours(1))
    return "--gang-hold-timeout is out of range; use 1s to 1h";
  if (flags.manager.allocation.gang_starvation_after < std::chrono::seconds(1) ||
      flags.manager.allocation.gang_starvation_after > std::chrono::hours(24))
    return "--gang-starvation-after is out of range; use 1s to 24h";
  flags.manager.allocation.topology_levels = names(texts.topology_levels);
  if (flags.manager.allocation.topology_levels.size() > gang::kMaxTopologyLevels)
    return "--topology-levels has more than " + std::to_string(gang::kMaxTopologyLevels) + " labels";
  for (const std::string& level : flags.manager.allocation.topology_levels)
    if (!api::qualified_name_problems(level).empty())
      return "--topology-levels: \"" + level + "\" is not the key of a label";
  if (flags.release_deadline > Duration::zero() && !flags.manager.allocation.release_gates)
    return "--release-deadline is for --release-gates; set both or neither";
  if (flags.leader_elect)
    if (const auto valid = client::validate(flags.election); !valid) return valid.error().message();
  if (flags.metrics_port < -1 || flags.metrics_port > 65535)
    return "--metrics-port=" + std::to_string(flags.metrics_port) +
           " is no port; use 1 to 65535, 0 for any, -1 for none";
  if (flags.secure_port < 0 || flags.secure_port > 65535)
    return "--secure-port=" + std::to_string(flags.secure_port) + " is no port; use 1 to 65535, 0 for none";
  if (flags.tls_certificate_file.empty() != flags.tls_key_file.empty())
    return "--tls-cert-file and --tls-private-key-file belong together; give both or none";
  if (!flags.tls_certificate_file.empty() && flags.secure_port == 0)
    return "--tls-cert-file is of use with --secure-port only";
  if (flags.verbosity < 0 || flags.verbosity > 10)
    return "--v=" + std::to_string(flags.verbosity) + " is out of range; use 0 to 10";
  if (flags.manager.pace.qps < 0 || flags.manager.pace.burst < 1)
    return "--kube-api-qps must not be negative and --kube-api-burst must be at least 1";
  if (flags.manager.step_budget == 0) return "--allocation-step-budget must be at least 1";
  return "";
}

void define(CLI::App& app, Texts& texts, Flags& flags) {
  app.add_option("--kubeconfig", flags.config.kubeconfig,
                 "Kubeconfig file; without it the pod's own configuration, $KUBECONFIG, or ~/.kube/config")
      ->group("Connection");
  app.add_option("--context", flags.config.context, "Context of the kubeconfig file")->group("Connection");
  app.add_option("--master", flags.config.master, "Address of the API server; overrides the kubeconfig file's")
      ->group("Connection");
  app.add_option("--kube-api-qps", flags.manager.pace.qps,
                 "Requests a second; 0 means no limit of our own, the server's 429 is obeyed")
      ->capture_default_str()
      ->group("Connection");
  app.add_option("--kube-api-burst", flags.manager.pace.burst, "Burst of --kube-api-qps")
      ->capture_default_str()
      ->group("Connection");
  app.add_option("--claim-templates", texts.claim_templates,
                 "observe: use the claims that kube-controller-manager makes; own: make them here, its "
                 "resourceclaim-controller must be off (--controllers=*,-resourceclaim-controller)")
      ->capture_default_str()
      ->group("What it does");
  app.add_flag("--resourceclaim-controller-is-off", flags.manager.claim_controller_is_off,
               "With --claim-templates=own: kube-controller-manager's resourceclaim-controller is known to be off, so "
               "claims are made at once although kube-controller-manager runs")
      ->group("What it does");
  app.add_option("--scheduling", texts.scheduling,
                 "gate: allocate for pods that carry the gate dra-controller-manager/allocation, then lift it; bind: "
                 "also bind pods of --scheduler-names, no other scheduler may serve these names; observe: explain only")
      ->capture_default_str()
      ->group("What it does");
  app.add_option("--scheduler-names", texts.scheduler_names, "Names in pod.spec.schedulerName that are ours to bind")
      ->default_str("default-scheduler,dra-controller-manager")
      ->group("What it does");
  app.add_flag("--release-gates", flags.manager.allocation.release_gates,
               "Lift every gate of ours and allocate nothing more, before an uninstall")
      ->group("What it does");
  app.add_option("--release-deadline", texts.release_deadline,
                 "With --release-gates: end with status 0 once no pod carries our gate, or with 1 after this time")
      ->group("What it does");
  app.add_option("--ignore-taints", texts.ignore_taints,
                 "Keys of NoSchedule device taints that keep other allocators away and that this one ignores")
      ->group("What it does");
  app.add_option("--controllers", texts.controllers,
                 "Controllers to run: * for all, name, -name; known: " + known_controllers())
      ->capture_default_str()
      ->group("What it does");
  for (const reconcile::Controller* controller : all_controllers())
    for (const reconcile::Flag& flag : controller->flags) {
      std::string& value = flags.manager.controller_flags[std::string(flag.name)];
      value = flag.default_value;
      app.add_option("--" + std::string(flag.name), value, std::string(flag.help))
          ->capture_default_str()
          ->group("Controller " + std::string(controller->name));
    }
  app.add_option("--device-taint-eviction", texts.device_taint_eviction,
                 "Pods of devices with NoExecute taints. observe: kube-controller-manager's "
                 "device-taint-eviction-controller evicts them (on by default since 1.36), an event reports those "
                 "that it left for 30 s; own: they are evicted here, it must be off "
                 "(--controllers=*,-device-taint-eviction-controller)")
      ->capture_default_str()
      ->group("What it does");
  app.add_option("--max-evictions-per-rule", texts.max_evictions_per_rule,
                 "With --device-taint-eviction=own: a DeviceTaintRule that would evict more pods evicts none until it "
                 "bears the annotation dra-controller-manager/allow-evictions=GENERATION; its status says so (default: "
                 "no limit)")
      ->group("What it does");
  app.add_option("--device-taint-eviction-rate", flags.manager.device_taint_eviction_rate,
                 "Pods a second that are evicted at most; 0 means no limit")
      ->capture_default_str()
      ->group("What it does");
  app.add_option("--feature-gates", texts.feature_gates,
                 "DRA feature gates of the cluster as Name=true|false,...; what is not named follows the API server's "
                 "release and what it serves and stores")
      ->group("What it does");
  app.add_option("--kubernetes-version", texts.kubernetes_version,
                 "Decide by the rules of this release (1.36, 1.37) for selectors and capacities, whatever the API "
                 "server says that it is")
      ->group("What it does");
  app.add_option("--strategy", texts.strategy,
                 "How node and devices are chosen together. first-fit: the first devices in kube-scheduler's order on "
                 "the node that it would score highest; best-fit: what leaves most of use to the requests of late; "
                 "pack: the fullest first; spread: the emptiest first. A DeviceClass may say otherwise: annotation "
                 "dra-controller-manager/strategy")
      ->capture_default_str()
      ->group("What it does");
  app.add_option("--gang-hold-timeout", texts.gang_hold_timeout,
                 "Devices that are held for a group of pods go back after this time when the group could not be "
                 "completed; scheduleTimeoutSeconds of a PodGroup makes it shorter")
      ->default_str("30s")
      ->group("What it does");
  app.add_option(
         "--gang-starvation-after", texts.gang_starvation_after,
         "A group of pods that fits into the cluster, but waits for so long, keeps the nodes that it needs from "
         "pods of its priority and below until it is placed")
      ->default_str("5m")
      ->group("What it does");
  app.add_option("--topology-levels", texts.topology_levels,
                 "Labels of nodes from wide domains to narrow ones, separated by commas, as "
                 "example.com/spine,example.com/rack,kubernetes.io/hostname. Groups and pods name one of them in the "
                 "annotations dra-controller-manager/topology-required and topology-preferred")
      ->group("What it does");
  app.add_option(
         "--allocation-step-budget", flags.manager.step_budget,
         "Most steps of half a microsecond that one attempt to find devices may take; the first attempt has 50000, "
         "each further one twice as many as the one before")
      ->capture_default_str()
      ->group("What it does");
  app.add_option("--cel-extensions", texts.cel_extensions,
                 "Extensions of device selectors, beyond what API servers accept; known: quantity-operators (write "
                 "device.capacity[...].memory >= quantity(\"40Gi\"))")
      ->group("What it does");
  app.add_flag("--strict-selector-errors", flags.manager.strict_selector_errors,
               "Give up a pod's allocation when a selector fails on a device, as kube-scheduler does; otherwise that "
               "device is left out and reported")
      ->group("What it does");
  app.add_option("--leader-elect", flags.leader_elect, "Campaign for a Lease before doing anything")
      ->default_str("true")
      ->expected(0, 1)
      ->default_val(true)
      ->group("Leader election");
  app.add_option("--leader-elect-lease-duration", texts.lease_duration, "How long others wait for a silent leader")
      ->capture_default_str()
      ->group("Leader election");
  app.add_option("--leader-elect-renew-deadline", texts.renew_deadline, "How long a leader tries to renew")
      ->capture_default_str()
      ->group("Leader election");
  app.add_option("--leader-elect-retry-period", texts.retry_period, "Time between tries")
      ->capture_default_str()
      ->group("Leader election");
  app.add_option("--leader-elect-resource-lock", texts.lease_kind, "What is competed for; leases is all there is")
      ->capture_default_str()
      ->group("Leader election");
  app.add_option("--leader-elect-resource-name", flags.lease_name, "Name of the Lease")
      ->capture_default_str()
      ->group("Leader election");
  app.add_option("--leader-elect-resource-namespace", flags.lease_namespace, "Namespace of the Lease")
      ->capture_default_str()
      ->group("Leader election");
  app.add_option("--bind-address", flags.bind_address, "Address of /healthz, /livez, /readyz, /metrics and /configz")
      ->capture_default_str()
      ->group("Serving");
  app.add_option("--metrics-port", flags.metrics_port, "Port of the same (HTTP); 0 for any free one, -1 for none")
      ->capture_default_str()
      ->group("Serving");
  app.add_option("--secure-port", flags.secure_port, "Port of the same over HTTPS; 0 for none")
      ->capture_default_str()
      ->group("Serving");
  app.add_option("--tls-cert-file", flags.tls_certificate_file,
                 "PEM certificate of --secure-port; without it a self-signed one is made")
      ->group("Serving");
  app.add_option("--tls-private-key-file", flags.tls_key_file, "PEM key of --tls-cert-file")->group("Serving");
  app.add_option("--metrics-authentication", texts.metrics_authentication,
                 "Where /metrics and /configz are for those only whom the API server permits (TokenReview, "
                 "SubjectAccessReview): secure (on --secure-port), always (and not on --metrics-port) or never")
      ->capture_default_str()
      ->group("Serving");
  app.add_option("-v,--v", flags.verbosity, "Verbosity of the log, 0 to 10")->capture_default_str()->group("Log");
  app.add_option("--logging-format", texts.log_format, "text or json")->capture_default_str()->group("Log");
  app.add_option("--controller-shutdown-timeout", texts.shutdown, "How long writes in flight are waited for at the end")
      ->capture_default_str()
      ->group("Process");
}

}  // namespace

std::optional<Duration> parse_duration(const std::string& text) {
  static const std::map<std::string, Duration> kUnits{{"ms", std::chrono::milliseconds(1)},
                                                      {"s", std::chrono::seconds(1)},
                                                      {"m", std::chrono::minutes(1)},
                                                      {"h", std::chrono::hours(1)}};
  Duration sum{};
  size_t at = 0;
  if (text.empty() || text.size() > 32) return std::nullopt;
  while (at < text.size()) {
    const size_t digits = text.find_first_not_of("0123456789", at);
    if (digits == at || digits == std::string::npos || digits - at > 9) return std::nullopt;
    size_t end = text.find_first_of("0123456789", digits);
    if (end == std::string::npos) end = text.size();
    const auto unit = kUnits.find(text.substr(digits, end - digits));
    if (unit == kUnits.end()) return std::nullopt;
    sum += unit->second * std::stol(text.substr(at, digits - at));
    at = end;
  }
  return sum;
}

Parsed parse_flags(const std::vector<std::string>& arguments, const std::string& version) {
  Flags flags;
  Texts texts;
  texts.scheduler_names = "default-scheduler,dra-controller-manager";
  flags.manager.pace.burst = 30;
  CLI::App app(kDescription, "dra-controller-manager");
  app.set_version_flag("--version", "dra-controller-manager " + version);
  app.get_formatter()->column_width(44);
  define(app, texts, flags);
  bool print_reference = false;
  app.add_flag("--print-reference", print_reference)->group("");  // not in --help: for scripts/render-reference
  Parsed parsed;
  std::vector<std::string> reversed = normalised(arguments);
  if (const std::string foreign = foreign_flag(reversed); !foreign.empty()) {
    parsed.text = "error: " + foreign + "\n";
    parsed.exit_status = 1;
    return parsed;
  }
  std::reverse(reversed.begin(), reversed.end());  // as CLI11 wants them
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    parsed.text = app.help();
    return parsed;
  } catch (const CLI::CallForVersion& call) {
    parsed.text = std::string(call.what()) + "\n";
    return parsed;
  } catch (const CLI::ParseError& error) {
    parsed.text = std::string("error: ") + error.what() + flag_hint(app, normalised(arguments)) + "; see --help\n";
    parsed.exit_status = 1;
    return parsed;
  }
  if (print_reference) {
    parsed.text = manager::reference_json() + "\n";
    return parsed;
  }
  if (const std::string wrong = settle(texts, flags); !wrong.empty()) {
    parsed.text = "error: " + wrong + "\n";
    parsed.exit_status = 1;
    return parsed;
  }
  parsed.flags = std::move(flags);
  return parsed;
}

}  // namespace dra::cmd
