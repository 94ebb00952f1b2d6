// The texts that metav1.Time and metav1.MicroTime accept: what Go's time.Parse() takes for their layouts. That is
// neither more nor less than RFC 3339: an hour of one digit and a comma before the fraction are accepted, "t", "z" and
// second 60 are not, and a MicroTime needs six digits of a fraction. Source: Go's time/format.go. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pkg/base/timestamp.h"

namespace dra::apiserver {

enum class TimeLayout { kSeconds, kMicros };

// On failure `error` has Go's text: `parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"`.
std::optional<Timestamp> parse_go_time(std::string_view text, TimeLayout layout, std::string& error);

// time.Time{}, 0001-01-01T00:00:00Z, which the API prints as null. A metav1.Time is stored without its fraction.
bool is_go_zero(Timestamp time, bool micros);

}  // namespace dra::apiserver
