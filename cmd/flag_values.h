// Kinds of flag values that CLI11 does not have, or refuses in its own words: a word of a fixed set, a number in a
// range, a port, a duration, a list. A wrong value ends parsing with one sentence that names the flag, the value and
// what to write: --strategy: "fast" is not one of first-fit, best-fit, pack, spread.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <type_traits>
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

// The arguments as CLI11 wants them: the last one first, and with the values that it would not see: `--name=` is the
// empty value, as in programs of Kubernetes (CLI11 would take the next argument for it), and `-n=value` is `-n value`.
// Throws CLI::ParseError, as parsing does, for a number without a value.
std::vector<std::string> for_parser(const CLI::App& app, const std::vector<std::string>& arguments);

CLI::Validator one_of(std::vector<std::string> words);

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
  return app.add_option_function<std::string>(name, set, help)->default_str(initial)->check(one_of(std::move(words)));
}

struct DurationFlag {
  std::string initial;  // empty: zero, which means "not set"
  std::string least = "0s", most = "8760h";
};

CLI::Option* add_duration(CLI::App& app, const std::string& name, Duration& out, const DurationFlag& flag,
                          const std::string& help);

// A number from `least` to `most`, both included; NaN is refused.
template <class T>
CLI::Validator in_range(T least, T most, const std::string& unit = "number") {
  const auto text = [](T value) {
    if constexpr (std::is_floating_point_v<T>)
      if (value == static_cast<T>(static_cast<int64_t>(value))) return std::to_string(static_cast<int64_t>(value));
    return std::to_string(value);
  };
  const std::string wanted = " is not a " + unit + " from " + text(least) + " to " + text(most);
  const auto wrong = [=](const std::string& given) -> std::string {
    T value{};
    if (CLI::detail::lexical_cast(given, value) && value >= least && value <= most) return "";
    return quote(given) + wanted;
  };
  return CLI::Validator(wrong, "");
}

// A TCP port; `least` is 0 where 0 has a meaning (any free port, or none), and -1 where that has one, too.
CLI::Validator port_from(int least);

inline CLI::Option* add_list(CLI::App& app, const std::string& name, std::vector<std::string>& out,
                             const std::string& help) {
  const auto set = [&out](const std::string& given) { out = names(given); };
  return app.add_option_function<std::string>(name, set, help)->default_str(join(out, ","));
}

}  // namespace dra::cmd
