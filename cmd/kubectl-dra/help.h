// Help of a verb: the flags that act on it. Those of every verb, about the cluster and its rules, have a page of their
// own, as with kubectl: `kubectl dra options`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cmd/kubectl-dra/verb.h"

namespace dra::kubectl {

// call.cc.
void add_flags_of_all_verbs(CLI::App& app, CommonFlags& common);
// Those of how an answer is printed, which verbs without a cluster have, too.
// `output`: where --output goes; `of_output`: its help, if it is not the form of the answer.
void add_flags_of_answers(CLI::App& app, CommonFlags& common, std::string& output, const std::string& of_output = "");
// How the verb is written and what it takes, wrapped at `width` (0: 80 columns); `app` is not used for parsing
// afterwards.
std::string verb_help(CLI::App& app, const Verb& verb, size_t width);
// The page of `kubectl dra options`.
std::string options_help(size_t width);
// The help of `completion`.
std::string completion_help();

}  // namespace dra::kubectl
