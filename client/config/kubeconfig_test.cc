#include "client/config/kubeconfig.h"

#include <gtest/gtest.h>

#include "pkg/base/random.h"
#include "pkg/base/strings.h"
#include "pkg/reactor/sim_reactor.h"

namespace dra::client::kubeconfig_test {

using namespace std::chrono_literals;

const char kPem[] = "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n";

class MapFiles : public FileReader {
 public:
  Result<std::string> read(const std::string& path) const override {
    auto it = files.find(path);
    if (it == files.end()) return fail(Code::kNotFound, "cannot open " + quote(path) + ": No such file");
    return it->second;
  }
  std::map<std::string, std::string> files;
};

struct Fixture {
  ManualClock clock;
  SimReactor reactor{clock};
  MapFiles files;
  ConfigContext context{&reactor, &files};

  Result<ServerConfig> parse(const std::string& text, const std::string& name = "") {
    return parse_kubeconfig(text, "/home/a/.kube/config", name, context);
  }
  static Result<Credential> credential(const ServerConfig& config) {
    std::optional<Result<Credential>> got;
    config.credentials->get([&](Result<Credential> c) { got = std::move(c); });
    EXPECT_TRUE(got.has_value());
    return *got;
  }
};

std::string file_with(const std::string& cluster, const std::string& user) {
  return "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
         "contexts:\n- name: c\n  context: {cluster: k, user: u, namespace: team}\n- name: anon\n  context: {cluster: "
         "k}\n"
         "clusters:\n- name: k\n  cluster: " +
         cluster + "\nusers:\n- name: u\n  user: " + user + "\n";
}

TEST(Kubeconfig, ContextClusterAndToken) {
  Fixture f;
  f.files.files["/home/a/.kube/pki/ca.crt"] = kPem;
  auto config = f.parse(
      file_with("{server: 'https://h:6443/', certificate-authority: pki/ca.crt, tls-server-name: x}", "{token: abc}"));
  ASSERT_TRUE(config.has_value()) << config.error().message();
  EXPECT_EQ(config->server, "https://h:6443");
  EXPECT_EQ(config->certificate_authority, kPem);
  EXPECT_EQ(config->tls_server_name, "x");
  EXPECT_EQ(config->default_namespace, "team");
  EXPECT_EQ(f.credential(*config)->authorization, "Bearer abc");
  auto anonymous = f.parse(file_with("{server: 'http://h'}", "{}"), "anon");
  ASSERT_TRUE(anonymous.has_value());
  EXPECT_EQ(anonymous->credentials, nullptr);
  EXPECT_EQ(anonymous->default_namespace, "default");
}

// They would be sent as credentials, and appear in every log line that names the server.
TEST(Kubeconfig, AClusterAndAUserCanBeChosenInsteadOfTheContexts) {
  Fixture f;
  f.files.files["/k"] =
      "current-context: c\ncontexts:\n- name: c\n  context: {cluster: k, user: u, namespace: team}\n"
      "clusters:\n- name: k\n  cluster: {server: 'https://one'}\n- name: other\n  cluster: {server: 'https://two'}\n"
      "users:\n- name: u\n  user: {token: a}\n- name: admin\n  user: {token: b}\n";
  const auto load = [&](ConfigFlags flags) {
    flags.kubeconfig = "/k";
    return load_config(flags, {}, f.context);
  };
  const auto both = load({.cluster = "other", .user = "admin"});
  ASSERT_TRUE(both.has_value()) << both.error().message();
  EXPECT_EQ(both->server, "https://two");
  EXPECT_EQ(f.credential(*both)->authorization, "Bearer b");
  EXPECT_EQ(both->default_namespace, "team") << "the rest is the context's";
  const auto user = load({.user = "admin"});
  EXPECT_EQ(user->server, "https://one");
  EXPECT_EQ(f.credential(*user)->authorization, "Bearer b");
  const auto wrong = load({.cluster = "x"});
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().message(), "kubeconfig \"/k\": no cluster \"x\" in clusters; there are k, other");
  // A cluster can be chosen where there is no context at all.
  f.files.files["/k"] = "clusters:\n- name: k\n  cluster: {server: 'https://one'}\n";
  EXPECT_EQ(load({.cluster = "k"})->server, "https://one");
}

