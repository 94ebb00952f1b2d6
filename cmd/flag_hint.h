// What a misspelt flag most likely means, for the programs' messages.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "pkg/base/closest.h"

namespace dra::cmd {

// "; did you mean --scheduling?" for the first argument that looks like a flag but is not one of the app's; else empty.
inline std::string flag_hint(const CLI::App& app, const std::vector<std::string>& arguments) {
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  for (const std::string& argument : arguments) {
    const std::string name = argument.substr(0, argument.find('='));
    if (!name.starts_with("--") || std::find(known.begin(), known.end(), name) != known.end()) continue;
    const auto meant = closest(name, known);
    return meant ? "; did you mean " + *meant + "?" : "";
  }
  return "";
}

}  // namespace dra::cmd
