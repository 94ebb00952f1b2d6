#include "cmd/kubectl-dra/help.h"

#include "pkg/inspect/answer/layout.h"

namespace dra::kubectl {
namespace {

// Of the flags of all verbs, those that belong to `kubectl dra options`.
constexpr const char* kGlobal[] = {"--kubeconfig",
                                   "--context",
                                   "--cluster",
                                   "--user",
                                   "--token",
                                   "--insecure-skip-tls-verify",
                                   "--request-timeout",
                                   "--server",
                                   "--manager-namespace",
                                   "--times",
                                   "--feature-gates",
                                   "--kubernetes-version",
                                   "--ignore-taints",
                                   "--strategy",
                                   "--ignore-unknown-fields",
                                   "--no-headers",
                                   "--topology-levels",
                                   "--identity",
                                   "--identity-parent",
                                   "--identity-part",
                                   "--identity-exclusive",
                                   "--identity-annotations",
                                   "--device-plugin",
                                   "--device-plugin-resources",
                                   "--shared-device-requests",
                                   "--shared-device-parameters"};
// Those that most verbs have in their own help.
constexpr const char* kOfVerbs[] = {"--namespace", "--all-namespaces", "--selector", "--from", "--watch"};

// Prints how a verb is written, where CLI11 would print only its flags.
class HelpFormatter : public CLI::Formatter {
 public:
  explicit HelpFormatter(std::string usage) : usage_(std::move(usage)) { column_width(34); }
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: kubectl dra " + usage_ + " [flags]\n";
  }

 private:
  std::string usage_;
};

void hide(CLI::App& app, const char* flag) {
  if (CLI::Option* option = app.get_option_no_throw(flag)) option->group("");
}

std::string page(const CLI::App& app, size_t width) {
  std::string text = inspect::wrapped(app.help(), width == 0 ? 80 : width);
  text.erase(text.find_last_not_of('\n') + 1);
  return text + "\n";
}

}  // namespace

std::string verb_help(CLI::App& app, const Verb& verb, size_t width) {
  app.formatter(std::make_shared<HelpFormatter>(verb.usage));
  for (const char* flag : kGlobal) hide(app, flag);
  if (verb.name != "top" && verb.name != "explain") hide(app, "--selector");
  if (!verb.can_watch) hide(app, "--watch");
  if (verb.needs_cluster) app.footer("The flags of all verbs, about the cluster and its rules: kubectl dra options");
  return page(app, width);
}

std::string options_help(size_t width) {
  CommonFlags common;
  CLI::App app("Flags that every verb about a cluster takes, after the verb.", "kubectl dra");
  app.formatter(std::make_shared<HelpFormatter>("VERB"));
  add_flags_of_all_verbs(app, common);
  app.add_flag("--no-headers", common.no_headers, "tables without their first line");
  for (const char* flag : kOfVerbs) hide(app, flag);
  hide(app, "--help");
  return page(app, width);
}

std::string completion_help() {
  return "The completion script of a shell; kubectl completes `kubectl dra` through the program "
         "kubectl_complete-dra.\n\n"
         "Examples:\n"
         "  source <(kubectl dra completion bash)\n"
         "  kubectl dra completion zsh > \"${fpath[1]}/_kubectl-dra\"\n"
         "  kubectl dra completion fish | source\n\n"
         "Usage: kubectl dra completion bash|zsh|fish\n";
}

}  // namespace dra::kubectl
