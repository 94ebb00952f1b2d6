#include "cmd/flag_values.h"

#include <algorithm>

#include "pkg/base/go_duration.h"

namespace dra::cmd {

namespace {

bool takes_value(const CLI::App& app, const std::string& name) {
  const CLI::Option* option = app.get_option_no_throw(name);
  return option != nullptr && option->get_items_expected_max() > 0;
}

}  // namespace

std::vector<std::string> for_parser(const CLI::App& app, const std::vector<std::string>& arguments) {
  std::vector<std::string> found;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--") {
      found.insert(found.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end());
      break;
    }
    const size_t equals = word.find('=');
    const bool empty = word.starts_with("--") && equals + 1 == word.size();
    const bool short_name = equals == 2 && word[0] == '-' && word[1] != '-';
    if (equals != std::string::npos && (empty || short_name) && takes_value(app, word.substr(0, equals))) {
      // CLI11 reads an empty number as 0, and nothing as false.
      if (const std::string type = app.get_option(word.substr(0, equals))->get_type_name();
          equals + 1 == word.size() && (type.starts_with("INT") || type.starts_with("UINT") ||
                                        type.starts_with("FLOAT") || type.starts_with("BOOL")))
        throw CLI::ArgumentMismatch::TypedAtLeast(word.substr(0, equals), 1, type);
      found.push_back(word.substr(0, equals));
      found.push_back(word.substr(equals + 1));
    } else {
      found.push_back(word);
    }
  }
  std::reverse(found.begin(), found.end());
  return found;
}

CLI::Validator one_of(std::vector<std::string> words) {
  const auto wrong = [words = std::move(words)](const std::string& given) -> std::string {
    if (std::find(words.begin(), words.end(), given) != words.end()) return "";
    return quote(given) + (words.size() == 1 ? " is not " : " is not one of ") + join(words, ", ");
  };
  return CLI::Validator(wrong, "");
}

CLI::Validator port_from(int least) {
  const std::string wanted = " is not a port (" + std::to_string(least) + " to 65535)";
  const auto wrong = [least, wanted](const std::string& given) -> std::string {
    int port = 0;
    if (CLI::detail::lexical_cast(given, port) && port >= least && port <= 65535) return "";
    return quote(given) + wanted;
  };
  return CLI::Validator(wrong, "");
}

CLI::Option* add_duration(CLI::App& app, const std::string& name, Duration& out, const DurationFlag& flag,
                          const std::string& help) {
  if (!flag.initial.empty()) out = *parse_go_duration(flag.initial);
  const auto wrong = [flag](const std::string& given) -> std::string {
    const auto parsed = parse_go_duration(given);
    if (!parsed) return quote(given) + " is not a duration; write 15s, 500ms or 1m30s";
    if (*parsed >= *parse_go_duration(flag.least) && *parsed <= *parse_go_duration(flag.most)) return "";
    return quote(given) + " is out of range; use " + flag.least + " to " + flag.most;
  };
  const auto set = [&out](const std::string& given) { out = *parse_go_duration(given); };
  return app.add_option_function<std::string>(name, set, help)
      ->default_str(flag.initial)
      ->check(CLI::Validator(wrong, ""));
}

}  // namespace dra::cmd
