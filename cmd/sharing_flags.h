// The flags that say what drivers refuse of shared devices: the same in every program that decides
// (docs/user/sharing.md). Each may be given several times; a wrong value ends parsing with the flag, the value and what
// to write.
#pragma once

#include <CLI/CLI.hpp>

#include "pkg/sharing/rules.h"

namespace dra::cmd {

// Adds to `rules`, which must outlive the parsing.
void add_sharing_flags(CLI::App& app, sharing::Rules& rules);

}  // namespace dra::cmd
