// Kinds of flag values that CLI11 does not have: a word of a fixed set, a duration, a list. Each is checked while it is
// parsed, and an invalid value becomes CLI11's own error ("--strategy: x not in {...}").
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/base/strings.h"

namespace dra::cmd {

// The parts of "a, b,c" without spaces and without empty ones.
inline std::vector<std::string> names(const std::string& list) {
  std::vector<std::string> found;
  for (const std::string& part : split(list, ','))
    if (const std::string name(trim(part)); !name.empty()) found.push_back(name);
  return found;
}

// The default shown is the word for the current value of `out`.
template <class T>
CLI::Option* add_choice(CLI::App& app, const std::string& name, T& out,
                        const std::vector<std::pair<std::string, T>>& choices, const std::string& help) {
  std::vector<std::string> words;
  std::string initial;
  for (const auto& [word, value] : choices) {
    words.push_back(word);
    if (value == out) initial = word;
  }
  const auto set = [&out, choices](const std::string& given) {
    for (const auto& [word, value] : choices)
      if (word == given) out = value;
  };
  return app.add_option_function<std::string>(name, set, help)
      ->default_str(initial)
      ->check(CLI::IsMember(words).description(""));
}

struct DurationFlag {
  std::string initial;  // empty: zero, which means "not set"
  std::string least = "0s", most = "8760h";
};

CLI::Option* add_duration(CLI::App& app, const std::string& name, Duration& out, const DurationFlag& flag,
                          const std::string& help);

// A number from `least` to `most`, both included; NaN is refused.
template <class T>
CLI::Validator in_range(T least, T most) {
  const auto wrong = [least, most](const std::string& given) -> std::string {
    T value{};
    if (CLI::detail::lexical_cast(given, value) && value >= least && value <= most) return "";
    return given + " is not a number from " + CLI::detail::to_string(least) + " to " + CLI::detail::to_string(most);
  };
  return CLI::Validator(wrong, "");
}

inline CLI::Option* add_list(CLI::App& app, const std::string& name, std::vector<std::string>& out,
                             const std::string& help) {
  const auto set = [&out](const std::string& given) { out = names(given); };
  return app.add_option_function<std::string>(name, set, help)->default_str(join(out, ","));
}

}  // namespace dra::cmd
