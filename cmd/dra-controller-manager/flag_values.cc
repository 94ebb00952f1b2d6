#include "cmd/dra-controller-manager/flag_values.h"

#include "pkg/base/go_duration.h"

namespace dra::cmd {

CLI::Option* add_duration(CLI::App& app, const std::string& name, Duration& out, const DurationFlag& flag,
                          const std::string& help) {
  if (!flag.initial.empty()) out = *parse_go_duration(flag.initial);
  const auto wrong = [flag](const std::string& given) -> std::string {
    const auto parsed = parse_go_duration(given);
    if (!parsed) return given + " is not a duration; write 15s, 500ms or 1m30s";
    if (*parsed >= *parse_go_duration(flag.least) && *parsed <= *parse_go_duration(flag.most)) return "";
    return given + " is out of range; use " + flag.least + " to " + flag.most;
  };
  const auto set = [&out](const std::string& given) { out = *parse_go_duration(given); };
  return app.add_option_function<std::string>(name, set, help)
      ->default_str(flag.initial)
      ->check(CLI::Validator(wrong, ""));
}

}  // namespace dra::cmd
