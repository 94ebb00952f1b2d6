// Verbs about a cluster as a whole: doctor, replay, migrate, and the two that write: taint, untaint.
#include <charconv>
#include <nlohmann/json.hpp>

#include "cmd/kubectl-dra/verb.h"
#include "pkg/api/decode/decode.h"
#include "pkg/base/timestamp.h"
#include "pkg/inspect/source/files.h"
#include "pkg/inspect/state/manifest.h"
#include "pkg/inspect/verbs/doctor.h"
#include "pkg/inspect/verbs/migrate.h"
#include "pkg/inspect/verbs/replay.h"
#include "pkg/inspect/verbs/taint.h"

namespace dra::kubectl {
namespace {

// In the version in which the server has them.
client::Resource taint_rules(const inspect::Objects& objects) {
  return {"resource.k8s.io", objects.taint_rule_version, "devicetaintrules", "DeviceTaintRule", false};
}
const client::Resource kLeases{"coordination.k8s.io", "v1", "leases", "Lease", true};

Result<inspect::Answer> run_doctor(Call& call) {
  call.common.asks_feature_gates = call.common.without_devices = true;
  const auto state = call.load_state();
  if (!state) return fail(state.error());
  return inspect::doctor_answer(inspect::diagnose(**state), (*state)->objects);
}

Result<inspect::Answer> run_replay(Call& call) {
  auto options = call.state_options();
  if (!options) return fail(options.error());
  const auto loaded = call.load();
  if (!loaded) return fail(loaded.error());
  const inspect::Objects& objects = **loaded;
  return inspect::replay(objects, call.words[0], call.ns(), *options);
}

Result<inspect::Answer> run_migrate(Call& call) {
  const std::string file = call.value("filename");
  if (file.empty()) return fail(Code::kInvalidArgument, "migrate needs -f FILE (- is standard input)");
  const auto text = inspect::read_file(file, inspect::kMaxManifest);
  if (!text) return fail(text.error());
  auto migrated = inspect::migrate(*text);
  if (!migrated) return fail(migrated.error().wrap(file));
  return inspect::migrate_answer(std::move(*migrated));
}

// Whether a kube-scheduler is leading here; nothing if that cannot be read.
std::optional<bool> scheduler_runs(Call& call) {
  const auto answer = call.request([](client::RestClient& client, client::RestClient::Done done) {
    return client.get({kLeases, "kube-system", "kube-scheduler", ""}, std::move(done));
  });
  if (!answer) return answer.error().http_status() == 404 ? std::optional<bool>(false) : std::nullopt;
  const auto lease = api::decode<api::Lease>(*answer);
  Timestamp renewed;
  if (!lease || !parse_rfc3339(lease->renew_time, renewed)) return std::nullopt;
  return renewed.plus_seconds(lease->lease_duration_seconds) > SystemClock().wall_now();
}

Result<inspect::Answer> run_taint(Call& call) {
  if (!call.common.from.empty())
    return fail(Code::kInvalidArgument, "taint writes to a server; with --from use whatif taint");
  const bool all = call.switches["all"];
  if (call.words.size() != (all ? 1u : 2u))
    return fail(Code::kInvalidArgument,
                "taint needs NODE[/DEVICE] and key=value:Effect, or --all and key=value:Effect");
  auto taint = inspect::parse_taint(call.words.back());
  if (!taint) return fail(taint.error());
  auto options = call.state_options();
  if (!options) return fail(options.error());
  inspect::TaintQuestion question;
  question.all = all;
  question.alone = call.switches["alone"];
  if (question.alone && (all || call.words[0].find('/') == std::string::npos))
    return fail(Code::kInvalidArgument, "--alone is about one device: taint NODE/DEVICE key=value:Effect --alone");
  if (!all) question.target = call.words[0];
  question.taint = std::move(*taint);
  const std::string most = call.value("max-evictions");
  if (const auto [end, error] = std::from_chars(most.data(), most.data() + most.size(), question.max_evictions);
      !most.empty() && (error != std::errc() || end != most.data() + most.size()))
    return fail(Code::kInvalidArgument, "--max-evictions " + quote(most) + " is not a number");
  const auto loaded = call.load();
  if (!loaded) return fail(loaded.error());
  const inspect::Objects& objects = **loaded;
  question.scheduler_runs = scheduler_runs(call);
  question.scheduler_is_safe = call.switches["scheduler-gate-is-off"];
  auto plan = inspect::plan_taint(objects, question, *options);
  if (!plan) return fail(plan.error());
  // A user who cannot see all pods cannot know how many would be evicted.
  if (plan->refusal.empty() && question.taint.effect == "NoExecute" &&
      (objects.hides("pods") || objects.hides("resourceclaims")))
    plan->refusal = "pods or claims are not visible, so it is not known which pods would go";
  const bool write = plan->refusal.empty() && !call.switches["dry-run"];
  for (size_t i = 0; write && i < plan->rules.size(); ++i) {
    if (plan->there.contains(plan->names[i])) continue;
    const auto created = call.request([&](client::RestClient& client, client::RestClient::Done done) {
      return client.create({taint_rules(objects), "", plan->names[i], ""}, plan->rules[i], {"kubectl-dra"},
                           std::move(done));
    });
    if (!created)
      return fail(i == 0 ? created.error()
                         : created.error().wrap("after devicetaintrule/" +
                                                join({plan->names.begin(), plan->names.begin() + static_cast<long>(i)},
                                                     ", devicetaintrule/") +
                                                " had been created"));
  }
  return inspect::taint_answer(*plan, write);
}

Result<inspect::Answer> run_untaint(Call& call) {
  if (!call.common.from.empty()) return fail(Code::kInvalidArgument, "untaint writes to a server; it takes no --from");
  const bool all = call.switches["all"];
  if (call.words.size() != (all ? 1u : 2u))
    return fail(Code::kInvalidArgument, "untaint needs NODE[/DEVICE] and key[:Effect], or --all and key[:Effect]");
  std::string key = call.words.back();
  std::string effect;
  if (const size_t colon = key.rfind(':'); colon != std::string::npos) {
    effect = key.substr(colon + 1);
    key.erase(colon);
  }
  key.erase(std::min(key.find('='), key.size()));
  const auto loaded = call.load();
  if (!loaded) return fail(loaded.error());
  const inspect::Objects& objects = **loaded;
  const std::string of = all ? "every device" : call.words[0];
  const auto names =
      inspect::rules_to_remove(objects, all ? std::nullopt : std::optional<std::string>(call.words[0]), key, effect);
  inspect::Answer answer{"DRAUntaint"};
  if (names.empty()) {
    answer.say("NoRule", "no DeviceTaintRule gives " + of + " a taint with key " + key +
                             "; taints that a driver publishes are the driver's");
    answer.status = inspect::Status::kNo;
  }
  for (const std::string& name : names) {
    if (!call.switches["dry-run"]) {
      const auto removed = call.request([&](client::RestClient& client, client::RestClient::Done done) {
        return client.remove({taint_rules(objects), "", name, ""}, {}, std::move(done));
      });
      if (!removed && removed.error().http_status() != 404) return fail(removed.error());
    }
    const bool dry = call.switches["dry-run"];
    answer.say({dry ? "RuleWouldBeDeleted" : "RuleDeleted",
                (dry ? "would delete devicetaintrule/" : "deleted devicetaintrule/") + name,
                {"DeviceTaintRule", "", name}});
  }
  return answer;
}

const RegisterVerb kDoctor({"doctor",
                            "is this cluster fit for device allocation, and is anything stuck",
                            "  kubectl dra doctor\n"
                            "  kubectl dra doctor -o json   for CI: the exit status is 1 when something is ill\n",
                            "doctor",
                            {},
                            0,
                            0,
                            {},
                            &run_doctor});
const RegisterVerb kReplay({"replay",
                            "make a decision again and say where it differs",
                            "  kubectl dra replay --from cluster.dra pod/train-0 -n ml\n",
                            "replay pod/NAME",
                            {},
                            1,
                            1,
                            {"@pods"},
                            &run_replay});
const RegisterVerb kMigrate(
    {"migrate",
     "objects of older versions of resource.k8s.io as v1",
     "  kubectl dra migrate -f old.yaml > new.yaml   what has no counterpart is named on standard error\n",
     "migrate -f FILE",
     {{"-f,--filename", "the manifest; - is standard input", true, {}}},
     0,
     0,
     {},
     &run_migrate,
     false});
const RegisterVerb kTaint({"taint",
                           "taint devices by a DeviceTaintRule, after a look at what it would do",
                           "  kubectl dra taint node-a/gpu-3 example.com/ecc=bad:NoSchedule    its partitions, too\n"
                           "  kubectl dra taint node-a example.com/repair:NoExecute --max-evictions 2\n"
                           "  kubectl dra taint node-a example.com/repair:NoExecute --dry-run\n",
                           "taint NODE[/DEVICE] key=value:Effect",
                           {{"--max-evictions", "so many pods may be evicted; 0 without it", true, {}},
                            {"--all", "every device of the cluster, instead of NODE", false, {}},
                            {"--alone", "not the devices on the same silicon, partitions for instance", false, {}},
                            {"--dry-run", "write nothing", false, {}},
                            {"--scheduler-gate-is-off", "kube-scheduler runs without DRADeviceTaintRules", false, {}}},
                           1,
                           2,
                           {"@nodes", "@devices"},
                           &run_taint});
const RegisterVerb kUntaint({"untaint",
                             "remove taints that DeviceTaintRules give",
                             "  kubectl dra untaint node-a/gpu-3 example.com/ecc\n",
                             "untaint NODE[/DEVICE] key[:Effect]",
                             {{"--dry-run", "write nothing", false, {}},
                              {"--all", "the rules that taint --all wrote, instead of NODE", false, {}}},
                             1,
                             2,
                             {"@nodes", "@devices"},
                             &run_untaint});

}  // namespace
}  // namespace dra::kubectl
