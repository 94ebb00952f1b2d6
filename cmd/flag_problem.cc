#include "cmd/flag_problem.h"

#include <algorithm>
#include <optional>
#include <regex>

#include "pkg/base/closest.h"
#include "pkg/base/strings.h"

namespace dra::cmd {
namespace {

std::vector<std::string> known_flags(const CLI::App& app) {
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  return known;
}

// The first argument that looks like a flag and is none of the app's, or the first word that nothing takes.
std::string unexpected(const CLI::App& app, const std::vector<std::string>& arguments) {
  const std::vector<std::string> left = app.remaining();
  const std::vector<std::string> known = known_flags(app);
  for (const std::string& argument : arguments) {
    if (std::find(left.begin(), left.end(), argument) == left.end()) continue;
    const std::string name = argument.substr(0, argument.find('='));
    if (!name.starts_with('-')) return "unexpected word " + quote(argument) + "; everything here is a flag";
    const auto meant = closest(name, known);
    return "unknown flag " + name + (meant ? "; did you mean " + *meant + "?" : "");
  }
  return "something that is not expected: " + quote(join(left, " "));
}

// What the option holds, as "a whole number".
std::string kind_of(const CLI::App& app, const std::string& name) {
  const CLI::Option* option = app.get_option_no_throw(name);
  const std::string type = option == nullptr ? "" : option->get_type_name();
  if (type.starts_with("FLOAT")) return "a number";
  if (type.starts_with("UINT") || type.starts_with("INT")) return "a whole number, or it is too large";
  return "true or false";
}

// The value in "--name=value" or "--name value".
std::string value_of(const std::string& name, const std::vector<std::string>& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].starts_with(name + "=")) return arguments[i].substr(name.size() + 1);
    if (arguments[i] == name && i + 1 < arguments.size()) return arguments[i + 1];
  }
  return "";
}

}  // namespace

// CLI11's errors hold nothing but their text, so the flag is read from it.
std::string flag_problem(const CLI::App& app, const CLI::Error& error, const std::vector<std::string>& arguments) {
  const std::string what = error.what();
  std::smatch part;
  if (what.starts_with("The following argument")) return unexpected(app, arguments);
  if (std::regex_match(what, part, std::regex("Could not convert: (-\\S+) = ([^]*)")))
    return part[1].str() + ": " + quote(part[2].str()) + " is not " + kind_of(app, part[1].str());
  if (std::regex_match(what, part, std::regex("(-\\S+): Should be true/false or a number")))
    return part[1].str() + ": " + quote(value_of(part[1].str(), arguments)) + " is not true or false";
  if (std::regex_match(what, part, std::regex("(-\\S+): \\d+ required .* missing")))
    return part[1].str() + " needs a value";
  if (std::regex_match(what, part, std::regex("(-\\S+): At Most 1 required but received (\\d+)")))
    return part[1].str() + " is given " + part[2].str() + " times; give it once";
  if (std::regex_match(what, part, std::regex("(-\\S+) requires (-\\S+)")))
    return part[1].str() + " needs " + part[2].str() + ", too";
  return what;
}

}  // namespace dra::cmd
