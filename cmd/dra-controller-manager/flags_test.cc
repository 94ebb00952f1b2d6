#include "cmd/dra-controller-manager/flags.h"

#include <gtest/gtest.h>

namespace dra::cmd::flags_test {

using namespace std::chrono_literals;

Parsed parse(std::vector<std::string> arguments) {
  return parse_flags(arguments, "9.9.9");
}

TEST(Flags, DefaultsAreSafeBesideAStockControlPlane) {
  const Parsed parsed = parse({});
  ASSERT_TRUE(parsed.flags) << parsed.text;
  EXPECT_EQ(parsed.flags->manager.claim_templates, manager::ClaimTemplates::kObserve);
  EXPECT_EQ(parsed.flags->manager.allocation.mode, allocation::Mode::kGate);
  EXPECT_TRUE(parsed.flags->leader_elect);
  EXPECT_EQ(parsed.flags->manager.pace.qps, 0);
  EXPECT_EQ(parsed.flags->election.lease_duration, 15s);
  EXPECT_EQ(parsed.flags->manager.controllers.size(), 4u);
  EXPECT_EQ(parsed.flags->manager.device_taint_eviction, manager::DeviceTaintEviction::kObserve);
  EXPECT_EQ(parsed.flags->manager.device_taint_eviction_rate, 50);
  EXPECT_FALSE(parsed.flags->manager.quantity_operators);
  EXPECT_FALSE(parsed.flags->manager.strict_selector_errors);
}

TEST(Flags, AreRead) {
  const Parsed parsed =
      parse({"--kubeconfig", "k", "--scheduling=bind", "--claim-templates=own", "--leader-elect=false",
             "--metrics-port", "0", "--controllers=*,-lifecycle", "--kube-api-qps=50", "-v", "4",
             "--logging-format=json", "--scheduler-names=a, b", "--ignore-taints=x/y"});
  ASSERT_TRUE(parsed.flags) << parsed.text;
  EXPECT_EQ(parsed.flags->config.kubeconfig, "k");
  EXPECT_EQ(parsed.flags->manager.allocation.mode, allocation::Mode::kBind);
  EXPECT_EQ(parsed.flags->manager.allocation.scheduler_names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(parsed.flags->manager.ignored_taints, std::vector<std::string>{"x/y"});
  EXPECT_FALSE(parsed.flags->leader_elect);
  EXPECT_EQ(parsed.flags->manager.controllers,
            (std::vector<std::string>{"claimtemplate", "allocation", "tainteviction"}));
  EXPECT_EQ(parsed.flags->verbosity, 4);
}

TEST(Flags, DeviceTaintEviction) {
  const Parsed parsed = parse({"--device-taint-eviction=own", "--device-taint-eviction-rate=5"});
  ASSERT_TRUE(parsed.flags) << parsed.text;
  EXPECT_EQ(parsed.flags->manager.device_taint_eviction, manager::DeviceTaintEviction::kOwn);
  EXPECT_EQ(parsed.flags->manager.device_taint_eviction_rate, 5);
  const Parsed off = parse({"--controllers=*,-device-taint-eviction-controller"});
  ASSERT_TRUE(off.flags) << off.text;
  EXPECT_EQ(off.flags->manager.controllers, (std::vector<std::string>{"claimtemplate", "allocation", "lifecycle"}));
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
      {"--metrics-port=70000"},
      {"--metrics-port=http"},
      {"--secure-port=-1"},
      {"--tls-cert-file=a.pem", "--secure-port=10257"},
      {"--tls-cert-file=a.pem", "--tls-private-key-file=a.key"},
      {"--concurrent-resourceclaim-syncs=50"},
      {"--v=11"},
      {"--kube-api-qps=-1"},
      {"--logging-format=xml"},
      {"--feature-gates=DRANonsense=true"},
      {"--cel-extensions=magic"},
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

TEST(Flags, HelpAndVersionEndWith0) {
  EXPECT_EQ(parse({"--help"}).exit_status, 0);
  EXPECT_NE(parse({"--help"}).text.find("--claim-templates"), std::string::npos);
  EXPECT_EQ(parse({"--version"}).text, "dra-controller-manager 9.9.9\n");
}

TEST(Durations, AsGoWritesThem) {
  EXPECT_EQ(parse_duration("15s"), 15s);
  EXPECT_EQ(parse_duration("1m30s"), 90s);
  EXPECT_EQ(parse_duration("500ms"), 500ms);
  EXPECT_EQ(parse_duration("2h"), 2h);
  for (const char* bad : {"", "15", "s", "-1s", "1d", "1 s", "99999999999s"})
    EXPECT_EQ(parse_duration(bad), std::nullopt);
}

}  // namespace dra::cmd::flags_test
