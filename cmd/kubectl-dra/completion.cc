// Shell completion, and kubectl's: a program kubectl_complete-dra that prints candidates and a directive.
//
// Names of objects are read from the cluster that the flags among the words choose: only lists of the kinds that
// can follow, and with a timeout short enough for a key press (Call::load_kinds()). If that fails, nothing is
// offered.
#include <algorithm>
#include <cstdio>
#include <set>

#include "cmd/kubectl-dra/help.h"
#include "cmd/kubectl-dra/verb.h"
#include "pkg/base/strings.h"

namespace dra::kubectl {
namespace {

constexpr const char* kNoFiles = ":4\n";  // cobra's ShellCompDirectiveNoFileComp
constexpr const char* kFiles = ":0\n";

using Words = std::vector<std::string>;

// Prints the candidates that begin with what was typed.
class Offers {
 public:
  // "--flag=va" offers "--flag=value".
  Offers(std::string before, std::string typed) : before_(std::move(before)), typed_(std::move(typed)) {}
  void operator()(const std::string& word) const {
    if (word.starts_with(typed_)) std::printf("%s%s\n", before_.c_str(), word.c_str());
  }
  const std::string& typed() const { return typed_; }

 private:
  std::string before_, typed_;
};

// bash cuts words at '=': "--from", "=", "x" is one flag with its value.
Words joined_at_equals(const Words& words) {
  Words joined;
  for (size_t i = 0; i < words.size(); ++i) {
    const bool value_follows = words[i] == "=" && !joined.empty() && joined.back().starts_with("-") && i > 0;
    if (!value_follows) {
      joined.push_back(words[i]);
      continue;
    }
    joined.back() += "=";
    if (i + 1 < words.size()) joined.back() += words[++i];
  }
  return joined;
}

struct CommonFlag {
  Words names;  // "-n", "--namespace"
  bool takes_value = true;
};

// The flags of all verbs, as the command line reads them.
const std::vector<CommonFlag>& common_flags() {
  static const std::vector<CommonFlag> kFlags = [] {
    CommonFlags values;
    CLI::App app;
    app.set_help_flag();
    add_flags_of_all_verbs(app, values);
    add_flags_of_answers(app, values, values.output);
    std::vector<CommonFlag> flags;
    for (const CLI::Option* option : app.get_options()) {
      CommonFlag& flag = flags.emplace_back();
      for (const std::string& name : option->get_snames()) flag.names.push_back("-" + name);
      for (const std::string& name : option->get_lnames()) flag.names.push_back("--" + name);
      flag.takes_value = option->get_items_expected_max() > 0;
    }
    return flags;
  }();
  return kFlags;
}

bool takes_value(const Verb& verb, const std::string& flag) {
  for (const CommonFlag& common : common_flags())
    if (std::find(common.names.begin(), common.names.end(), flag) != common.names.end()) return common.takes_value;
  return std::any_of(verb.flags.begin(), verb.flags.end(), [&](const Flag& one) {
    const Words names = split(one.names, ',');
    return one.takes_value && std::find(names.begin(), names.end(), flag) != names.end();
  });
}

// The words before the one to complete, split into the flags that choose the cluster and the others.
struct Line {
  Call call;
  Words words;
};

Line line_of(const Verb& verb, const Words& given) {
  Line line;
  CommonFlags& common = line.call.common;
  const std::map<std::string, std::string*> known{{"-n", &common.ns},
                                                  {"--namespace", &common.ns},
                                                  {"--context", &common.context},
                                                  {"--cluster", &common.cluster},
                                                  {"--user", &common.user},
                                                  {"--token", &common.token},
                                                  {"--from", &common.from},
                                                  {"--kubeconfig", &common.kubeconfig},
                                                  {"-s", &common.server},
                                                  {"--server", &common.server}};
  for (size_t i = 1; i < given.size(); ++i) {
    const std::string& word = given[i];
    if (!word.starts_with("-")) {
      line.words.push_back(word);
      continue;
    }
    const size_t equals = word.find('=');
    const std::string flag = word.substr(0, equals);
    std::string value;
    if (equals != std::string::npos)
      value = word.substr(equals + 1);
    else if (takes_value(verb, flag) && i + 1 < given.size())
      value = given[++i];
    if (const auto found = known.find(flag); found != known.end()) *found->second = value;
  }
  return line;
}

// Pods, claims and the workloads that own pods, of the namespace.
void offer_objects(Call& call, const std::set<std::string>& kinds, const Offers& offer) {
  const auto wants = [&](const char* kind) { return kinds.contains(kind); };
  Words read;
  if (wants("@pods") || wants("@workloads")) read.push_back("pods");
  if (wants("@claims")) read.push_back("resourceclaims");
  if (wants("@nodes")) read.push_back("nodes");
  if (wants("@devices")) read.push_back("resourceslices");
  if (wants("@namespaces")) read.push_back("namespaces");
  if (wants("@classes")) read.push_back("deviceclasses");
  if (read.empty()) return;
  const auto loaded = call.load_kinds(read);
  if (!loaded) return;
  const inspect::Objects& objects = **loaded;
  const std::string ns = call.ns();
  std::set<std::string> found;
  for (const auto& [name, node] : objects.nodes) found.insert(name);
  for (const auto& [name, one] : objects.namespaces) found.insert(name);
  // Of a rule "CLASS+CLASS" the last class is completed.
  const size_t plus = offer.typed().rfind('+');
  for (const auto& [name, one] : objects.classes)
    found.insert((plus == std::string::npos ? "" : offer.typed().substr(0, plus + 1)) + name);
  if (wants("@devices"))
    for (const auto& [name, slice] : objects.slices)
      for (const api::Device& device : slice->devices)
        if (!slice->node_name.empty()) found.insert(slice->node_name + "/" + device.name);
  if (wants("@claims"))
    for (const auto& [key, claim] : objects.claims)
      if (claim->metadata.ns == ns) found.insert("claim/" + claim->metadata.name);
  for (const auto& [key, pod] : objects.pods) {
    if (pod->metadata.ns != ns) continue;
    if (wants("@pods")) found.insert("pod/" + pod->metadata.name);
    const api::OwnerReference* owner = pod->metadata.controller();
    if (owner == nullptr || !wants("@workloads")) continue;
    if (owner->kind == "ReplicaSet") found.insert("deployment/" + owner->name.substr(0, owner->name.rfind('-')));
    if (owner->kind == "StatefulSet" || owner->kind == "Job" || owner->kind == "DaemonSet")
      found.insert(to_lower(owner->kind) + "/" + owner->name);
  }
  for (const std::string& name : found) offer(name);
}

void offer_flags(const Verb& verb, const Offers& offer) {
  for (const Flag& flag : verb.flags)
    for (const std::string& name : split(flag.names, ','))
      if (name.starts_with("--")) offer(name);
  offer("--help");
  static const std::set<std::string, std::less<>> kOfAnswers{"--output", "--sort-by", "--no-headers"};
  for (const CommonFlag& flag : common_flags())
    for (const std::string& name : flag.names) {
      if (!name.starts_with("--") || (!verb.needs_cluster && !kOfAnswers.contains(name))) continue;
      if (name != "--watch" || verb.can_watch) offer(name);
    }
}

// Offers values of a flag; true: file names are offered.
bool offer_value(const Verb& verb, const std::string& flag, Call& call, const Offers& offer) {
  if (flag == "-f" || flag == "--filename" || flag == "--from" || flag == "--kubeconfig") return true;
  if (verb.output_is_file && (flag == "-o" || flag == "--output")) return true;
  if (flag == "-o" || flag == "--output")
    for (const char* name : {"table", "wide", "json", "yaml", "name"}) offer(name);
  if (flag == "-n" || flag == "--namespace") offer_objects(call, {"@namespaces"}, offer);
  if (flag == "--node") offer_objects(call, {"@nodes"}, offer);
  if (flag == "--kubernetes-version")
    for (const char* name : {"1.36", "1.37"}) offer(name);
  for (const Flag& one : verb.flags)
    for (const std::string& name : split(one.names, ','))
      if (name == flag)
        for (const std::string& choice : one.choices) offer(choice);
  return false;
}

// Offers what can be the next word; `before`: the words of the verb so far. True: file names are offered.
bool offer_word(const Verb& verb, const Words& before, Call& call, const Offers& offer) {
  if (verb.name == "snapshot") return true;
  std::set<std::string> kinds;
  if (verb.name == "whatif" && !before.empty()) {
    const std::string& what = before[0];
    const bool like = what == "add-node" && before.size() == 1;
    if (like) offer("like");
    if (before.size() > (what == "add-node" && before[1] == "like" ? 2u : 1u)) return false;
    if (what == "drain" || what == "cordon" || what == "add-node") kinds = {"@nodes"};
    if (what == "taint") kinds = {"@nodes", "@devices"};
    if (what == "scale") kinds = {"@workloads"};
    if (what == "preempt") kinds = {"@pods"};
    if (what == "delete") kinds = {"@pods", "@claims", "@workloads"};
  } else if (verb.name == "top" && before.size() == 1 && before[0] == "pairs") {
    kinds = {"@classes"};
  } else if (before.empty()) {
    for (const std::string& one : verb.completes) {
      if (one.starts_with("@"))
        kinds.insert(one);
      else
        offer(one);
    }
  }
  // A node may have hundreds of devices: they are offered only after the node's name.
  if (kinds.contains("@devices") && offer.typed().find('/') == std::string::npos) kinds.erase("@devices");
  if (kinds.contains("@devices")) kinds.erase("@nodes");
  offer_objects(call, kinds, offer);
  return false;
}

constexpr const char* kBash =
    R"SH(# bash completion for kubectl-dra; for `kubectl dra` kubectl asks kubectl_complete-dra.
_kubectl_dra() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :0) compopt -o default ;;
      :*) ;;
      *) COMPREPLY+=("$line") ;;
    esac
  done < <(kubectl-dra __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _kubectl_dra kubectl-dra
)SH";
constexpr const char* kZsh = R"SH(#compdef kubectl-dra
# zsh completion for kubectl-dra: as a file _kubectl-dra in a folder of fpath, or by source <(kubectl-dra completion zsh).
_kubectl_dra() {
  local -a found
  found=("${(@f)$(kubectl-dra __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  local directive=$found[-1]
  found[-1]=()
  if [[ $directive == :0 ]]; then
    _files
  else
    compadd -a found
  fi
}
if [[ $funcstack[1] == _kubectl-dra ]]; then
  _kubectl_dra
else
  compdef _kubectl_dra kubectl-dra
fi
)SH";
constexpr const char* kFish = R"SH(# fish completion for kubectl-dra
function __kubectl_dra_complete
  set -l words (commandline -opc)
  set -l found (kubectl-dra __complete $words[2..-1] (commandline -ct) 2>/dev/null)
  if test "$found[-1]" = :0
    __fish_complete_path (commandline -ct)
  else
    string match -v -- ':*' $found
  end