TEST(Kubeconfig, UserAndPasswordInTheServersUrlAreNowhere) {
  Fixture f;
  for (const auto& [written, used] :
       std::map<std::string, std::string>{{"https://me:secret@h:6443", "https://h:6443"},
                                          {"https://me:sec@ret@h/prefix/", "https://h/prefix"},
                                          {"https://secret@[::1]:6443", "https://[::1]:6443"},
                                          {"https://h/a@b", "https://h/a@b"},
                                          {"http://:secret@h", "http://h"}}) {
    auto config = f.parse(file_with("{server: '" + written + "'}", "{token: abc}"));
    ASSERT_TRUE(config.has_value()) << config.error().message();
    EXPECT_EQ(config->server, used);
    EXPECT_EQ(config->origin.find("secret"), std::string::npos);
    ConfigFlags flags;
    flags.master = written;
    flags.kubeconfig = "/k";
    f.files.files["/k"] = file_with("{server: 'https://x'}", "{token: abc}");
    auto master = load_config(flags, {}, f.context);
    ASSERT_TRUE(master.has_value()) << master.error().message();
    EXPECT_EQ(master->server, used);
  }
  for (const char* wrong : {"ftp://me:secret@h", "me:secret@h", "//me:secret@h"}) {
    auto config = f.parse(file_with("{server: '" + std::string(wrong) + "'}", "{token: abc}"));
    ASSERT_FALSE(config.has_value());
    EXPECT_EQ(config.error().message().find("secret"), std::string::npos) << config.error().message();
  }
}

