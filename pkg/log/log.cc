#include "pkg/log/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>

namespace dra::log {
namespace {

struct LogState {
  std::mutex mutex;
  Options options;
  SystemClock system_clock;
  // Writes whole lines to standard error; format_line() decides their layout, not spdlog's patterns.
  std::shared_ptr<spdlog::logger> standard_error;
};

std::atomic<int> level_in_use{2};

LogState& log_state() {
  // Never destroyed: static destructors may still write lines.
  static LogState* state = [] {
    auto* made = new LogState;
    made->standard_error =
        std::make_shared<spdlog::logger>("stderr", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->standard_error->set_pattern("%v");
    made->standard_error->set_level(spdlog::level::trace);
    made->standard_error->flush_on(spdlog::level::err);
    return made;
  }();
  return *state;
}

void write_line(Severity severity, int level, Location where, std::string_view message, Fields fields,
                const std::string* err) {
  LogState& state = log_state();
  std::lock_guard<std::mutex> lock(state.mutex);
  const Clock& clock = state.options.clock ? *state.options.clock : state.system_clock;
  std::string line = format_line(state.options.format, severity, level, clock.wall_now(), static_cast<int>(getpid()),
                                 where, message, fields, err);
  if (state.options.sink) {
    line += '\n';
    state.options.sink(line);
    return;
  }
  auto as = severity == Severity::kInfo      ? spdlog::level::info
            : severity == Severity::kWarning ? spdlog::level::warn
                                             : spdlog::level::err;
  state.standard_error->log(as, spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace

void configure(Options options) {
  LogState& state = log_state();
  std::lock_guard<std::mutex> lock(state.mutex);
  level_in_use = std::clamp(options.verbosity, 0, 10);
  state.options = std::move(options);
}

void set_verbosity(int level) {
  level_in_use = std::clamp(level, 0, 10);
}

int verbosity() {
  return level_in_use;
}

bool enabled(int level) {
  return level <= level_in_use;
}

void flush() {
  log_state().standard_error->flush();
}

void info(std::string_view message, Fields fields, Location where) {
  write_line(Severity::kInfo, 0, where, message, fields, nullptr);
}

void v(int level, std::string_view message, Fields fields, Location where) {
  if (enabled(level)) write_line(Severity::kInfo, level, where, message, fields, nullptr);
}

void warning(std::string_view message, Fields fields, Location where) {
  write_line(Severity::kWarning, 0, where, message, fields, nullptr);
}

void error(std::string_view message, Fields fields, Location where) {
  write_line(Severity::kError, 0, where, message, fields, nullptr);
}

void error(const Error& cause, std::string_view message, Fields fields, Location where) {
  std::string text = to_string(cause);
  write_line(Severity::kError, 0, where, message, fields, &text);
}

}  // namespace dra::log
