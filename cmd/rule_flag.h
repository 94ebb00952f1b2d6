// A flag that may be given several times, each value of which adds to a set of rules.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dra::cmd {

// `add` answers what is wrong with a value; then parsing ends with it. `rules` must outlive the parsing.
template <class Rules>
void add_rule_flag(CLI::App& app, const char* name, Rules& rules,
                   std::optional<std::string> (Rules::*add)(std::string_view), const char* help) {
  const auto wrong = [add](const std::string& given) {
    Rules scratch;
    return (scratch.*add)(given).value_or("");
  };
  const auto put = [&rules, add](const std::vector<std::string>& given) {
    for (const std::string& one : given) (rules.*add)(one);
  };
  app.add_option_function<std::vector<std::string>>(name, put, help)
      ->allow_extra_args(false)
      ->check(CLI::Validator(wrong, ""));
}

}  // namespace dra::cmd
