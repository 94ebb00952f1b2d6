#include "pkg/apiserver/codec/go_time.h"

#include <cstdio>

namespace dra::apiserver {

namespace {

constexpr const char* kSecondsLayout = "2006-01-02T15:04:05Z07:00";
constexpr const char* kMicrosLayout = "2006-01-02T15:04:05.000000Z07:00";

bool digit_at(std::string_view text, size_t at) {
  return at < text.size() && text[at] >= '0' && text[at] <= '9';
}

// time.quote()
std::string time_quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    char escaped[8];
    if (byte >= 0x80 || byte < 0x20) {
      std::snprintf(escaped, sizeof escaped, "\\x%02x", byte);
      out += escaped;
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

// One call of time.Parse(). Every step returns false once the text is refused.
class GoTimeReader {
 public:
  GoTimeReader(std::string_view text, TimeLayout layout) : all_(text), rest_(text), layout_(layout) {}

  std::optional<Timestamp> read() {
    const bool micros = layout_ == TimeLayout::kMicros;
    if (!year() || !literal("-") || !month() || !literal("-") || !number("02", true, day_) || !literal("T") ||
        !ranged("15", false, hour_, 23, "hour") || !literal(":") || !ranged("04", true, minute_, 59, "minute") ||
        !literal(":") || !ranged("05", true, second_, 59, "second") || !(micros ? six_digits() : any_fraction()) ||
        !offset())
      return std::nullopt;
    if (!rest_.empty()) return refuse(": extra text: " + time_quote(rest_)), std::nullopt;
    if (day_ < 1 || day_ > days_of_month(year_, month_)) return refuse(": day out of range"), std::nullopt;
    const int64_t days = days_since_epoch(year_, month_, day_);
    return Timestamp::at(days * 86'400 + hour_ * 3600 + minute_ * 60 + second_ - offset_, nanos_);
  }

  const std::string& error() const { return error_; }

 private:
  bool refuse(const std::string& why) {
    error_ = "parsing time " + time_quote(all_) + why;
    return false;
  }

  bool cannot_parse(std::string_view value, std::string_view element) {
    return refuse(" as " + time_quote(layout_ == TimeLayout::kMicros ? kMicrosLayout : kSecondsLayout) +
                  ": cannot parse " + time_quote(value) + " as " + time_quote(element));
  }

  bool literal(std::string_view expected) {
    if (!rest_.starts_with(expected)) return cannot_parse(rest_, expected);
    rest_.remove_prefix(expected.size());
    return true;
  }

  // Two digits; one if `fixed` is false and no second follows.
  bool number(std::string_view element, bool fixed, unsigned& out) {
    if (!digit_at(rest_, 0) || (fixed && !digit_at(rest_, 1))) return cannot_parse(rest_, element);
    out = static_cast<unsigned>(rest_[0] - '0');
    const bool two = digit_at(rest_, 1);
    if (two) out = out * 10 + static_cast<unsigned>(rest_[1] - '0');
    rest_.remove_prefix(two ? 2 : 1);
    return true;
  }

  bool ranged(std::string_view element, bool fixed, unsigned& out, unsigned most, const char* name) {
    if (!number(element, fixed, out)) return false;
    return out <= most || refuse(std::string(": ") + name + " out of range");
  }

  bool year() {
    for (size_t i = 0; i < 4; ++i)
      if (!digit_at(rest_, i)) return cannot_parse(rest_, "2006");
    for (size_t i = 0; i < 4; ++i) year_ = year_ * 10 + (rest_[i] - '0');
    rest_.remove_prefix(4);
    return true;
  }

  bool month() {
    if (!number("01", true, month_)) return false;
    return (month_ >= 1 && month_ <= 12) || refuse(": month out of range");
  }

  // Digits after the ninth are dropped.
  void take_fraction(size_t digits) {
    for (size_t i = 1; i <= 9; ++i) nanos_ = nanos_ * 10 + (i <= digits ? rest_[i] - '0' : 0);
    rest_.remove_prefix(digits + 1);
  }

  bool at_fraction() const { return rest_.starts_with('.') || rest_.starts_with(','); }

  bool any_fraction() {
    if (!at_fraction() || !digit_at(rest_, 1)) return true;
    size_t digits = 1;
    while (digit_at(rest_, digits + 1)) ++digits;
    take_fraction(digits);
    return true;
  }

  bool six_digits() {
    bool fits = at_fraction();
    for (size_t i = 1; i <= 6; ++i) fits = fits && digit_at(rest_, i);
    if (!fits) return cannot_parse(rest_, ".000000");
    take_fraction(6);
    return true;
  }

  bool offset() {
    constexpr const char* kElement = "Z07:00";
    if (rest_.starts_with('Z')) {
      rest_.remove_prefix(1);
      return true;
    }
    const bool formed = rest_.size() >= 6 && rest_[3] == ':' && digit_at(rest_, 1) && digit_at(rest_, 2) &&
                        digit_at(rest_, 4) && digit_at(rest_, 5);
    if (!formed) return cannot_parse(rest_, kElement);
    const int hours = (rest_[1] - '0') * 10 + (rest_[2] - '0'), minutes = (rest_[4] - '0') * 10 + (rest_[5] - '0');
    if (minutes > 60) return refuse(": time zone offset minute out of range");
    if (hours > 24) return refuse(": time zone offset hour out of range");
    if (rest_[0] != '+' && rest_[0] != '-') return cannot_parse(rest_, kElement);
    offset_ = (hours * 60 + minutes) * 60;
    if (rest_[0] == '-') offset_ = -offset_;
    rest_.remove_prefix(6);
    return true;
  }

  std::string_view all_, rest_;
  TimeLayout layout_;
  std::string error_;
  int64_t year_ = 0, offset_ = 0;
  unsigned month_ = 0, day_ = 0, hour_ = 0, minute_ = 0, second_ = 0;
  int32_t nanos_ = 0;
};

}  // namespace

std::optional<Timestamp> parse_go_time(std::string_view text, TimeLayout layout, std::string& error) {
  GoTimeReader reader(text, layout);
  const std::optional<Timestamp> time = reader.read();
  if (!time) error = reader.error();
  return time;
}

bool is_go_zero(Timestamp time, bool micros) {
  return time.seconds() == -62'135'596'800 && (!micros || time.nanos() == 0);
}

}  // namespace dra::apiserver
