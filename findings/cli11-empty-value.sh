#!/usr/bin/env bash
# CLI11 takes --name= for an option without its value; programs of Kubernetes (pflag) take it for the empty string, and manifests write it (--taint-key=).
. "$(dirname "$0")/common.sh"
guess '--name= sets the option to the empty string'
debian_packages libcli11-dev=2.1.2+ds-1
cat > run.cc <<'CC'
#include <CLI/CLI.hpp>
#include <iostream>
int main() {
  for (std::vector<std::string> arguments : {std::vector<std::string>{"--name="}, {"--name", ""}, {"--name=a"}}) {
    CLI::App app;
    std::string name = "unset";
    app.add_option("--name", name);
    std::cout << arguments[0] << (arguments.size() > 1 ? " ''" : "") << " -> ";
    try {
      app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
      std::cout << "'" << name << "'\n";
    } catch (const CLI::ParseError& error) {
      std::cout << error.get_name() << ": " << error.what() << "\n";
    }
  }
}
CC
compile run.cc
./program | seen 'an empty value' "--name= -> ArgumentMismatch: --name: 1 required TEXT missing
--name '' -> ''
--name=a -> 'a'"