end
complete -c kubectl-dra -f -a '(__kubectl_dra_complete)'
)SH";

}  // namespace

int complete(const std::vector<std::string>& given) {
  const std::string last = given.empty() ? "" : given.back();
  if (given.size() <= 1) {
    const Offers offer("", last);
    for (const Verb& verb : verbs()) offer(verb.name);
    for (const char* name : {"completion", "help", "options"}) offer(name);
    std::printf("%s", kNoFiles);
    return 0;
  }
  if (given[0] == "completion" && given.size() == 2)
    for (const char* shell : {"bash", "zsh", "fish"}) Offers("", last)(shell);
  for (const Verb& verb : verbs()) {
    if (verb.name != given[0]) continue;
    Words words = joined_at_equals(given);
    // What bash cut off is there already and is not offered again.
    const bool cut =
        words.size() < given.size() && words.back() != last && words.back().ends_with(last == "=" ? "" : last);
    const std::string typed = words.back();
    words.pop_back();
    Line line = line_of(verb, words);
    const size_t equals = typed.starts_with("-") ? typed.find('=') : std::string::npos;
    bool files = false;
    if (equals != std::string::npos)
      files = offer_value(verb, typed.substr(0, equals), line.call,
                          Offers(cut ? "" : typed.substr(0, equals + 1), typed.substr(equals + 1)));
    else if (words.back().starts_with("-") && takes_value(verb, words.back()))
      files = offer_value(verb, words.back(), line.call, Offers("", typed));
    else if (typed.starts_with("-"))
      offer_flags(verb, Offers("", typed));
    else
      files = offer_word(verb, line.words, line.call, Offers("", typed));
    std::printf("%s", files ? kFiles : kNoFiles);
    return 0;
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
