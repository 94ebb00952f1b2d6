// The flags that say which names are one piece of silicon, and where the device plugin serves it: the same in every
// program that decides (docs/design/identity.md). Each may be given several times; a wrong value ends parsing with the
// flag, the value and what to write.
#pragma once

#include <CLI/CLI.hpp>

#include "pkg/identity/rules.h"

namespace dra::cmd {

// Adds to `rules`, which must outlive the parsing.
void add_identity_flags(CLI::App& app, identity::Rules& rules);

}  // namespace dra::cmd
