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

#include "client/rest/rest_client.h"
#include "pkg/inspect/answer.h"
#include "pkg/inspect/objects.h"
#include "pkg/inspect/state.h"

namespace dra::kubectl {

// Flags that all verbs have.
struct CommonFlags {
  bool asks_feature_gates = false;  // the verb wants to know those of the server
  std::string kubeconfig, context, server, ns, selector, output, from;
  std::string feature_gates, kubernetes_version, ignore_taints;
  bool all_namespaces = false, watch = false, no_headers = false, times = false;
};

// One run of a verb: its flags, its words, and the cluster when it asks for it.
class Call {
 public:
  CommonFlags common;
  std::vector<std::string> words;             // positional
  std::map<std::string, std::string> values;  // flags of the verb with a value, by name
  std::map<std::string, bool> switches;       // flags of the verb without

  // How long load() took: reading, decoding and, for a state, filling the packages that decide.
  Duration load_time{};
  using OnPage = std::function<Result<void>(std::string_view, std::string_view)>;
  // The cluster, from the server or the snapshot; it lives as long as the call. `on_page` sees pages as a server sends
  // them.
  Result<const inspect::Objects*> load(const OnPage& on_page = nullptr);
  // The cluster in the packages that decide; as load().
  Result<inspect::State*> load_state();
  // One request to the server; taint and untaint alone use it to write.
  using Ask = std::function<Handle(client::RestClient&, client::RestClient::Done)>;
  Result<std::string> request(const Ask& ask);
  // The namespace of -n, or of the context (known once the cluster is loaded), or "default".
  std::string ns() const;
  Result<inspect::StateOptions> state_options() const;
  size_t width() const;  // of the terminal, or 80
  const std::string& value(const std::string& name) { return values[name]; }

 private:
  // Shared because a call is copied for each round of a watch, before it has loaded anything.
  std::shared_ptr<const inspect::Objects> objects_;
  std::shared_ptr<inspect::State> state_;
};

struct Flag {
  std::string names;  // "-f,--filename"
  std::string help;
  bool takes_value = true;
  std::vector<std::string> choices;
};

struct Verb {
  std::string name;
  std::string summary;
  std::string examples;  // lines
  std::string usage;     // "top [nodes|classes|claims|namespaces]"
  std::vector<Flag> flags;
  size_t min_words = 0, max_words = 0;
  // What can stand as a word, for completion: plurals of Objects ("pods"), or words themselves.
  std::vector<std::string> completes;
  Result<inspect::Answer> (*run)(Call&) = nullptr;
  bool needs_cluster = true;  // false: flags about servers are not offered
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
// Fills the call; nothing when it may run, else the exit status (help was printed, or an error).
std::optional<int> parse_call(const Verb& verb, const std::vector<std::string>& arguments, Call& call);
// The status that an error ends the program with.
inspect::Status status_of(const Error& error);

}  // namespace dra::kubectl
