#include "client/config/exec_plugin.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <optional>

#include "pkg/base/timestamp.h"
#include "pkg/reactor/asio_reactor.h"
#include "pkg/reactor/sim_reactor.h"

namespace dra::client::exec_plugin_test {

using namespace std::chrono_literals;

ExecPlugin shell(const std::string& script) {
  ExecPlugin plugin;
  plugin.command = "/bin/sh";
  plugin.args = {"-c", script};
  plugin.api_version = "client.authentication.k8s.io/v1";
  plugin.time_limit = 20s;
  return plugin;
}

std::string printing(const std::string& status) {
  return "printf '%s' '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"status\":" +
         status + "}'";
}

TEST(ExecPlugin, TokenCertificateAndExpiry) {
  auto got = run_exec_plugin(shell(printing(
      R"({"token":"t","clientCertificateData":"c","clientKeyData":"k","expirationTimestamp":"2026-01-01T00:00:00Z"})")));
  ASSERT_TRUE(got.has_value()) << got.error().message();
  EXPECT_EQ(got->credential, (Credential{"Bearer t", "c", "k"}));
  EXPECT_EQ(format_rfc3339(got->expires), "2026-01-01T00:00:00Z");
}

TEST(ExecPlugin, GetsItsEnvironmentAndNoTerminal) {
  ExecPlugin plugin = shell(
      "test -z \"$(cat)\" || exit 3; case \"$KUBERNETES_EXEC_INFO\" in "
      "*'\"interactive\":false'*'\"server\":\"https://h\"'*|"
      "*'\"server\":\"https://h\"'*'\"interactive\":false'*) ;; *) exit 4;; esac; test \"$X\" = y || exit 5; " +
      printing(R"({"token":"t"})"));
  plugin.env = {{"X", "y"}};
  plugin.cluster_json = R"({"server":"https://h"})";
  auto got = run_exec_plugin(plugin);
  ASSERT_TRUE(got.has_value()) << got.error().message();
}

TEST(ExecPlugin, FailuresSayWhatHappened) {
  auto says = [](const ExecPlugin& plugin, const std::string& text) {
    auto got = run_exec_plugin(plugin);
    ASSERT_FALSE(got.has_value());
    EXPECT_EQ(got.error().code(), Code::kUnauthenticated);
    EXPECT_NE(got.error().message().find(text), std::string::npos) << got.error().message();
  };
  says(shell("echo sorry >&2; exit 7"), "exit status 7: \"sorry\"");
  says(shell("kill -9 $$"), "signal 9");
  says(shell("echo hello"), "not a JSON object");
  says(shell(printing("{}")), "neither a token nor a client certificate");
  says(shell(printing(R"({"token":"t","expirationTimestamp":"soon"})")), "expirationTimestamp");
  says(shell(printing(R"({"clientKeyData":"t"})")), "only one of");
  ExecPlugin missing = shell("");
  missing.command = "/no/such/plugin";
  missing.install_hint = "install it from example.com";
  says(missing, "No such file or directory; install it from example.com");
  ExecPlugin other = shell(printing(R"({"token":"t"})"));
  other.api_version = "client.authentication.k8s.io/v1beta1";
  says(other, "apiVersion is");
}

// No plugin blocks us: neither one that sleeps, nor one whose child keeps the pipe open, nor one that prints forever.
TEST(ExecPlugin, TimeAndOutputAreBounded) {
  for (const char* script : {"sleep 600", "sleep 600 & exit 0", "trap '' TERM; while :; do sleep 1; done"}) {
    ExecPlugin plugin = shell(script);
    plugin.time_limit = 100ms;
    auto begin = std::chrono::steady_clock::now();
    auto got = run_exec_plugin(plugin);
    ASSERT_FALSE(got.has_value());
    EXPECT_NE(got.error().message().find("did not end within"), std::string::npos) << got.error().message();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
  }
  ExecPlugin loud = shell("yes");
  loud.output_limit = 10000;
  auto got = run_exec_plugin(loud);
  ASSERT_FALSE(got.has_value());
  EXPECT_NE(got.error().message().find("more than 10000 bytes"), std::string::npos);
}

// A program that ends does not wait for a hanging plugin, whether it cancels the source or just destroys
// it.
TEST(ExecPlugin, AHangingPluginIsKilledWhenItIsNoLongerWanted) {
  for (const bool cancels : {true, false}) {
    SystemClock clock;
    auto reactor = std::make_unique<AsioReactor>(clock);
    auto source = exec_credentials(*reactor, shell("trap '' TERM; sleep 600 & sleep 600"));
    std::string answer;
    source->get([&](Result<Credential> c) { answer = c ? c->authorization : c.error().message(); });
    reactor->run_until([] { return false; }, 100ms);
    auto begin = std::chrono::steady_clock::now();
    if (cancels) {
      source->cancel();
      EXPECT_TRUE(reactor->run_until([&] { return !answer.empty(); }, 5s));
      EXPECT_NE(answer.find("was killed: the program ends"), std::string::npos) << answer;
      source->get([&](Result<Credential> c) { answer = c ? c->authorization : c.error().message(); });
      EXPECT_NE(answer.find("is not run"), std::string::npos) << answer;
    }
    source.reset();
    reactor.reset();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
  }
}

TEST(ExecPlugin, TheSourceSharesRunsAndHonoursExpiryAndRejection) {
  ManualClock clock;
  SimReactor reactor(clock);
  char counter[] = "/tmp/dra-exec-XXXXXX";
  int fd = mkstemp(counter);
  ASSERT_GE(fd, 0);
  close(fd);
  std::string expires = format_rfc3339(clock.wall_now() + 100s);
  auto source = exec_credentials(
      reactor,
      shell("echo x >> " + std::string(counter) + "; n=$(wc -l < " + counter + "); " +
            "printf '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"status\":"
            "{\"token\":\"t%d\",\"expirationTimestamp\":\"" +
            expires + "\"}}' $n"));
  std::vector<std::string> got;
  auto ask = [&] {
    source->get([&](Result<Credential> c) { got.push_back(c ? c->authorization : c.error().message()); });
  };
  ask();
  ask();
  reactor.run_until_idle();
  ask();
  EXPECT_EQ(got, (std::vector<std::string>{"Bearer t1", "Bearer t1", "Bearer t1"}));
  source->rejected(Credential{"Bearer t1", "", ""});
  ask();
  reactor.run_until_idle();
  EXPECT_EQ(got.back(), "Bearer t2");
  reactor.advance(95s);  // expires within 10 s
  ask();
  reactor.run_until_idle();
  EXPECT_EQ(got.back(), "Bearer t3");
  unlink(counter);
}

TEST(ExecPlugin, AFailingPluginIsNotRunInALoop) {
  ManualClock clock;
  SimReactor reactor(clock);
  auto source = exec_credentials(reactor, shell("exit 1"));
  int failures = 0;
  auto ask = [&] { source->get([&](Result<Credential> c) { failures += c ? 0 : 1; }); };
  ask();
  reactor.run_until_idle();
  ask();  // answered immediately with the last failure
  EXPECT_EQ(failures, 2);
  reactor.advance(2s);
  ask();
  EXPECT_EQ(failures, 2);
  reactor.run_until_idle();
  EXPECT_EQ(failures, 3);
}

}  // namespace dra::client::exec_plugin_test
