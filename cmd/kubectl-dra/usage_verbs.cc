// Verbs that look back: usage, history.
#include <nlohmann/json.hpp>

#include "client/rest/resource_path.h"
#include "client/transport/curl_transport.h"
#include "cmd/kubectl-dra/verb.h"
#include "pkg/base/strings.h"
#include "pkg/inspect/verbs/history.h"
#include "pkg/inspect/verbs/usage.h"
#include "pkg/log/log.h"
#include "pkg/protocol/manager_lease.h"
#include "pkg/reactor/asio_reactor.h"

namespace dra::kubectl {
namespace {

constexpr Duration kPatienceOfPrometheus = std::chrono::seconds(60);
constexpr size_t kMostOfPrometheus = 8 * 1024 * 1024;

// The totals that the leader wrote beside its Lease.
inspect::UsageTotals totals_of(Call& call, const inspect::Objects& objects) {
  inspect::UsageTotals totals;
  if (!call.common.from.empty()) {
    totals.why_not = "they are not in snapshots";
    return totals;
  }
  const api::Lease* leads = nullptr;
  for (const auto& [key, lease] : objects.managers.leases)
    if (leads == nullptr || protocol::leadership_of(*lease, objects.taken) == protocol::Leadership::kLeads)
      leads = lease.get();
  if (leads == nullptr) {
    totals.why_not = objects.managers.why_hidden.empty() ? "no dra-controller-manager is known here"
                                                         : "the manager's Lease is not visible; name its namespace "
                                                           "with --manager-namespace, if you may read it there";
    return totals;
  }
  const std::string ns = leads->metadata.ns, name = leads->metadata.name + "-usage";
  const auto answer = call.request([&](client::RestClient& client, client::RestClient::Done done) {
    return client.get({{"", "v1", "configmaps", "ConfigMap", true}, ns, name, ""}, std::move(done));
  });
  if (!answer) {
    totals.why_not = answer.error().http_status() == 404
                         ? "there is no ConfigMap " + ns + "/" + name + " yet: the leader writes it, unless --usage=off"
                         : answer.error().message();
    return totals;
  }
  const auto object = nlohmann::json::parse(*answer, nullptr, false);
  const auto data = object.is_object() ? object.find("data") : object.end();
  const bool has = object.is_object() && data != object.end() && data->is_object() && data->contains("usage.json") &&
                   (*data)["usage.json"].is_string();
  auto record = usage::parse_record(has ? (*data)["usage.json"].get<std::string>() : "");
  if (record)
    totals.record = std::move(*record);
  else
    totals.why_not = "ConfigMap " + ns + "/" + name + ": " + record.error().message();
  return totals;
}

// Credentials of the kubeconfig never go there.
Result<std::string> ask_prometheus(const std::string& address, const std::string& query) {
  log::configure({.sink = [](std::string_view) {}});
  SystemClock clock;
  AsioReactor reactor(clock);
  client::ServerConfig config;
  config.server = address;
  while (config.server.ends_with('/')) config.server.pop_back();
  client::CurlOptions options;
  options.user_agent = "kubectl-dra";
  options.max_body_bytes = kMostOfPrometheus;
  client::CurlTransport transport(reactor, config, options);
  client::RestClient client(transport);
  std::optional<Result<std::string>> answer;
  const Handle call = client.get_raw("/api/v1/query?query=" + client::percent_encode(query),
                                     [&answer](Result<std::string> got) { answer = std::move(got); });
  reactor.run_until([&answer] { return answer.has_value(); }, kPatienceOfPrometheus);
  if (!answer) return fail(Code::kDeadlineExceeded, address + " does not answer");
  if (!*answer) return fail(answer->error().wrap("--prometheus " + address));
  return std::move(*answer);
}

Result<inspect::Answer> usage_since(Call& call, const inspect::UsageQuestion& question) {
  const std::string address = call.value("prometheus");
  if (address.empty())
    return fail(Code::kInvalidArgument,
                "--since asks a Prometheus; give its address: --prometheus http://localhost:9090 (kubectl port-forward "
                "brings it there)");
  if (!address.starts_with("http://") && !address.starts_with("https://"))
    return fail(Code::kInvalidArgument,
                "--prometheus " + quote(address) + " is not an address; write http://HOST:PORT or https://HOST:PORT");
  const auto period = inspect::usage_period(call.value("since"));
  if (!period) return fail(period.error());
  bool recorded = true;
  std::vector<inspect::UsageOfPeriod> found;
  for (const bool rules : {true, false}) {
    recorded = rules;
    for (const bool cards : {true, false}) {
      const auto text =
          ask_prometheus(address, inspect::usage_query(cards ? "card_seconds" : "device_seconds", *period, rules));
      if (!text) return fail(text.error());
      const auto added = inspect::add_usage_answer(*text, cards, found);
      if (!added) return fail(added.error().wrap("--prometheus " + address));
    }
    if (!found.empty()) break;
  }
  return inspect::usage_of_period(found, question, *period, recorded);
}

Result<inspect::Answer> run_usage(Call& call) {
  const std::string word = call.words.empty() ? "namespaces" : call.words[0];
  const auto by = inspect::usage_by(word);
  if (!by) {
    const std::string near = inspect::nearest(word, inspect::usage_words());
    return fail(Code::kInvalidArgument, "usage " + quote(word) + " is not known; " +
                                            (near.empty() ? "use one of " + join(inspect::usage_words(), ", ")
                                                          : "did you mean " + quote(near) + "?"));
  }
  if (!call.common.selector.empty())
    return fail(Code::kInvalidArgument, "usage knows no labels; choose a namespace with -n, or filter -o json");
  const inspect::UsageQuestion question{*by, call.common.all_namespaces ? "" : call.common.ns};
  if (!call.value("since").empty()) return usage_since(call, question);
  if (!call.value("prometheus").empty())
    return fail(Code::kInvalidArgument, "--prometheus is asked for a period; add --since 24h");
  const auto loaded = call.load_state();
  if (!loaded) return fail(loaded.error());
  return inspect::usage_now(**loaded, question, totals_of(call, (*loaded)->objects));
}

inspect::EventsOfPod read_events(Call& call, const api::Pod& pod) {
  inspect::EventsOfPod none;
  if (!call.common.from.empty()) {
    none.why_not = "they are not in snapshots";
    return none;
  }
  const client::Query query{{"fieldSelector", "involvedObject.kind=Pod,involvedObject.name=" + pod.metadata.name},
                            {"limit", std::to_string(inspect::kMaxHistoryEvents)}};
  const auto answer = call.request([&](client::RestClient& client, client::RestClient::Done done) {
    return client.list({"", "v1", "events", "Event", true}, pod.metadata.ns, query, std::move(done));
  });
  auto events =
      answer ? inspect::events_of_pod(*answer, pod.metadata.uid) : Result<inspect::EventsOfPod>(fail(answer.error()));
  if (events) return std::move(*events);
  none.why_not = events.error().message();
  return none;
}

Result<inspect::Answer> run_history(Call& call) {
  const std::string target = call.words.size() < 2 ? call.words[0] : call.words[0] + "/" + call.words[1];
  if (call.words.size() == 2 && call.words[0].find('/') != std::string::npos)
    return fail(Code::kInvalidArgument, "one pod at a time; " + quote(call.words[1]) + " is one too many");
  if (call.common.all_namespaces)
    return fail(Code::kInvalidArgument, "history is about one pod; choose its namespace with -n");
  call.common.without_devices = true;
  const auto loaded = call.load();
  if (!loaded) return fail(loaded.error());
  const auto pod = inspect::pod_of_history(**loaded, target, call.ns());
  if (!pod) return fail(pod.error());
  return inspect::history(**loaded, **pod, read_events(call, **pod));
}

const RegisterVerb kUsage(
    {"usage",
     "who holds how much now, and who used how much",
     "  kubectl dra usage                 by namespace: what is held now, and hours since the manager counts\n"
     "  kubectl dra usage classes         likewise drivers, owners (kinds of owners), all (each by itself)\n"
     "  kubectl dra usage -n ml -o csv    for a spreadsheet\n"
     "  kubectl dra usage --since 7d --prometheus http://localhost:9090\n"
     "                                    hours of a period, from a Prometheus that scrapes the manager\n",
     "usage [namespaces|classes|drivers|owners|all]",
     {{"--since", "of this period until now: 36h, 7d, 4w; needs --prometheus", true, {}},
      {"--prometheus", "the address of a Prometheus: http://HOST:PORT; no credentials are sent", true, {}}},
     0,
     1,
     {"namespaces", "classes", "drivers", "owners", "all"},
     &run_usage,
     true,
     true});
const RegisterVerb kHistory({"history",
                             "what a pod waited for and when, and what of that is lost",
                             "  kubectl dra history pod/train-0 -n ml     causes, conditions, claims and events\n"
                             "  kubectl dra history train-0 -o json\n",
                             "history [pod/]NAME",
                             {},
                             1,
                             2,
                             {"@pods"},
                             &run_history,
                             true,
                             true});

}  // namespace
}  // namespace dra::kubectl
