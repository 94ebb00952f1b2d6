#include "cmd/dra-controller-manager/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "cmd/dra-controller-manager/foreign_flags.h"
#include "controllers/all.h"

namespace dra::cmd::flags_test {

using namespace std::chrono_literals;

Parsed parse(std::vector<std::string> arguments) {
  return parse_flags(arguments, "9.9.9");
}

std::vector<std::string> all_but(const std::string& name) {
  std::vector<std::string> names = controller_names();
  EXPECT_EQ(std::erase(names, name), 1u);
  return names;
}

TEST(Flags, DefaultsAreSafeBesideAStockControlPlane) {
  const Parsed parsed = parse({});
  ASSERT_TRUE(parsed.flags) << parsed.text;
  EXPECT_EQ(parsed.flags->manager.settings.claim_templates, manager::ClaimTemplates::kObserve);
  EXPECT_EQ(parsed.flags->manager.settings.scheduling, reconcile::Scheduling::kGate);
  EXPECT_TRUE(parsed.flags->leader_elect);
  EXPECT_EQ(parsed.flags->manager.pace.qps, 0);
  EXPECT_EQ(parsed.flags->election.lease_duration, 15s);
  EXPECT_EQ(parsed.flags->manager.settings.controllers, controller_names());
  EXPECT_EQ(parsed.flags->manager.settings.device_taint_eviction, manager::DeviceTaintEviction::kObserve);
  EXPECT_EQ(parsed.flags->manager.settings.device_taint_eviction_rate, 50);
  EXPECT_FALSE(parsed.flags->manager.quantity_operators);
  EXPECT_FALSE(parsed.flags->manager.strict_selector_errors);
  EXPECT_TRUE(parsed.flags->manager.stale_generations);
  EXPECT_FALSE(parse({"--stale-pool-generations=false"}).flags->manager.stale_generations);
}

TEST(Flags, AReleaseDeadlineIsForReleasingGates) {
  const Parsed parsed = parse({"--release-gates", "--release-deadline=1m"});
  ASSERT_TRUE(parsed.flags) << parsed.text;
  EXPECT_EQ(parsed.flags->release_deadline, 60s);
  EXPECT_EQ(parse({"--release-gates"}).flags->release_deadline, 0s);
  const Parsed alone = parse({"--release-deadline=1m"});
  EXPECT_EQ(alone.exit_status, 1);
  EXPECT_NE(alone.text.find("--release-deadline is for --release-gates"), std::string::npos) << alone.text;
}

TEST(Flags, AreRead) {
  const Parsed parsed =
      parse({"--kubeconfig", "k", "--scheduling=bind", "--claim-templates=own", "--leader-elect=false",
             "--metrics-port", "0", "--controllers=*,-lifecycle", "--kube-api-qps=50", "-v", "4",
             "--logging-format=json", "--scheduler-names=a, b", "--ignore-taints=x/y"});
  ASSERT_TRUE(parsed.flags) << parsed.text;
  EXPECT_EQ(parsed.flags->config.kubeconfig, "k");
  EXPECT_EQ(parsed.flags->manager.settings.scheduling, reconcile::Scheduling::kBind);
  EXPECT_EQ(parsed.flags->manager.settings.scheduler_names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(parsed.flags->manager.ignored_taints, std::vector<std::string>{"x/y"});
  EXPECT_FALSE(parsed.flags->leader_elect);
  EXPECT_EQ(parsed.flags->manager.settings.controllers, all_but("lifecycle"));
  EXPECT_EQ(parsed.flags->verbosity, 4);
}

// Each may be given several times, and a wrong value is refused by name.
TEST(Flags, WhatNamesOnePieceOfSilicon) {
  const Parsed parsed =
      parse({"--identity=a.com/serial=a", "--identity", "b.com/serial=a", "--identity-parent=a.com/card=a",
             "--identity-part=a.com=slice", "--identity-exclusive=a.com=gpu+vfio", "--identity-annotations=on",
             "--device-plugin=a.com=dra", "--device-plugin=b.com=apart",
             "--device-plugin-resources=a.com=a.com/gpu,a.com/x"});
  ASSERT_TRUE(parsed.flags) << parsed.text;
  identity::Rules wanted;
  wanted.own["a.com/serial"] = wanted.own["b.com/serial"] = wanted.parent["a.com/card"] = "a";
  wanted.annotations = true;
  wanted.parts["a.com"] = {"slice"};
  wanted.exclusive["a.com"] = {{"gpu", "vfio"}};
  wanted.plugin = {{"a.com", identity::PluginUse::kDra}, {"b.com", identity::PluginUse::kApart}};
  wanted.plugin_resources["a.com"] = {"a.com/gpu", "a.com/x"};
  EXPECT_EQ(parsed.flags->manager.identities, wanted);
  EXPECT_EQ(parse({}).flags->manager.identities, identity::Rules());
  for (const auto& [flag, value, words] :
       {std::tuple{"--identity", "serial=a", "write ATTRIBUTE=NAMESPACE"},
        {"--identity-parent", "a.com/card=A B", "the namespace \"A B\" may have"},
        {"--identity-part", "a.com", "write DRIVER=TYPE"},
        {"--identity-exclusive", "a.com=gpu", "write DRIVER=TYPE+TYPE"},
        {"--identity-annotations", "yes", "write on or off"},
        {"--device-plugin", "a.com=both", "write DRIVER=plugin, DRIVER=dra or DRIVER=apart"},
        {"--device-plugin-resources", "a.com=gpu", "is not the name of an extended resource"}}) {
    const Parsed refused = parse({std::string(flag) + "=" + value});
    EXPECT_EQ(refused.exit_status, 1) << flag;
    EXPECT_NE(refused.text.find(std::string(flag) + ": \"" + value + "\""), std::string::npos) << refused.text;
    EXPECT_NE(refused.text.find(words), std::string::npos) << refused.text;
    EXPECT_EQ(std::count(refused.text.begin(), refused.text.end(), '\n'), 1) << refused.text;
  }
}

TEST(Flags, WhatDriversRefuseOfSharedDevices) {
  const Parsed parsed = parse({"--shared-device-requests=a.com=never", "--shared-device-requests",
                               "gpu.nvidia.com=apart", "--shared-device-parameters=a.com=equal"});
  ASSERT_TRUE(parsed.flags) << parsed.text;
  sharing::Rules wanted = sharing::Rules::usual();
  wanted.requests["a.com"] = sharing::Requests::kNever;
  wanted.requests["gpu.nvidia.com"] = sharing::Requests::kApart;
  wanted.parameters["a.com"] = sharing::Parameters::kEqual;
  EXPECT_EQ(parsed.flags->manager.sharing, wanted);
  EXPECT_EQ(parse({}).flags->manager.sharing, sharing::Rules::usual());
  for (const auto& [flag, value, words] :
       {std::tuple{"--shared-device-requests", "a.com", "write DRIVER=never, DRIVER=apart or DRIVER=together"},
        {"--shared-device-requests", "=never", "write DRIVER=never"},
        {"--shared-device-parameters", "a.com=same", "write DRIVER=equal or DRIVER=any"}}) {
    const Parsed refused = parse({std::string(flag) + "=" + value});
    EXPECT_EQ(refused.exit_status, 1) << flag;
    EXPECT_NE(refused.text.find(std::string(flag) + ": \"" + value + "\""), std::string::npos) << refused.text;
    EXPECT_NE(refused.text.find(words), std::string::npos) << refused.text;
  }
}

// Whatever a controller asks for: its words are taken, everything else is refused by name.
TEST(Flags, OfControllersTakeTheirWordsAndNothingElse) {
  size_t flags = 0;
  for (const reconcile::Controller* controller : all_controllers())
    for (const reconcile::Flag& flag : controller->flags) {
      ++flags;
      const std::string name(flag.name);
      SCOPED_TRACE(name);
      EXPECT_EQ(parse({}).flags->manager.settings.flags.at(name), flag.default_value);
      for (const std::string_view word : flag.words) {
        // Some act in this mode alone.
        const Parsed parsed =
            parse({"--scheduling=bind", "--scheduler-names=ours", "--" + name + "=" + std::string(word)});
        ASSERT_TRUE(parsed.flags) << parsed.text;
        EXPECT_EQ(parsed.flags->manager.settings.flags.at(name), word);
      }
      for (const char* other : {"yess", "On", "TRUE", "1", "enable", " on", "on,off"}) {
        const Parsed parsed = parse({"--" + name + "=" + other});
        EXPECT_FALSE(parsed.flags) << other;
        EXPECT_EQ(parsed.exit_status, 1);
        EXPECT_NE(parsed.text.find("--" + name + ": \"" + other + "\" is not one of"), std::string::npos)
            << parsed.text;
        for (const std::string_view word : flag.words) EXPECT_NE(parsed.text.find(word), std::string::npos);
        EXPECT_EQ(std::count(parsed.text.begin(), parsed.text.end(), '\n'), 1) << parsed.text;
      }
    }
  EXPECT_GT(flags, 0u);
}

TEST(Flags, DeviceTaintEviction) {
  const Parsed parsed = parse({"--device-taint-eviction=own", "--device-taint-eviction-rate=5"});
  ASSERT_TRUE(parsed.flags) << parsed.text;
  EXPECT_EQ(parsed.flags->manager.settings.device_taint_eviction, manager::DeviceTaintEviction::kOwn);
  EXPECT_EQ(parsed.flags->manager.settings.device_taint_eviction_rate, 5);
  const Parsed guarded = parse({"--device-taint-eviction=own", "--max-evictions-per-rule=100"});
  ASSERT_TRUE(guarded.flags) << guarded.text;
  EXPECT_EQ(guarded.flags->manager.settings.max_evictions_per_rule, 100u);
  const Parsed off = parse({"--controllers=*,-device-taint-eviction-controller"});
  ASSERT_TRUE(off.flags) << off.text;
  EXPECT_EQ(off.flags->manager.settings.controllers, all_but("tainteviction"));
}

TEST(Flags, SelectorsFollowUpstreamUnlessToldOtherwise) {
  const Parsed parsed = parse({"--cel-extensions=quantity-operators", "--strict-selector-errors"});
  ASSERT_TRUE(parsed.flags) << parsed.text;
  EXPECT_TRUE(parsed.flags->manager.quantity_operators);
  EXPECT_TRUE(parsed.flags->manager.strict_selector_errors);
  const Parsed wrong = parse({"--cel-extensions=quantity-operators,semver-operators"});
  EXPECT_EQ(wrong.text,
            "error: --cel-extensions: \"semver-operators\" is not in the list of known extensions: "
            "quantity-operators\n");
}

// What dra-conformance allocator --strategy first-fit judges (cmd/dra-conformance/allocator.cc) is a configuration of
// the manager.
TEST(Flags, ThreeOfThemMakeWhatTheConformanceDataJudges) {
  const Parsed parsed = parse({"--strategy=first-fit", "--strict-selector-errors", "--stale-pool-generations"});
  ASSERT_TRUE(parsed.flags) << parsed.text;
  EXPECT_EQ(parsed.flags->manager.strategy, allocator::Strategy::kFirstFit);
  EXPECT_TRUE(parsed.flags->manager.strict_selector_errors);
  EXPECT_TRUE(parsed.flags->manager.stale_generations);
}

TEST(Flags, AMisspeltFlagIsRecognised) {
  EXPECT_THAT(parse({"--schedulnig=bind"}).text, testing::HasSubstr("; did you mean --scheduling?"));
  EXPECT_THAT(parse({"--nothing-like-it=1"}).text, testing::Not(testing::HasSubstr("did you mean")));
}

TEST(Flags, LeaderElectNeedsNoValue) {
  const Parsed parsed = parse({"--leader-elect"});
  ASSERT_TRUE(parsed.flags) << parsed.text;
  EXPECT_TRUE(parsed.flags->leader_elect);
}

TEST(Flags, BadOnesEndInOneLineAndStatus1) {
  const std::vector<std::vector<std::string>> bad = {
      {"--nonsense"},
      {"positional"},
      {"--scheduling=sometimes"},
      {"--claim-templates=mine"},
      {"--controllers=*,gardener"},
      {"--leader-elect-lease-duration=5s"},
      {"--leader-elect-renew-deadline=soon"},
      {"--leader-elect-renew-deadline=15"},
      {"--leader-elect-renew-deadline=-1s"},
      {"--gang-hold-timeout=2h"},
      {"--allocation-step-budget=0"},
      {"--metrics-port=70000"},
      {"--metrics-port=http"},
      {"--secure-port=-1"},
      {"--tls-cert-file=a.pem", "--secure-port=10257"},
      {"--tls-cert-file=a.pem", "--tls-private-key-file=a.key"},
      {"--concurrent-resourceclaim-syncs=50"},
      {"--v=11"},
      {"--leader-elect-resource-lock=endpoints"},
      {"--kube-api-qps=-1"},
      {"--logging-format=xml"},
      {"--feature-gates=DRANonsense=true"},
      {"--kubernetes-version=thirty-seven"},
      {"--cel-extensions=magic"},
      {"--max-evictions-per-rule=5"},
      {"--device-taint-eviction=own", "--max-evictions-per-rule=0"},
      {"--device-taint-eviction=own", "--max-evictions-per-rule=-1"},
      {"--device-taint-eviction=own", "--max-evictions-per-rule=many"},
      {"--device-taint-eviction=perhaps"},
      {"--device-taint-eviction-rate=-1"},
      {"--device-taint-eviction-rate=nan"},
      {"--strict-selector-errors=perhaps"},
      {"--scheduling=bind", "--scheduler-names="},
      {"--scheduling=observe", "--release-gates"},
  };
  for (const std::vector<std::string>& arguments : bad) {
    const Parsed parsed = parse(arguments);
    EXPECT_FALSE(parsed.flags) << arguments.front();
    EXPECT_EQ(parsed.exit_status, 1) << arguments.front();
    EXPECT_EQ(std::count(parsed.text.begin(), parsed.text.end(), '\n'), 1) << parsed.text;
  }
}

// Two flags that are right alone and contradict each other: one line that names both flags.
TEST(Flags, ThatContradictEachOtherAreRefused) {
  const std::string observe = "--scheduling=observe", bind = "--scheduling=bind", gate = "--scheduling=gate";
  const std::string own_claims = "--claim-templates=own", own_evictions = "--device-taint-eviction=own";
  const std::vector<std::vector<std::string>> pairs = {
      {observe, own_claims},
      {observe, own_evictions},
      {observe, "--recreate-pinned-pods=on"},
      {observe, "--recreate-pinned-pods=true"},
      {observe, "--usage=on"},
      {"--leader-elect=false", "--usage=on"},
      {observe, "--release-gates"},
      {bind, "--release-gates"},
      {bind, "--scheduler-names=,"},
      {gate, "--scheduler-names=ours"},
      {observe, "--scheduler-names=ours"},
      {"--resourceclaim-controller-is-off", "--claim-templates=observe"},
      {"--max-evictions-per-rule=5", "--device-taint-eviction=observe"},
      {"--device-taint-eviction-rate=5", "--device-taint-eviction=observe"},
      {own_claims, "--controllers=*,-claimtemplate"},
      {own_evictions, "--controllers=*,-tainteviction"},
      {gate, "--preemption=on"},
      {observe, "--defragment=advice"},
      {gate, "--defragment=on"},
      {"--defragment=advice", "--controllers=*,-defragment"},
      {observe, "--recover-failed-prepares=on"},
      {"--recover-failed-prepares=on", "--controllers=*,-recovery"},
      {gate, "--controllers=*,-allocation"},
      {"--release-gates", "--controllers=lifecycle"},
      {"--metrics-port=8443", "--secure-port=8443"},
      {"--metrics-authentication=always", "--secure-port=0"},
      {"--leader-elect-lease-duration=5s", "--leader-elect-renew-deadline=10s"},
  };
  const auto name_of = [](const std::string& argument) { return argument.substr(0, argument.find('=')); };
  for (const std::vector<std::string>& pair : pairs) {
    SCOPED_TRACE(testing::PrintToString(pair));
    const Parsed parsed = parse(pair);
    EXPECT_FALSE(parsed.flags);
    EXPECT_EQ(parsed.exit_status, 1);
    EXPECT_EQ(std::count(parsed.text.begin(), parsed.text.end(), '\n'), 1) << parsed.text;
    if (pair[0].find("leader-elect") != std::string::npos) continue;  // the election words that one
    for (const std::string& argument : pair) EXPECT_THAT(parsed.text, testing::HasSubstr(name_of(argument)));
    EXPECT_TRUE(parse({pair[0]}).flags || parse({pair[1]}).flags) << "each is right alone, or one is the default";
  }
}

TEST(Flags, PodsAreMovedInBindModeAlone) {
  EXPECT_TRUE(parse({"--defragment=advice"}).flags);
  const Parsed gate = parse({"--defragment=on"});
  EXPECT_FALSE(gate.flags);
  EXPECT_THAT(gate.text, testing::HasSubstr("--defragment=advice"));
  const std::vector<std::string> bind{"--defragment=on", "--scheduling=bind", "--scheduler-names=dra"};
  EXPECT_TRUE(parse(bind).flags);
  const Parsed left_out = parse({bind[0], bind[1], bind[2], "--controllers=*,-defragment"});
  EXPECT_FALSE(left_out.flags);
  EXPECT_THAT(left_out.text, testing::HasSubstr("--controllers leaves out defragment"));
}

// Any nonsense for any flag: it is taken as text, or one line names the flag, quotes the value and says what is wrong.
TEST(Flags, NonsenseIsNamedForEveryFlag) {
  const std::string help = parse({"--help"}).text;
  const std::regex flag("\\n  (?:-\\w,)?(--[a-z][a-z-]*)");
  size_t flags = 0, refused = 0;
  for (std::sregex_iterator found(help.begin(), help.end(), flag); found != std::sregex_iterator(); ++found) {
    const std::string name = (*found)[1];
    if (name == "--help" || name == "--version") continue;
    ++flags;
    for (const char* value : {"n0nsense!", "-1.5", "99999999999999999999", "true,false", "1 2"}) {
      const Parsed parsed = parse({name + "=" + value});
      if (parsed.flags) continue;
      ++refused;
      SCOPED_TRACE(name + "=" + value);
      EXPECT_TRUE(parsed.text.starts_with("error: --")) << parsed.text;
      EXPECT_THAT(parsed.text, testing::HasSubstr(name));
      for (const char* foreign : {"Could not", "convert", "required", "Check ", " FAILED", "not in {", "expected"})
        EXPECT_THAT(parsed.text, testing::Not(testing::HasSubstr(foreign)));
      EXPECT_EQ(std::count(parsed.text.begin(), parsed.text.end(), '\n'), 1) << parsed.text;
    }
    const Parsed twice = parse({name + "=1", name + "=1"});
    EXPECT_THAT(twice.text, testing::Not(testing::HasSubstr("At Most"))) << name;
  }
  EXPECT_GT(flags, 40u);
  EXPECT_GT(refused, 100u);
}

TEST(Flags, AreRefusedInTheseWords) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> said = {
      {{"--metrics-port=99999"}, "--metrics-port: \"99999\" is not a port (-1 to 65535)"},
      {{"--leader-elect=maybe"}, "--leader-elect: \"maybe\" is not true or false"},
      {{"--release-gates=maybe"}, "--release-gates: \"maybe\" is not true or false"},
      {{"--strategy=best"}, "--strategy: \"best\" is not one of first-fit, best-fit, pack, spread"},
      {{"--kube-api-qps=-1"}, "--kube-api-qps: \"-1\" is not a number from 0 to 1000000"},
      {{"--v"}, "--v needs a value"},
      {{"--kubeconfig=a", "--kubeconfig=b"}, "--kubeconfig is given 2 times; give it once"},
      {{"--nonsense"}, "unknown flag --nonsense"},
      {{"word"}, "unexpected word \"word\"; everything here is a flag"},
      {{"--kubernetes-version=1.30"},
       "--kubernetes-version: \"1.30\" is not a release whose rules are known; write 1.36, 1.37 or 1.38"},
      {{"--kubernetes-version=1.40"},
       "--kubernetes-version: \"1.40\" is not a release whose rules are known; write 1.36, 1.37 or 1.38"},
      {{"--controllers=-lifecycle"}, "--controllers leaves no controller"},
  };
  for (const auto& [arguments, words] : said)
    EXPECT_TRUE(parse(arguments).text.starts_with("error: " + words)) << parse(arguments).text;
  for (const char* version : {"1.36", "1.37", "v1.36.2"})
    EXPECT_TRUE(parse({std::string("--kubernetes-version=") + version}).flags) << version;
}

// Every flag that users of kube-controller-manager (1.36) may have in use.
TEST(Flags, OfKubeControllerManagerExistOrAreRefusedWithAReplacement) {
  const std::vector<std::string> known = {"--kubeconfig=k",
                                          "--master=https://a",
                                          "--kube-api-qps=20",
                                          "--kube-api-burst=30",
                                          "--leader-elect=true",
                                          "--leader-elect-lease-duration=15s",
                                          "--leader-elect-renew-deadline=10s",
                                          "--leader-elect-retry-period=2s",
                                          "--leader-elect-resource-lock=leases",
                                          "--leader-elect-resource-name=n",
                                          "--leader-elect-resource-namespace=ns",
                                          "--controllers=*",
                                          "--controller-shutdown-timeout=10s",
                                          "--secure-port=10257",
                                          "--bind-address=0.0.0.0",
                                          "--feature-gates=DRAAdminAccess=true",
                                          "--v=2",
                                          "-v=2",
                                          "--logging-format=json",
                                          "--kube_api_qps=20",
                                          "--leader_elect=false"};
  for (const std::string& argument : known) EXPECT_TRUE(parse({argument}).flags) << parse({argument}).text;
  EXPECT_TRUE(parse({"--tls-cert-file=a", "--tls-private-key-file=b", "--secure-port=1"}).flags);
  EXPECT_EQ(parse({"--version=raw"}).text, "dra-controller-manager 9.9.9\n");
  const std::vector<std::string> foreign = {"--kube-api-content-type=application/json",
                                            "--use-service-account-credentials",
                                            "--concurrent-resourceclaim-syncs=50",
                                            "--concurrent-device-taint-eviction-syncs=8",
                                            "--controller-start-interval=0s",
                                            "--min-resync-period=12h",
                                            "--cert-dir=/c",
                                            "--tls-cipher-suites=x",
                                            "--tls-min-version=VersionTLS13",
                                            "--tls-sni-cert-key=a,b",
                                            "--http2-max-streams-per-connection=1",
                                            "--permit-port-sharing",
                                            "--permit-address-sharing",
                                            "--authentication-kubeconfig=k",
                                            "--authentication-skip-lookup",
                                            "--authentication-tolerate-lookup-failure",
                                            "--authentication-token-webhook-cache-ttl=10s",
                                            "--authorization-kubeconfig=k",
                                            "--authorization-always-allow-paths=/healthz",
                                            "--authorization-webhook-cache-authorized-ttl=10s",
                                            "--client-ca-file=c",
                                            "--requestheader-client-ca-file=c",
                                            "--profiling=false",
                                            "--contention-profiling",
                                            "--show-hidden-metrics-for-version=1.35",
                                            "--disabled-metrics=m",
                                            "--allow-metric-labels=m",
                                            "--allow-metric-labels-manifest=f",
                                            "--vmodule=a=1",
                                            "--log-flush-frequency=5s",
                                            "--log-text-split-stream",
                                            "--log-json-split-stream",
                                            "--log-json-info-buffer-size=0",
                                            "--emulated-version=1.35",
                                            "--min-compatibility-version=1.35",
                                            "--port=0",
                                            "--logtostderr"};
  for (const std::string& argument : foreign) {
    const Parsed parsed = parse({argument});
    EXPECT_FALSE(parsed.flags) << argument;
    EXPECT_EQ(parsed.exit_status, 1) << argument;
    const std::string name = argument.substr(0, argument.find('='));
    EXPECT_TRUE(parsed.text.starts_with("error: " + name + " is a flag of kube-controller-manager")) << parsed.text;
    EXPECT_EQ(std::count(parsed.text.begin(), parsed.text.end(), '\n'), 1) << parsed.text;
  }
  EXPECT_NE(parse({"--controllers=*,-resourceclaim-controller"}).text.find("claimtemplate and lifecycle"),
            std::string::npos);
}

// Every flag that the documents mention exists, or is said to be refused.
TEST(Flags, TheDocumentsNameFlagsThatExist) {
  const std::string help = parse({"--help"}).text;
  // Of kubectl, jq and helm.
  const std::set<std::string> of_other_programs{"--type",        "--namespace",        "--create-namespace", "--set",
                                                "--server-side", "--ignore-not-found", "--api-versions"};
  for (const char* path :
       {"docs/install.md", "docs/metrics.md", "charts/dra-controller-manager/templates/deployment.yaml"}) {
    std::ifstream in(path);
    ASSERT_TRUE(in) << path << "; tests run in the source root";
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    size_t named = 0;
    const std::regex flag("--[a-z][a-z-]*");
    for (std::sregex_iterator found(text.begin(), text.end(), flag); found != std::sregex_iterator(); ++found) {
      const std::string name = found->str();
      if (of_other_programs.contains(name)) continue;
      ++named;
      const bool exists = std::regex_search(help, std::regex("\\n +" + name + "( |\\n)"));
      EXPECT_TRUE(exists || !foreign_flag({name}).empty()) << path << " names " << name;
    }
    EXPECT_GT(named, 3u) << path;
  }
}

TEST(Flags, HelpAndVersionEndWith0) {
  EXPECT_EQ(parse({"--help"}).exit_status, 0);
  EXPECT_NE(parse({"--help"}).text.find("--claim-templates"), std::string::npos);
  EXPECT_EQ(parse({"--version"}).text, "dra-controller-manager 9.9.9\n");
}

}  // namespace dra::cmd::flags_test
