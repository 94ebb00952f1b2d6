// Timestamp: a time that somebody else wrote, as objects of the API have them. It has the whole range of RFC 3339,
// years 0 to 9999, and what servers make of it: 9999-12-31T23:59:59-01:00 is printed as 10000-01-01T00:59:59Z.
//
// WallTime (clock.h) is what a clock says and counts nanoseconds in 64 bits: it ends in 2262. So nothing that is read
// becomes a WallTime; a WallTime becomes a Timestamp by itself.
//
//   Timestamp created;
//   if (parse_rfc3339(pod.metadata.creation_timestamp, created) && view.now() - created > kLimit) ...
//
// Plain values; nothing here fails or overflows, whatever the values are.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "pkg/base/clock.h"

namespace dra {

class Timestamp {
 public:
  // The largest difference, either way: far more than any time-out, and sums and differences of two such and a
  // time-out stay in the range of Duration.
  static constexpr Duration kFarthest = std::chrono::hours(24 * 365 * 140);

  constexpr Timestamp() = default;  // 1970-01-01T00:00:00Z
  Timestamp(WallTime time);         // NOLINT(google-explicit-constructor): the same instant
  // Seconds since 1970 and nanoseconds (0 to 999,999,999) after them.
  static constexpr Timestamp at(int64_t seconds, int32_t nanos = 0) { return {seconds, nanos}; }

  constexpr int64_t seconds() const { return seconds_; }
  constexpr int32_t nanos() const { return nanos_; }
  constexpr auto operator<=>(const Timestamp&) const = default;

  // Stops at the ends of 64-bit seconds.
  Timestamp plus_seconds(int64_t seconds) const;
  friend Timestamp operator+(Timestamp time, Duration delay);
  // Stops at kFarthest.
  friend Duration operator-(Timestamp end, Timestamp begin);

 private:
  constexpr Timestamp(int64_t seconds, int32_t nanos) : seconds_(seconds), nanos_(nanos) {}

  int64_t seconds_ = 0;
  int32_t nanos_ = 0;
};

// From begin to end in whole seconds, rounded towards zero; at most 9,223,372,036 (292 years) either way, like a
// Duration in Go. For texts such as "3d4h".
int64_t seconds_between(Timestamp begin, Timestamp end);

// metav1.Time: "2026-11-21T10:00:00Z", to the second. Years outside 0 to 9999 have more digits or a sign.
std::string format_rfc3339(Timestamp time);
// metav1.MicroTime: "2026-11-21T10:00:00.000000Z".
std::string format_rfc3339_micro(Timestamp time);
// Accepts RFC 3339 with an optional fraction (digits after the ninth are dropped) and an offset, and what
// format_rfc3339() prints; returns false for any other text.
bool parse_rfc3339(std::string_view text, Timestamp& out);

// Days since 1970-01-01 in the proleptic Gregorian calendar. The month is 1 to 12; the day is not checked.
int64_t days_since_epoch(int64_t year, unsigned month, unsigned day);
// 28 to 31; 0 if there is no such month.
unsigned days_of_month(int64_t year, unsigned month);

}  // namespace dra
