// Verbs of kubectl-dra: each is a function from its command line to an answer, registered under its name.
//
//   static const RegisterVerb kTop({"top", "what is used and free", kExamples, kShape, &add_flags, &run_top});
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "client/config/kubeconfig.h"
#include "client/rest/rest_client.h"
#include "pkg/identity/rules.h"
#include "pkg/inspect/answer/answer.h"
#include "pkg/inspect/state/objects.h"
#include "pkg/inspect/state/state.h"
#include "pkg/sharing/rules.h"

namespace dra::kubectl {

// Flags that all verbs have.
struct CommonFlags {
  bool asks_feature_gates = false;  // the verb needs the server's feature gates
  bool asks_evictions = false;      // the verb answers about evictions
  bool without_devices = false;     // the verb has an answer even if resource.k8s.io is not served
  std::string kubeconfig, context, cluster, user, token, server, request_timeout;
  std::string as_user;     // of --as, which web alone has
  std::string ns;          // of -n
  std::string context_ns;  // of the kubeconfig, once the cluster is read
  std::string manager_ns, selector, output, sort_by, from;
  std::string feature_gates, kubernetes_version, ignored_fields, ignore_taints, strategy, topology_levels;
  identity::Rules identities;
  sharing::Rules sharing = sharing::Rules::usual();
  bool all_namespaces = false, watch = false, no_headers = false, times = false, insecure = false;
};

// One run of a verb: its flags, its words, and the cluster if the verb needs it.
class Call {
 public:
  CommonFlags common;
  std::vector<std::string> words;             // positional
  std::map<std::string, std::string> values;  // flags of the verb with a value, by name
  std::map<std::string, bool> switches;       // flags of the verb without

  std::optional<std::string> document;  // in place of the file that -f names

  // How long load() took: reading, decoding and, for a state, filling the packages that decide.
  Duration load_time{};
  using OnPage = std::function<Result<void>(std::string_view, std::string_view)>;
  // The cluster, from the server or the snapshot; it lives as long as the call. `on_page` gets pages as a server sends
  // them.
  Result<const inspect::Objects*> load(const OnPage& on_page = nullptr);
  // Only these kinds, and namespaced ones of ns() alone, with a timeout short enough for completion at a keyboard.
  Result<const inspect::Objects*> load_kinds(const std::vector<std::string>& kinds);
  // Makes load() return this cluster from now on.
  void use(std::shared_ptr<const inspect::Objects> objects) { objects_ = std::move(objects); }
  // What load() has loaded.
  const std::shared_ptr<const inspect::Objects>& objects() const { return objects_; }
  // The cluster loaded into the packages that decide; errors as in load().
  Result<inspect::State*> load_state();
  // One request to the server; only taint and untaint use it to write.
  using Ask = std::function<Handle(client::RestClient&, client::RestClient::Done)>;
  Result<std::string> request(const Ask& ask);
  // Of the server that the flags choose; takes the namespace of the context.
  Result<client::ServerConfig> server_config(const client::ConfigContext& context);
  // The namespace of -n, or of the context (known once the cluster is loaded), or "default".
  std::string ns() const;
  Result<inspect::StateOptions> state_options() const;
  // Columns of the terminal; elsewhere COLUMNS, or no limit (0): programs may read it.
  size_t width() const;
  const std::string& value(const std::string& name) { return values[name]; }

 private:
  // Shared because a call is copied for each round of a watch.
  std::shared_ptr<const inspect::Objects> objects_;
  std::shared_ptr<inspect::State> state_;
};

struct Flag {
  std::string names;  // "-f,--filename"
  std::string help;
  bool takes_value = true;
  // The values; of a flag without takes_value those that it may have ("--redact", "--redact=strict"): then its value is
  // "true" without one.
  std::vector<std::string> choices;
};

struct Verb {
  std::string name;
  std::string summary;
  std::string examples;  // lines
  std::string usage;     // "top [nodes|classes|claims|namespaces]"
  std::vector<Flag> flags;
  size_t min_words = 0, max_words = 0;
  // What can be the first word, for completion: words themselves, or "@pods", "@claims", "@workloads", "@nodes",
  // "@devices".
  std::vector<std::string> completes;
  Result<inspect::Answer> (*run)(Call&) = nullptr;
  bool needs_cluster = true;    // false: flags about servers are not offered
  bool can_watch = false;       // -w: running it again writes nothing and reads no standard input
  bool output_is_file = false;  // --output names a file that it writes: values["output"]
};

const std::vector<Verb>& verbs();

class RegisterVerb {
 public:
  explicit RegisterVerb(Verb verb);
};

// Candidates for the last of the words, one a line, and kubectl's directive.
int complete(const std::vector<std::string>& words);
// The script of `completion SHELL`; nothing for an unknown one.
std::optional<std::string> completion_script(const std::string& shell);
// Fills the call; nothing when it can run, else the exit status (help was printed, or an error).
std::optional<int> parse_call(const Verb& verb, const std::vector<std::string>& arguments, Call& call);
// The exit status for an error.
inspect::Status status_of(const Error& error);
// Prints the text on standard output; false: nobody reads it any more.
bool print(const std::string& text);
// Prints a line on standard error; returns the status.
int complain(const std::string& message, inspect::Status status);
// Prints the answer and, on standard error, its notes; returns its status. Nothing: standard output is closed.
std::optional<int> show(const inspect::Answer& answer, const Call& call, inspect::Format format);
// Asks again until a signal ends it (with the status of the shown answer), or until asking fails.
int watch(const Verb& verb, const Call& call, inspect::Format format);

}  // namespace dra::kubectl
