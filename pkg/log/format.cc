// The two line formats.
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>

#include "pkg/base/utf8.h"
#include "pkg/log/log.h"

namespace dra::log {
namespace {

constexpr size_t kMaxValue = 64 * 1024;  // longer values are cut: a log line must not be the program's biggest buffer

std::string_view base_name(std::string_view path) {
  auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// The last two parts of the path, as in the JSON format.
std::string_view short_path(std::string_view path) {
  auto last = path.rfind('/');
  if (last == std::string_view::npos || last == 0) return path;
  auto before = path.rfind('/', last - 1);
  return before == std::string_view::npos ? path : path.substr(before + 1);
}

// A quoted text valid both as Go's %q (nearly) and as a JSON string: one line, no control characters.
void append_quoted(std::string& out, std::string_view text) {
  bool cut = text.size() > kMaxValue;
  if (cut) text = text.substr(0, kMaxValue);
  out += '"';
  for (size_t i = 0; i < text.size();) {
    char c = text[i];
    size_t n = utf8_length(text, i);
    if (n == 0) {
      out += "\\ufffd";
      ++i;
      continue;
    }
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      char buffer[8];
      std::snprintf(buffer, sizeof buffer, "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
      out += buffer;
    } else {
      out.append(text.substr(i, n));
    }
    i += n;
  }
  if (cut) out += "...";
  out += '"';
}

std::string number(double v) {
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%.10g", v);
  return buffer;
}

// Go's Duration.String for the range that occurs in logs: "1.5s", "20ms", "2m5s".
std::string duration_text(Duration d) {
  int64_t ns = d.count();
  std::string sign = ns < 0 ? "-" : "";
  double a = std::fabs(static_cast<double>(ns));
  if (a == 0) return "0s";
  if (a < 1e3) return sign + number(a) + "ns";
  if (a < 1e6) return sign + number(a / 1e3) + "us";
  if (a < 1e9) return sign + number(a / 1e6) + "ms";
  if (a < 60e9) return sign + number(a / 1e9) + "s";
  auto total = static_cast<int64_t>(a / 1e9);
  double rest = a / 1e9 - static_cast<double>(total / 60 * 60);
  std::string out = sign;
  if (total >= 3600) out += std::to_string(total / 3600) + "h";
  out += std::to_string(total / 60 % 60) + "m";
  return out + number(rest) + "s";
}

struct TextValue {
  std::string& out;
  void operator()(std::string_view v) const { append_quoted(out, v); }
  void operator()(const std::string& v) const { append_quoted(out, v); }
  void operator()(int64_t v) const { out += std::to_string(v); }
  void operator()(uint64_t v) const { out += std::to_string(v); }
  void operator()(double v) const { out += number(v); }
  void operator()(bool v) const { out += v ? "true" : "false"; }
  void operator()(ObjectRef v) const {
    append_quoted(out, v.ns.empty() ? std::string(v.name) : std::string(v.ns) + "/" + std::string(v.name));
  }
  void operator()(Duration v) const { append_quoted(out, duration_text(v)); }
};

struct JsonValue {
  std::string& out;
  void operator()(std::string_view v) const { append_quoted(out, v); }
  void operator()(const std::string& v) const { append_quoted(out, v); }
  void operator()(int64_t v) const { out += std::to_string(v); }
  void operator()(uint64_t v) const { out += std::to_string(v); }
  // JSON has no NaN and no infinities.
  void operator()(double v) const { std::isfinite(v) ? void(out += number(v)) : append_quoted(out, number(v)); }
  void operator()(bool v) const { out += v ? "true" : "false"; }
  void operator()(ObjectRef v) const {
    out += "{\"name\":";
    append_quoted(out, v.name);
    if (!v.ns.empty()) {
      out += ",\"namespace\":";
      append_quoted(out, v.ns);
    }
    out += '}';
  }
  void operator()(Duration v) const { append_quoted(out, duration_text(v)); }
};

std::string text_line(Severity severity, WallTime now, int pid, Location where, std::string_view message, Fields fields,
                      const std::string* err) {
  auto micros = std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count();
  time_t seconds = static_cast<time_t>(micros / 1'000'000);
  std::tm tm{};
  gmtime_r(&seconds, &tm);
  constexpr std::array<char, 3> kLetters{'I', 'W', 'E'};
  char head[80];
  std::snprintf(head, sizeof head, "%c%02d%02d %02d:%02d:%02d.%06d %7d ", kLetters[static_cast<size_t>(severity)],
                tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, static_cast<int>(micros % 1'000'000), pid);
  std::string out = head;
  out += base_name(where.file);
  out += ':' + std::to_string(where.line) + "] ";
  append_quoted(out, message);
  for (const Field& field : fields) {
    out += ' ';
    out += field.key;
    out += '=';
    std::visit(TextValue{out}, field.value.data());
  }
  if (err != nullptr) {
    out += " err=";
    append_quoted(out, *err);
  }
  return out;
}

std::string json_line(Severity severity, int level, WallTime now, Location where, std::string_view message,
                      Fields fields, const std::string* err) {
  auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now.time_since_epoch()).count();
  char stamp[48];
  std::snprintf(stamp, sizeof stamp, "%lld.%04lld", static_cast<long long>(ns / 1'000'000),
                static_cast<long long>(ns % 1'000'000 / 100));
  std::string out = "{\"ts\":";
  out += stamp;
  out += ",\"caller\":";
  append_quoted(out, std::string(short_path(where.file)) + ":" + std::to_string(where.line));
  out += ",\"msg\":";
  append_quoted(out, message);
  // Errors have no level; a field distinguishes a warning from an info.
  if (severity != Severity::kError) out += ",\"v\":" + std::to_string(level);
  if (severity == Severity::kWarning) out += ",\"severity\":\"warning\"";
  for (const Field& field : fields) {
    out += ',';
    append_quoted(out, field.key);
    out += ':';
    std::visit(JsonValue{out}, field.value.data());
  }
  if (err != nullptr) {
    out += ",\"err\":";
    append_quoted(out, *err);
  }
  out += '}';
  return out;
}

}  // namespace

std::string format_line(Format format, Severity severity, int level, WallTime now, int pid, Location where,
                        std::string_view message, Fields fields, const std::string* err) {
  return format == Format::kJson ? json_line(severity, level, now, where, message, fields, err)
                                 : text_line(severity, now, pid, where, message, fields, err);
}

}  // namespace dra::log
