// `top -w` at a terminal: a screen with keys (pkg/screen).
#pragma once

#include "cmd/kubectl-dra/verb.h"

namespace dra::kubectl {

// Whether this run of a verb gets a screen: top, as a table, at a terminal; not with flags that are about printed text.
bool has_screen(const Verb& verb, const CommonFlags& common, inspect::Format format);
// Shows it until the user ends it; returns the exit status: that of the first view's answer.
int show_screen(const Call& call, inspect::Format format);

}  // namespace dra::kubectl
