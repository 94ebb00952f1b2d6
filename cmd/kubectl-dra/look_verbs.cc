// Verbs that look: top, who, explain.
#include "cmd/kubectl-dra/verb.h"
#include "pkg/inspect/answer/sort.h"
#include "pkg/inspect/source/label_filter.h"
#include "pkg/inspect/verbs/explain.h"
#include "pkg/inspect/verbs/explain_owner.h"
#include "pkg/inspect/verbs/fragmentation.h"
#include "pkg/inspect/verbs/pod_owners.h"
#include "pkg/inspect/verbs/top.h"
#include "pkg/inspect/verbs/top_pairs.h"
#include "pkg/inspect/verbs/who.h"

namespace dra::kubectl {
namespace {

// "top pairs a + b + ... by ATTRIBUTE", each a word: 8 classes, the signs between them.
constexpr size_t kMostWordsOfARule = 20;

Result<inspect::Answer> run_top(Call& call) {
  const std::string what = call.words.empty() ? "nodes" : call.words[0];
  static const std::vector<std::string> kWhat{"nodes", "classes", "fragmentation", "pairs", "claims", "namespaces"};
  if (std::find(kWhat.begin(), kWhat.end(), what) == kWhat.end()) {
    const std::string near = inspect::nearest(what, kWhat);
    return fail(Code::kInvalidArgument,
                "top " + quote(what) + " is not known; " +
                    (near.empty() ? "use one of " + join(kWhat, ", ") : "did you mean " + quote(near) + "?"));
  }
  // The rule of top pairs may have come without quotes.
  const std::string rule = what == "pairs" ? join({call.words.begin() + 1, call.words.end()}, " ") : "";
  if (what == "pairs" && rule.empty())
    return fail(Code::kInvalidArgument, "top pairs needs a rule: top pairs 'CLASS+CLASS by DOMAIN/ATTRIBUTE'");
  if (call.words.size() > 1 && what != "nodes" && what != "pairs")
    return fail(Code::kInvalidArgument, "top " + what + " takes no name; top nodes NODE is about one node");
  if (call.words.size() > 2 && what == "nodes")
    return fail(Code::kInvalidArgument, "top nodes is about one node; " + quote(call.words[2]) + " is one too many");
  if (!call.common.selector.empty() && (what == "classes" || what == "fragmentation"))
    return fail(Code::kInvalidArgument, "-l selects nodes, claims or namespaces; top " + what + " takes none");
  auto labels = inspect::parse_label_selector(call.common.selector);
  if (!labels) return fail(labels.error());
  // Objects of all namespaces, unless -n chooses one.
  inspect::Scope scope{call.common.all_namespaces ? "" : call.common.ns, std::move(*labels),
                       what == "nodes" && call.words.size() > 1 ? call.words[1] : ""};
  const auto loaded = call.load_state();
  if (!loaded) return fail(loaded.error());
  inspect::State& state = **loaded;
  if (!scope.node.empty() && !state.objects.nodes.contains(scope.node) && !state.objects.hides("nodes")) {
    std::vector<std::string> names;
    for (const auto& [name, node] : state.objects.nodes) names.push_back(name);
    const std::string near = inspect::nearest(scope.node, names);
    return fail(Code::kNotFound, "node " + quote(scope.node) + " is not known" +
                                     (near.empty() ? "" : "; did you mean " + quote(near) + "?"));
  }
  if (what == "pairs") return inspect::top_pairs(state, rule, scope);
  if (what == "fragmentation") return inspect::top_fragmentation(state);
  return what == "nodes"     ? inspect::top_nodes(state, scope)
         : what == "classes" ? inspect::top_classes(state)
         : what == "claims"  ? inspect::top_claims(state, scope)
                             : inspect::top_namespaces(state, scope);
}

// The object that the words name: "pod X" is "pod/X". Errors: "pod/X pod/Y" is two.
Result<std::string> target_of(const std::vector<std::string>& words) {
  if (words.size() < 2) return std::string(words[0]);
  if (words[0].find('/') != std::string::npos)
    return fail(Code::kInvalidArgument, "one object at a time; " + quote(words[1]) + " is one too many");
  return words[0] + "/" + words[1];
}

Result<inspect::Answer> run_who(Call& call) {
  const auto target = target_of(call.words);
  if (!target) return fail(target.error());
  const auto loaded = call.load_state();
  if (!loaded) return fail(loaded.error());
  const bool for_people = call.common.output.empty() || call.common.output == "table";
  return inspect::who(**loaded, *target, {call.ns(), for_people});
}

// A workload that is there and has no pods; nothing: it is not, or it cannot be read.
std::optional<inspect::Answer> explain_workload_without_pods(Call& call, const std::string& target) {
  static const std::vector<client::Resource> kWorkloads{{"batch", "v1", "jobs", "Job", true},
                                                        {"apps", "v1", "deployments", "Deployment", true},
                                                        {"apps", "v1", "replicasets", "ReplicaSet", true},
                                                        {"apps", "v1", "statefulsets", "StatefulSet", true},
                                                        {"apps", "v1", "daemonsets", "DaemonSet", true}};
  const size_t slash = target.find('/');
  const std::string kind = inspect::owner_kind(target.substr(0, slash));
  const auto known = std::find_if(kWorkloads.begin(), kWorkloads.end(),
                                  [&](const client::Resource& one) { return kind == to_lower(one.kind); });
  if (!call.common.from.empty() || slash == std::string::npos || known == kWorkloads.end()) return std::nullopt;
  const auto text = call.request([&](client::RestClient& client, client::RestClient::Done done) {
    return client.get({*known, call.ns(), target.substr(slash + 1), ""}, std::move(done));
  });
  const auto objects = call.load();
  const auto options = call.state_options();
  if (!text || !objects || !options) return std::nullopt;
  auto answer = inspect::explain_without_pods(**objects, *options, call.ns(), *text);
  return answer ? std::optional(std::move(*answer)) : std::nullopt;
}

Result<inspect::Answer> run_explain(Call& call) {
  const bool about_one = !call.words.empty();
  if (call.common.all_namespaces && about_one)
    return fail(Code::kInvalidArgument,
                "-A is for explain without an object; choose the namespace of this one with -n");
  if (!call.common.selector.empty() && about_one)
    return fail(Code::kInvalidArgument, "-l is for explain without an object; this one is named");
  const auto target = about_one ? target_of(call.words) : Result<std::string>(std::string());
  if (!target) return fail(target.error());
  auto labels = inspect::parse_label_selector(call.common.selector);
  if (!labels) return fail(labels.error());
  // All that waits is that of all namespaces, unless -n chooses one.
  call.common.asks_evictions = about_one;
  const inspect::WaitingScope scope{call.common.all_namespaces ? "" : call.common.ns, std::move(*labels)};
  const auto loaded = call.load_state();
  if (!loaded) return fail(loaded.error());
  inspect::ExplainOptions options;
  options.ns = call.ns();
  options.node = call.value("node");
  const bool for_people = call.common.output.empty() || call.common.output == "table" || call.common.output == "wide";
  options.width = for_people ? call.width() : 0;
  options.wide = call.common.output == "wide";
  if (!about_one) return inspect::explain_waiting(**loaded, scope, options);
  auto answer = inspect::explain(**loaded, *target, options);
  if (!answer && answer.error().code() == Code::kNotFound)
    if (auto without_pods = explain_workload_without_pods(call, *target)) return *without_pods;
  return answer;
}

const RegisterVerb kTop(
    {"top",
     "how many cards there are: whole in use, cut, free and bad, and what can still be cut",
     "  kubectl dra top                  cards of each node, and what can still be cut\n"
     "  kubectl dra top nodes node-a     of one node\n"
     "  kubectl dra top classes          the largest request of each class that fits one node\n"
     "  kubectl dra top fragmentation    the same, and what could fit if what is held were packed\n"
     "  kubectl dra top pairs 'gpu.nvidia.com+dranet by resource.kubernetes.io/pcieRoot'\n"
     "                                   how many such pairs are free on each node\n"
     "  kubectl dra top claims -n ml     who holds how much\n"
     "  kubectl dra top claims -l app=train    those with the label; nodes and namespaces likewise\n"
     "  kubectl dra top --sort-by free   most free cards first; by any column\n"
     "  kubectl dra top -l zone=a -o json\n",
     "top [nodes [NODE]|classes|fragmentation|pairs 'CLASS+CLASS by ATTRIBUTE'|claims|namespaces]",
     {},
     0,
     kMostWordsOfARule,
     {"nodes", "classes", "fragmentation", "pairs", "claims", "namespaces"},
     &run_top,
     true,
     true});
const RegisterVerb kWho({"who",
                         "the devices of a node and who holds them, or those of a pod",
                         "  kubectl dra who node-a           all devices, partitions under what they are cut from\n"
                         "  kubectl dra who node-a/gpu-3     one of them\n"
                         "  kubectl dra who pod/train-0      the devices of a pod; likewise of a claim, a job, ...\n",
                         "who NODE[/DEVICE] | KIND/NAME",
                         {},
                         1,
                         2,
                         {"@nodes", "@devices", "@pods", "@claims", "@workloads"},
                         &run_who,
                         true,
                         true});
const RegisterVerb kExplain({"explain",
                             "why a pod or claim waits, or which devices it has and from whom",
                             "  kubectl dra explain                       all that waits, a row a cause\n"
                             "  kubectl dra explain pod/train-0           by itself also: explain train-0\n"
                             "  kubectl dra explain deploy/web -n ml      its pods; likewise of any owner of pods\n"
                             "  kubectl dra explain claim/gpus\n"
                             "  kubectl dra explain pod/train-0 --node node-a\n",
                             "explain [KIND/NAME]",
                             {{"--node", "why not on this node", true, {}}},
                             0,
                             2,
                             {"@pods", "@claims", "@workloads"},
                             &run_explain,
                             true,
                             true});

}  // namespace
}  // namespace dra::kubectl
