// The command line of a verb, and where the cluster comes from.
#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "client/config/kubeconfig.h"
#include "client/transport/curl_transport.h"
#include "cmd/flag_problem.h"
#include "cmd/flag_values.h"
#include "cmd/identity_flags.h"
#include "cmd/kubectl-dra/help.h"
#include "cmd/kubectl-dra/verb.h"
#include "cmd/sharing_flags.h"
#include "pkg/api/topology_level.h"
#include "pkg/base/strings.h"
#include "pkg/inspect/answer/layout.h"
#include "pkg/inspect/source/label_filter.h"
#include "pkg/inspect/source/server_source.h"
#include "pkg/inspect/source/snapshot.h"
#include "pkg/log/log.h"
#include "pkg/reactor/asio_reactor.h"

namespace dra::kubectl {
namespace {

constexpr Duration kPatience = std::chrono::seconds(60);  // for one request
constexpr Duration kPatienceOfCompletion = std::chrono::seconds(3);
constexpr size_t kUsualWidth = 80;                 // of help
constexpr size_t kNarrowest = 20, kWidest = 1000;  // a page

// As in kubectl: a kubeconfig takes precedence; a pod's service account is used only without one.
Result<client::ServerConfig> config_from_flags(const CommonFlags& common, const client::ConfigContext& context) {
  std::map<std::string, std::string> environment = client::process_environment();
  const auto home = environment.find("HOME");
  const bool has_file = environment.contains("KUBECONFIG") ||
                        (home != environment.end() && ::access((home->second + "/.kube/config").c_str(), F_OK) == 0);
  if (has_file) environment.erase("KUBERNETES_SERVICE_HOST");
  auto config = client::load_config({.kubeconfig = common.kubeconfig,
                                     .context = common.context,
                                     .master = common.server,
                                     .cluster = common.cluster,
                                     .user = common.user,
                                     .master_flag = "--server"},
                                    environment, context);
  if (!config) return config;
  config->as_user = common.as_user;
  if (!common.token.empty()) config->credentials = client::fixed_credentials({"Bearer " + common.token, "", ""});
  if (common.insecure) {
    config->insecure = true;
    config->certificate_authority.clear();
  }
  return config;
}

// As kubectl reads it: a number of seconds, or numbers with units; 0 is no limit.
Result<Duration> timeout_of(const std::string& text, Duration otherwise) {
  if (text.empty()) return otherwise;
  Duration total{};
  const char* at = text.data();
  const char* const end = at + text.size();
  bool plain = false;
  while (at < end) {
    uint32_t number = 0;
    const auto [after, error] = std::from_chars(at, end, number);
    const std::string_view unit(after, static_cast<size_t>(end - after));
    if (error != std::errc() || number > 86'400 || plain) total = Duration::min();
    if (total == Duration::min()) break;
    const size_t letters = unit.starts_with("ms") ? 2 : unit.empty() ? 0 : 1;
    plain = unit.empty();
    if (plain || unit.front() == 's')
      total += std::chrono::seconds(number);
    else if (letters == 2)
      total += std::chrono::milliseconds(number);
    else if (unit.front() == 'm')
      total += std::chrono::minutes(number);
    else if (unit.front() == 'h')
      total += std::chrono::hours(number);
    else
      total = Duration::min();
    if (total == Duration::min()) break;
    at = after + letters;
  }
  if (total == Duration::min())
    return fail(Code::kInvalidArgument, "--request-timeout " + quote(text) +
                                            " is not a time; write seconds, or 30s, 2m, 1h, or 0 for no limit");
  return total == Duration{} ? Duration(std::chrono::hours(24)) : total;
}

void add_common(CLI::App& app, CommonFlags& common) {
  app.add_option("-n,--namespace", common.ns, "the namespace; without it that of the context");
  app.add_flag("-A,--all-namespaces", common.all_namespaces, "all namespaces");
  app.add_option("-l,--selector", common.selector,
                 "labels of what top lists, or of the pods of explain without an object: a=b,c!=d");
  app.add_option("--from", common.from, "read this snapshot instead of a server");
  app.add_option("--kubeconfig", common.kubeconfig, "the kubeconfig file");
  app.add_option("--context", common.context, "the context in it");
  app.add_option("--cluster", common.cluster, "the cluster in it, instead of the context's");
  app.add_option("--user", common.user, "the user in it, instead of the context's");
  app.add_option("--token", common.token, "a bearer token, instead of the user's credentials");
  app.add_flag("--insecure-skip-tls-verify", common.insecure, "do not verify the server's certificate");
  app.add_option("--request-timeout", common.request_timeout, "how long to wait for the server: 30s, 2m; 0: no limit");
  app.add_option("-s,--server", common.server, "the address of the API server");
  app.add_option("--manager-namespace", common.manager_ns,
                 "where the manager runs, if you may read its Lease there alone");
  app.add_flag("-w,--watch", common.watch,
               "ask again, every 2 s at most, and print the answer when it changes; Ctrl-C ends with its exit status");
  app.add_flag("--times", common.times, "say on standard error how long reading and answering took");
  app.add_option("--feature-gates", common.feature_gates,
                 "DRA gates of this cluster that differ from those of its release: Name=true,...");
  app.add_option("--kubernetes-version", common.kubernetes_version,
                 "decide by the rules of this release (1.36, 1.37, 1.38) instead of the server's or the snapshot's");
  app.add_option("--ignore-unknown-fields", common.ignored_fields, "the manager's --ignore-unknown-fields");
  app.add_option("--ignore-taints", common.ignore_taints, "keys of NoSchedule taints that the manager ignores");
  app.add_option("--strategy", common.strategy, "the manager's --strategy, where it is not best-fit")
      ->check(cmd::one_of({"first-fit", "best-fit", "pack", "spread"}));
  app.add_option("--topology-levels", common.topology_levels, "the manager's --topology-levels, for groups");
  cmd::add_identity_flags(app, common.identities);
  cmd::add_sharing_flags(app, common.sharing);
}

// An answer 401 says only "Unauthorized".
Error with_advice(const Error& error, const CommonFlags& common) {
  if (error.http_status() != 401) return error;
  return {error.code(), 401, error.reason(),
          error.message() + ": the server does not accept " +
              (common.token.empty() ? "your credentials, which may have expired; log in again, or choose others by "
                                      "--context, --user or --token"
                                    : "the token of --token; give one that is valid, or leave it out for the user of "
                                      "the kubeconfig")};
}

// `options`: what to read; the server and the namespace come from the flags.
Result<inspect::Objects> read_cluster(CommonFlags& common, inspect::ServerOptions options) {
  if (!common.from.empty()) return inspect::read_snapshot(common.from, options.on_page);
  // The error already contains what clients log about single failures.
  log::configure({.sink = [](std::string_view) {}});
  SystemClock clock;
  AsioReactor reactor(clock);
  auto config = config_from_flags(common, {&reactor, nullptr});
  if (!config) return fail(Error(Code::kUnavailable, config.error().message()));
  common.context_ns = config->default_namespace;
  client::CurlOptions curl;
  curl.user_agent = "kubectl-dra";
  client::CurlTransport transport(reactor, *config, curl);
  options.server = config->server;
  options.ns = common.ns.empty() ? common.context_ns : common.ns;
  options.manager_ns = common.manager_ns;
  options.feature_gates = common.asks_feature_gates;
  options.evictions = common.asks_evictions;
  const auto limit = timeout_of(common.request_timeout, options.time_limit);
  if (!limit) return fail(limit.error());
  options.time_limit = *limit;
  auto objects = inspect::load_from_server(reactor, transport, options);
  if (config->credentials) config->credentials->cancel();
  if (!objects) return fail(with_advice(objects.error(), common));
  return objects;
}

// "-o=json" means what "-o json" does, as for kubectl.
std::vector<std::string> as_kubectl_reads(const std::vector<std::string>& arguments) {
  std::vector<std::string> read;
  for (const std::string& argument : arguments) {
    const bool short_with_value = argument.size() > 3 && argument[0] == '-' && argument[1] != '-' && argument[2] == '=';
    if (short_with_value) read.push_back(argument.substr(0, 2));
    read.push_back(short_with_value ? argument.substr(3) : argument);
  }
  return read;
}

// Flags that are right alone, but contradict each other; empty when none do.
std::string contradiction_of_call(const CommonFlags& common) {
  const std::pair<const char*, const std::string&> of_servers[] = {{"--server", common.server},
                                                                   {"--context", common.context},
                                                                   {"--kubeconfig", common.kubeconfig},
                                                                   {"--manager-namespace", common.manager_ns}};
  for (const auto& [flag, value] : of_servers)
    if (!value.empty() && !common.from.empty())
      return std::string("--from reads a snapshot, and ") + flag + " is about a server; give one of them";
  return "";
}

// kubectl's flags that this program has not, and what to do instead; empty: none of them is among the arguments.
std::string why_not_ours(const std::vector<std::string>& arguments) {
  static const std::vector<std::pair<std::string_view, std::string_view>> kOthers{
      {"--as", "nobody is impersonated; use the kubeconfig of that user, or --token"},
      {"--as-group", "nobody is impersonated; use the kubeconfig of a user of that group, or --token"},
      {"--as-uid", "nobody is impersonated; use the kubeconfig of that user, or --token"},
      {"--username", "Kubernetes has no passwords; use --token, or a user of the kubeconfig by --user"},
      {"--password", "Kubernetes has no passwords; use --token, or a user of the kubeconfig by --user"},
      {"--certificate-authority", "set it in the cluster of the kubeconfig: kubectl config set-cluster"},
      {"--client-certificate", "set it in the user of the kubeconfig: kubectl config set-credentials"},
      {"--client-key", "set it in the user of the kubeconfig: kubectl config set-credentials"},
      {"--tls-server-name", "set it in the cluster of the kubeconfig: kubectl config set-cluster"},
      {"--field-selector", "-l selects by labels; a node or an object is named: top nodes NODE, explain pod/NAME"},
      {"--show-labels", "kubectl get -o wide --show-labels lists labels"},
      {"--template", "pipe -o json into a program that takes templates"},
      {"--chunk-size", "lists are read in pages of 500"},
      {"--watch-only", "use -w"}};
  for (const std::string& argument : arguments)
    for (const auto& [flag, why] : kOthers)
      if (argument.substr(0, argument.find('=')) == flag) return std::string(flag) + ": " + std::string(why);
  return "";
}

bool is_namespace_name(std::string_view name) {
  const auto inside = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  return name.size() <= 63 && std::all_of(name.begin(), name.end(), inside) && name.front() != '-' &&
         name.back() != '-';
}

}  // namespace

void add_flags_of_all_verbs(CLI::App& app, CommonFlags& common) {
  add_common(app, common);
}

void add_flags_of_answers(CLI::App& app, CommonFlags& common, std::string& output, const std::string& of_output) {
  // The last one counts, as for kubectl.
  app.add_option("-o,--output", output, of_output.empty() ? "one of table, wide, json, yaml, name, csv" : of_output)
      ->take_last();
  app.add_option("--sort-by", common.sort_by,
                 "a column: its head, or its key in -o json; numbers from the largest, texts in natural order");
  app.add_flag("--no-headers", common.no_headers, "tables without their first line");
}

std::optional<int> parse_call(const Verb& verb, const std::vector<std::string>& given, Call& call) {
  const std::vector<std::string> arguments = as_kubectl_reads(given);
  CLI::App app(verb.summary + "\n\nExamples:\n" + verb.examples, "kubectl dra " + verb.name);
  if (verb.needs_cluster) add_common(app, call.common);
  add_flags_of_answers(app, call.common, verb.output_is_file ? call.values["output"] : call.common.output,
                       verb.output_is_file ? "write this file instead" : "");
  for (const Flag& flag : verb.flags) {
    const std::string name = flag.names.substr(flag.names.rfind("--") + 2);
    if (!flag.takes_value && !flag.choices.empty()) {
      std::vector<std::string> values = flag.choices;
      values.emplace_back("true");
      app.add_flag(flag.names, call.values[name], flag.help)->check(cmd::one_of(values));
      continue;
    }
    if (!flag.takes_value) {
      app.add_flag(flag.names, call.switches[name], flag.help);
      continue;
    }
    CLI::Option* option = app.add_option(flag.names, call.values[name], flag.help);
    if (!flag.choices.empty()) option->check(cmd::one_of(flag.choices));
  }
  app.add_option("words", call.words, "")->group("");
  app.failure_message([&](const CLI::App* failed, const CLI::Error& error) {
    if (const std::string why = why_not_ours(arguments); !why.empty()) return failed->get_name() + ": " + why + "\n";
    return failed->get_name() + ": " + cmd::flag_problem(app, error, arguments) + "; see --help\n";
  });
  try {
    app.parse(cmd::for_parser(app, arguments));
  } catch (const CLI::CallForHelp&) {
    std::printf("%s", verb_help(app, verb, call.width()).c_str());
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(inspect::Status::kUsage);
  }
  if (const auto limit = timeout_of(call.common.request_timeout, {}); !limit)
    return complain(limit.error().message(), inspect::Status::kUsage);
  for (const auto& [flag, ns] :
       {std::pair{"-n ", call.common.ns}, std::pair{"--manager-namespace ", call.common.manager_ns}})
    if (!ns.empty() && !is_namespace_name(ns))
      return complain(flag + quote(ns) +
                          " is not a name of a namespace: at most 63 lower-case letters, digits and '-', with a "
                          "letter or digit at both ends",
                      inspect::Status::kUsage);
  if (const std::string& server = call.common.server;
      !server.empty() && !server.starts_with("https://") && !server.starts_with("http://"))
    return complain("--server " + quote(server) + " is not the address of a server; write https://HOST:PORT",
                    inspect::Status::kUsage);
  if (const std::string wrong = contradiction_of_call(call.common); !wrong.empty())
    return complain(wrong, inspect::Status::kUsage);
  if (call.words.size() >= verb.min_words && call.words.size() <= verb.max_words) return std::nullopt;
  std::fprintf(stderr, "kubectl-dra: usage: kubectl dra %s\n", verb.usage.c_str());
  return static_cast<int>(inspect::Status::kUsage);
}

Result<const inspect::Objects*> Call::load(const OnPage& on_page) {
  if (objects_) return objects_.get();
  const SystemClock clock;
  const MonoTime begun = clock.mono_now();
  inspect::ServerOptions options;
  options.on_page = on_page;
  auto objects = read_cluster(common, std::move(options));
  if (!objects) return fail(objects.error());
  if (const std::string why = inspect::why_no_devices(*objects); !why.empty() && !common.without_devices)
    return fail(Code::kUnavailable, why);
  objects_ = std::make_shared<const inspect::Objects>(std::move(*objects));
  load_time += clock.mono_now() - begun;
  return objects_.get();
}

Result<const inspect::Objects*> Call::load_kinds(const std::vector<std::string>& kinds) {
  inspect::ServerOptions options;
  options.kinds = kinds;
  options.time_limit = kPatienceOfCompletion;
  auto objects = read_cluster(common, std::move(options));
  if (!objects) return fail(objects.error());
  objects_ = std::make_shared<const inspect::Objects>(std::move(*objects));
  return objects_.get();
}

Result<inspect::State*> Call::load_state() {
  auto options = state_options();
  if (!options) return fail(options.error());
  const auto objects = load();
  if (!objects) return fail(objects.error());
  const SystemClock clock;
  const MonoTime begun = clock.mono_now();
  state_ = std::make_shared<inspect::State>(**objects, std::move(*options));
  load_time += clock.mono_now() - begun;
  return state_.get();
}

Result<std::string> Call::request(const Ask& ask) {
  SystemClock clock;
  AsioReactor reactor(clock);
  auto config = config_from_flags(common, {&reactor, nullptr});
  if (!config) return fail(Error(Code::kUnavailable, config.error().message()));
  client::CurlTransport transport(reactor, *config);
  client::RestClient client(transport);
  std::optional<Result<std::string>> answer;
  const Handle call = ask(client, [&answer](Result<std::string> got) { answer = std::move(got); });
  const auto limit = timeout_of(common.request_timeout, kPatience);
  if (!limit) return fail(limit.error());
  reactor.run_until([&answer] { return answer.has_value(); }, *limit);
  if (config->credentials) config->credentials->cancel();
  if (!answer) return fail(Code::kDeadlineExceeded, config->server + " does not answer");
  if (!*answer) return fail(with_advice(answer->error(), common));
  return std::move(*answer);
}

Result<client::ServerConfig> Call::server_config(const client::ConfigContext& context) {
  auto config = config_from_flags(common, context);
  if (!config) return fail(Error(Code::kUnavailable, config.error().message()));
  common.context_ns = config->default_namespace;
  return config;
}

std::string Call::ns() const {
  if (!common.ns.empty()) return common.ns;
  return common.context_ns.empty() ? "default" : common.context_ns;
}

Result<inspect::StateOptions> Call::state_options() const {
  inspect::StateOptions options;
  auto features = inventory::FeatureChoice::parse(common.feature_gates, common.kubernetes_version);
  if (!features) return fail(features.error());
  api::IgnoredFields ignored;
  if (const std::string wrong = api::read_ignored_fields(common.ignored_fields, ignored); !wrong.empty())
    return fail(Code::kInvalidArgument, "--ignore-unknown-fields: " + wrong);
  features->ignore(std::move(ignored));
  options.features = *features;
  options.identities = common.identities;
  options.sharing = common.sharing;
  for (const std::string& key : split(common.ignore_taints, ','))
    if (!key.empty()) options.ignored_taints.push_back(key);
  if (const auto strategy = allocator::parse_strategy(common.strategy)) options.strategy = *strategy;
  for (const std::string& level : split(common.topology_levels, ',')) {
    if (level.empty()) continue;
    if (!api::topology_level_problems(level).empty())
      return fail(Code::kInvalidArgument, "--topology-levels: " + quote(level) +
                                              " is neither the key of a label nor attribute:<domain>/<name>");
    options.topology_levels.push_back(level);
  }
  return options;
}

size_t Call::width() const {
  winsize size{};
  size_t width = 0;
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) width = size.ws_col;
  if (const char* columns = std::getenv("COLUMNS"); width == 0 && columns != nullptr)
    std::from_chars(columns, columns + std::strlen(columns), width);
  return width == 0 ? 0 : std::clamp(width, kNarrowest, kWidest);
}

}  // namespace dra::kubectl
