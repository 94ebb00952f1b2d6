#include "pkg/sandbox/run_time.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

namespace dra::sandbox {
namespace {

constexpr double kLongest = 10.0 * 365 * 24 * 3600;

// Words of a shell line, split at blanks, quotes and command separators.
std::vector<std::string> words_of(std::string_view text) {
  std::string plain(text);
  for (char& c : plain)
    if (std::string_view("\"'`();&|\n\t{},[]").find(c) != std::string_view::npos) c = ' ';
  std::istringstream in(plain);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// Seconds of "5", "0.5", "2m", "1h", "1d"; negative for anything else.
double duration_of(const std::string& word) {
  const size_t digits = word.find_first_not_of("0123456789.");
  const std::string number = word.substr(0, digits);
  if (number.empty() || number.size() > 12 || std::count(number.begin(), number.end(), '.') > 1 || number == ".")
    return -1;
  const std::string unit = digits == std::string::npos ? "s" : word.substr(digits);
  const double factor = unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : unit == "d" ? 86400 : -1;
  return factor < 0 ? -1 : std::stod(number) * factor;
}

std::string command_of(const Json& container) {
  std::string text;
  for (const char* list : {"command", "args"}) {
    const Json parts = container.value(list, Json::array());
    if (!parts.is_array()) continue;
    for (const Json& part : parts)
      if (part.is_string()) text += part.get<std::string>() + " ";
  }
  return text;
}

// Programs that wait for connections.
bool serves(const Json& container) {
  const auto has = [&](const char* key) { return container.contains(key) && !container[key].empty(); };
  return has("ports") || has("livenessProbe") || has("readinessProbe") || has("startupProbe");
}

}  // namespace

std::optional<int64_t> command_seconds(std::string_view command) {
  const std::vector<std::string> words = words_of(command);
  double total = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const std::string next = i + 1 < words.size() ? words[i + 1] : "";
    if (word == "while" && (next == "true" || next == ":" || next == "1")) return std::nullopt;
    if ((word == "tail" || word.ends_with("/tail")) && (next == "-f" || next == "-F")) return std::nullopt;
    if (word != "sleep" && !word.ends_with("/sleep")) continue;
    if (next == "infinity" || next == "inf") return std::nullopt;
    const double seconds = duration_of(next);
    if (seconds > 0) total += seconds;
  }
  return static_cast<int64_t>(std::ceil(std::clamp(total, 1.0, kLongest)));
}

std::optional<int64_t> run_seconds(const Json& pod) {
  int64_t longest = 1;
  for (const Json& container : pod.value("/spec/containers"_json_pointer, Json::array())) {
    const std::string command = command_of(container);
    if (command.empty()) {
      const std::string image = container.value("image", "");
      if (serves(container) || image.find("pause") != std::string::npos) return std::nullopt;
      continue;
    }
    const auto seconds = command_seconds(command);
    if (!seconds) return std::nullopt;
    longest = std::max(longest, *seconds);
  }
  return longest;
}

}  // namespace dra::sandbox
