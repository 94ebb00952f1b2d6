// Shell completion, and kubectl's: a program kubectl_complete-dra that prints candidates and a directive.
#include <cstdio>

#include "cmd/kubectl-dra/verb.h"
#include "pkg/base/strings.h"

namespace dra::kubectl {
namespace {

constexpr const char* kNoFiles = ":4\n";  // cobra's ShellCompDirectiveNoFileComp
constexpr const char* kFiles = ":0\n";

void offer(const std::string& word, const std::string& typed) {
  if (std::string_view(word).substr(0, typed.size()) == typed) std::printf("%s\n", word.c_str());
}

// The flags among the words that say which cluster is meant.
Call call_of(const std::vector<std::string>& words) {
  Call call;
  const std::map<std::string, std::string*> known{{"-n", &call.common.ns},
                                                  {"--namespace", &call.common.ns},
                                                  {"--context", &call.common.context},
                                                  {"--kubeconfig", &call.common.kubeconfig},
                                                  {"--from", &call.common.from}};
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (const auto flag = known.find(words[i]); flag != known.end()) *flag->second = words[i + 1];
    const size_t equals = words[i].find('=');
    if (equals == std::string::npos) continue;
    if (const auto flag = known.find(words[i].substr(0, equals)); flag != known.end())
      *flag->second = words[i].substr(equals + 1);
  }
  return call;
}

void offer_objects(const Verb& verb, const std::vector<std::string>& words, const std::string& typed) {
  Call call = call_of(words);
  const auto loaded = call.load();
  if (!loaded) return;
  const inspect::Objects* objects = *loaded;
  const std::string ns = call.common.ns.empty() ? "default" : call.common.ns;
  for (const std::string& kind : verb.completes) {
    if (kind == "@nodes")
      for (const auto& [name, node] : objects->nodes) offer(name, typed);
    if (kind == "@pods")
      for (const auto& [key, pod] : objects->pods)
        if (pod->metadata.ns == ns) offer("pod/" + pod->metadata.name, typed);
    if (kind == "@claims")
      for (const auto& [key, claim] : objects->claims)
        if (claim->metadata.ns == ns) offer("claim/" + claim->metadata.name, typed);
  }
}

void offer_flags(const Verb& verb, const std::string& typed) {
  for (const Flag& flag : verb.flags)
    for (const std::string& name : split(flag.names, ','))
      if (name.starts_with("--")) offer(name, typed);
  for (const char* name : {"--output", "--no-headers", "--help"}) offer(name, typed);
  if (verb.needs_cluster)
    for (const char* name : {"--namespace", "--all-namespaces", "--selector", "--from", "--kubeconfig", "--context",
                             "--watch", "--feature-gates", "--kubernetes-version", "--ignore-taints"})
      offer(name, typed);
}

constexpr const char* kBash =
    R"SH(# bash completion for kubectl-dra; for `kubectl dra` kubectl asks kubectl_complete-dra.
_kubectl_dra() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    [[ $line == :* ]] || COMPREPLY+=("$line")
  done < <(kubectl-dra __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _kubectl_dra kubectl-dra
)SH";
constexpr const char* kZsh = R"SH(#compdef kubectl-dra
_kubectl_dra() {
  local -a found
  found=(${(f)"$(kubectl-dra __complete "${words[@]:1:$((CURRENT-1))}" 2>/dev/null | grep -v '^:')"})
  compadd -a found || _files
}
compdef _kubectl_dra kubectl-dra
)SH";
constexpr const char* kFish = R"SH(# fish completion for kubectl-dra
complete -c kubectl-dra -a '(kubectl-dra __complete (commandline -opc)[2..] (commandline -ct) 2>/dev/null | string match -v ":*")'
)SH";

}  // namespace

int complete(const std::vector<std::string>& words) {
  const std::string typed = words.empty() ? "" : words.back();
  if (words.size() <= 1) {
    for (const Verb& verb : verbs()) offer(verb.name, typed);
    for (const char* name : {"completion", "version"}) offer(name, typed);
    std::printf("%s", kNoFiles);
    return 0;
  }
  for (const Verb& verb : verbs()) {
    if (verb.name != words[0]) continue;
    const std::string& before = words[words.size() - 2];
    if (before == "-f" || before == "--filename" || before == "--from" || before == "--kubeconfig" ||
        verb.name == "snapshot") {
      std::printf("%s", kFiles);
      return 0;
    }
    if (before == "-o" || before == "--output") {
      for (const char* name : {"table", "wide", "json", "yaml", "name"}) offer(name, typed);
    } else if (typed.starts_with("-")) {
      offer_flags(verb, typed);
    } else {
      bool objects = false;
      for (const std::string& one : verb.completes) {
        if (one.starts_with("@"))
          objects = true;
        else
          offer(one, typed);
      }
      if (objects) offer_objects(verb, words, typed);
    }
  }
  std::printf("%s", kNoFiles);
  return 0;
}

std::optional<std::string> completion_script(const std::string& shell) {
  if (shell == "bash") return kBash;
  if (shell == "zsh") return kZsh;
  if (shell == "fish") return kFish;
  return std::nullopt;
}

}  // namespace dra::kubectl
