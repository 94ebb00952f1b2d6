// Logging to standard error in the two formats of Kubernetes components:
//
//   text  I1121 08:16:55.482069   14995 log.cc:411] "Message" pod="ns/name" err="..."
//   json  {"ts":1795249962777.6067,"caller":"log/log.cc:211","msg":"Starting","v":0,"pod":{"name":..}}
//
// Levels are klog's: 0 always, 1 flags, 2 operation, 3 informers, 4 debugging, 5 one line per decision, 6 requests, 8
// bodies. Warnings and errors are always written. A message is a constant text; variable parts go into fields.
//
// Safe from any thread. Never log credentials: fields are written verbatim.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "pkg/base/clock.h"
#include "pkg/base/error.h"

namespace dra::log {

// A reference to an object: "namespace/name" in text, {"name":..,"namespace":..} in JSON.
struct ObjectRef {
  std::string_view ns;
  std::string_view name;
};

// The value of a field. It may refer to texts that live until the call returns.
class Value {
 public:
  using Data = std::variant<std::string_view, std::string, int64_t, uint64_t, double, bool, ObjectRef, Duration>;
  Value(const char* v) : data_(std::string_view(v)) {}
  Value(std::string_view v) : data_(v) {}
  Value(const std::string& v) : data_(std::string_view(v)) {}
  Value(std::string&& v) : data_(std::move(v)) {}
  Value(bool v) : data_(v) {}
  Value(double v) : data_(v) {}
  Value(ObjectRef v) : data_(v) {}
  Value(const Error& v) : data_(to_string(v)) {}
  template <class Rep, class Period>
  Value(std::chrono::duration<Rep, Period> v) : data_(std::chrono::duration_cast<Duration>(v)) {}
  template <class T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int> = 0>
  Value(T v) : data_(widen(v)) {}

  const Data& data() const { return data_; }

 private:
  template <class T>
  static Data widen(T v) {
    if constexpr (std::is_signed_v<T>) {
      return static_cast<int64_t>(v);
    } else {
      return static_cast<uint64_t>(v);
    }
  }
  Data data_;
};

struct Field {
  std::string_view key;
  Value value;
};
using Fields = std::initializer_list<Field>;

// Where a line was written; filled in by default arguments.
struct Location {
  const char* file;
  int line;
  static constexpr Location current(const char* f = __builtin_FILE(), int l = __builtin_LINE()) { return {f, l}; }
};

enum class Severity { kInfo, kWarning, kError };
enum class Format { kText, kJson };

struct Options {
  Format format = Format::kText;
  int verbosity = 2;
  // Receives each line, with its newline; empty means standard error. Called under the log's lock.
  std::function<void(std::string_view)> sink;
  // The time for log lines; null means the system clock. Must stay alive while in use.
  const Clock* clock = nullptr;
};

// Replaces all options at once. Before the first call the defaults of Options apply.
void configure(Options options);
// Changes the verbosity alone (0 to 10).
void set_verbosity(int level);
int verbosity();
// True if lines of this level are written; use it to avoid building expensive fields.
bool enabled(int level);
// Flushes any buffer.
void flush();

// "info": level 0. v(level): only when enabled(level).
void info(std::string_view message, Fields fields = {}, Location where = Location::current());
void v(int level, std::string_view message, Fields fields = {}, Location where = Location::current());
void warning(std::string_view message, Fields fields = {}, Location where = Location::current());
// Errors carry the cause in the field "err", last.
void error(std::string_view message, Fields fields = {}, Location where = Location::current());
void error(const Error& cause, std::string_view message, Fields fields = {}, Location where = Location::current());

// The line without the newline, as configure()'s format would write it; pure, for tests and other sinks.
std::string format_line(Format format, Severity severity, int level, WallTime now, int pid, Location where,
                        std::string_view message, Fields fields, const std::string* err);

}  // namespace dra::log