TEST(Kubeconfig, SeveralFilesAreMergedAsKubectlDoes) {
  Fixture f;
  f.files.files["/a/config"] =
      "kind: Config\nclusters:\n- name: k\n  cluster: {server: 'https://first', certificate-authority: ca.crt}\n";
  f.files.files["/empty"] = "";
  f.files.files["/a/ca.crt"] = kPem;
  f.files.files["/b/config"] =
      "current-context: two\ncontexts:\n- name: two\n  context: {cluster: k, user: u, namespace: b}\n"
      "- name: late\n  context: {cluster: l}\n"
      "clusters:\n- name: k\n  cluster: {server: 'https://second'}\nusers:\n- name: u\n  user: {tokenFile: token}\n";
  f.files.files["/b/token"] = "of-b";
  f.files.files["/c/config"] =
      "current-context: three\ncontexts:\n- name: two\n  context: {cluster: l, namespace: c}\n"
      "clusters:\n- name: l\n  cluster: {server: 'ftp://l'}\n";
  const auto load = [&](const std::string& variable, const std::string& context = "") {
    ConfigFlags flags;
    flags.context = context;
    return load_config(flags, {{"KUBECONFIG", variable}, {"HOME", "/home/a"}}, f.context);
  };
  auto config = load("/none:/empty:/a/config::/b/config:/c/config:/a/config");
  ASSERT_TRUE(config.has_value()) << config.error().message();
  EXPECT_EQ(config->server, "https://first");
  EXPECT_EQ(config->certificate_authority, kPem);
  EXPECT_EQ(config->default_namespace, "b");
  EXPECT_EQ(f.credential(*config)->authorization, "Bearer of-b");
  const auto says = [&](const Result<ServerConfig>& result, const std::string& text) {
    ASSERT_FALSE(result.has_value());
    EXPECT_NE(result.error().message().find(text), std::string::npos) << result.error().message();
  };
  says(load("/none:/nothing"), "none of the files /none, /nothing exists");
  says(load("/a/config:/b/config", "late"), R"(kubeconfig "/a/config:/b/config": no cluster "l" in clusters)");
  says(load("/b/config:/c/config", "late"), R"(kubeconfig "/c/config": cluster "l": server "ftp://l")");
  f.files.files["/c/config"] = "[1]";
  says(load("/b/config:/c/config"), R"(kubeconfig "/c/config": it is not a kubeconfig)");
}

TEST(Kubeconfig, CertificatesAsDataAndAsFilesThatRotate) {
  Fixture f;
  auto data = f.parse(file_with(
      "{server: 'https://h', certificate-authority-data: " + base64_encode(kPem) + "}",
      "{client-certificate-data: " + base64_encode("cert") + ", client-key-data: " + base64_encode("key") + "}"));
  ASSERT_TRUE(data.has_value()) << data.error().message();
  EXPECT_EQ(f.credential(*data)->certificate, "cert");
  f.files.files["/c.crt"] = "cert1";
  f.files.files["/c.key"] = "key1";
  auto files = f.parse(file_with("{server: 'https://h'}", "{client-certificate: /c.crt, client-key: /c.key}"));
  ASSERT_TRUE(files.has_value()) << files.error().message();
  EXPECT_EQ(f.credential(*files)->key, "key1");
  f.files.files["/c.key"] = "key2";
  EXPECT_EQ(f.credential(*files)->key, "key1");
  f.reactor.advance(61s);
  EXPECT_EQ(f.credential(*files)->key, "key2");
}

TEST(Kubeconfig, TokenFilesAreReadAgainAfterAMinuteAndAtOnceAfterARejection) {
  Fixture f;
  f.files.files["/t"] = "one\n";
  auto config = f.parse(file_with("{server: 'https://h'}", "{tokenFile: /t, token: ignored}"));
  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(f.credential(*config)->authorization, "Bearer one");
  f.files.files["/t"] = "two";
  f.reactor.advance(30s);
  EXPECT_EQ(f.credential(*config)->authorization, "Bearer one");
  config->credentials->rejected(Credential{"Bearer one", "", ""});
  EXPECT_EQ(f.credential(*config)->authorization, "Bearer two");
  f.files.files["/t"] = "three";
  f.reactor.advance(61s);
  EXPECT_EQ(f.credential(*config)->authorization, "Bearer three");
  f.files.files.erase("/t");  // being replaced: the previous content stays in use
  f.reactor.advance(61s);
  EXPECT_EQ(f.credential(*config)->authorization, "Bearer three");
  config->credentials->rejected(Credential{"Bearer three", "", ""});
  EXPECT_EQ(f.credential(*config).error().code(), Code::kUnauthenticated);
}

TEST(Kubeconfig, EveryRefusalNamesFileEntryAndCause) {
  Fixture f;
  struct Case {
    std::string text;
    std::string context;
    std::string expected;
  };
  std::string good = "{server: 'https://h'}";
  for (const Case& c : std::vector<Case>{
           {"a: [", "", "line"},
           {"just text", "", "not a mapping"},
           {"kind: Pod", "", "kind is \"Pod\""},
           {"kind: Config", "", "set current-context"},
           {file_with(good, "{}"), "nope", "no context \"nope\" in contexts; there are c, anon"},
           {file_with("{server: h}", "{}"), "", "server \"h\" must begin with https://"},
           {file_with("{server: 'https://h', certificate-authority-data: '***'}", "{}"), "", "is not base64"},
           {file_with("{server: 'https://h', certificate-authority-data: aGVsbG8=}", "{}"), "", "is not PEM"},
           {file_with("{server: 'https://h', certificate-authority: /none}", "{}"), "", "cannot open \"/none\""},
           {file_with(good, "{auth-provider: {name: gcp}}"), "", "auth-provider is not supported"},
           {file_with(good, "{client-certificate-data: aGVsbG8=}"), "", "needs its key"},
           {file_with(good, "{tokenFile: /none}"), "", "cannot open \"/none\""},
           {file_with(good, "{exec: {command: x, apiVersion: client.authentication.k8s.io/v1alpha1}}"), "",
            "exec apiVersion"},
           {file_with(good, "{exec: {apiVersion: client.authentication.k8s.io/v1}}"), "", "no command"},
           {file_with(good,
                      "{exec: {command: x, interactiveMode: Always, apiVersion: client.authentication.k8s.io/v1}}"),
            "", "needs a terminal"},
       }) {
    auto config = f.parse(c.text, c.context);
    ASSERT_FALSE(config.has_value()) << c.expected;
    EXPECT_NE(config.error().message().find("/home/a/.kube/config"), std::string::npos);
    EXPECT_NE(config.error().message().find(c.expected), std::string::npos) << config.error().message();
  }
}

TEST(Kubeconfig, AnyBytesEndInAResultNotInACrash) {
  Fixture f;
  std::string good = file_with("{server: 'https://h', certificate-authority-data: aGVsbG8=}",
                               "{exec: {command: x, args: [a], env: [{name: b, value: c}]}}");
  SeededRandom random(3);
  for (int i = 0; i < 3000; ++i) {
    std::string text = good;
    for (uint64_t n = 1 + random.below(6); n > 0; --n) {
      size_t at = random.below(text.size());
      random.below(2) == 0 ? void(text[at] = static_cast<char>(random.next())) : void(text.erase(at, random.below(20)));
      if (text.empty()) text = " ";
    }
    auto config = f.parse(text);
    if (!config) {
      EXPECT_FALSE(config.error().message().empty());
    }
  }
}

TEST(Kubeconfig, InCluster) {
  Fixture f;
  std::map<std::string, std::string> env{{"KUBERNETES_SERVICE_HOST", "fd00::1"}, {"KUBERNETES_SERVICE_PORT", "443"}};
  auto missing = in_cluster_config(env, f.context);
  ASSERT_FALSE(missing.has_value());
  EXPECT_NE(missing.error().message().find("ca.crt"), std::string::npos);
  std::string mount = "/var/run/secrets/kubernetes.io/serviceaccount/";
  f.files.files = {{mount + "ca.crt", kPem}, {mount + "token", "tok"}, {mount + "namespace", "dra-system"}};
  auto config = in_cluster_config(env, f.context);
  ASSERT_TRUE(config.has_value()) << config.error().message();
  EXPECT_EQ(config->server, "https://[fd00::1]:443");
  EXPECT_EQ(config->default_namespace, "dra-system");
  EXPECT_EQ(f.credential(*config)->authorization, "Bearer tok");
  EXPECT_FALSE(in_cluster_config({}, f.context).has_value());
}

TEST(Kubeconfig, WhereAConfigurationIsLookedFor) {
  Fixture f;
  f.files.files["/k"] = file_with("{server: 'https://flag'}", "{}");
  f.files.files["/e"] = file_with("{server: 'https://env'}", "{}");
  f.files.files["/h/.kube/config"] = file_with("{server: 'https://home'}", "{}");
  auto server = [&](ConfigFlags flags, std::map<std::string, std::string> env) {
    auto config = load_config(flags, env, f.context);
    return config ? config->server : config.error().message();
  };
  EXPECT_EQ(server({"/k", "", ""}, {{"KUBECONFIG", "/e"}}), "https://flag");
  EXPECT_EQ(server({}, {{"KUBECONFIG", "/e"}, {"HOME", "/h"}}), "https://env");
  EXPECT_EQ(server({}, {{"HOME", "/h"}}), "https://home");
  EXPECT_EQ(server({"/k", "", "https://m/"}, {}), "https://m");
  EXPECT_EQ(server({"", "", "http://m:1"}, {{"HOME", "/nowhere"}}), "http://m:1");
  EXPECT_NE(server({"/none", "", ""}, {}).find("cannot open \"/none\""), std::string::npos);
  EXPECT_NE(server({}, {}).find("pass --kubeconfig"), std::string::npos);
  EXPECT_NE(server({"/k", "", "h"}, {}).find("--master"), std::string::npos);
}

}  // namespace dra::client::kubeconfig_test
