#!/usr/bin/env bash
# cctz::parse with the format of RFC 3339 takes more than RFC 3339: blanks in front, numbers of one digit, offsets without a colon, second 60.
# Where timestamp() of CEL or a condition's time must be refused, it is read.
. "$(dirname "$0")/common.sh"
guess '%Y-%m-%dT%H:%M:%E*S%Ez takes what RFC 3339 allows and refuses the rest'
debian_packages libcctz-dev=2.3+dfsg1-3 libcctz2=2.3+dfsg1-3
cat > run.cc <<'CC'
#include <cctz/time_zone.h>
#include <iostream>
int main() {
  for (std::string text : {"2026-11-27T10:00:00Z", " 2026-11-27T10:00:00Z", "2026-1-2T3:4:5Z", "2026-11-27T10:00:00+0100", "2026-11-27T10:00:60Z", "2026-02-29T10:00:00Z"}) {
    cctz::time_point<cctz::seconds> time;
    bool read = cctz::parse("%Y-%m-%dT%H:%M:%E*S%Ez", text, cctz::utc_time_zone(), &time);
    std::cout << "[" << text << "] " << (read ? cctz::format("%Y-%m-%dT%H:%M:%SZ", time, cctz::utc_time_zone()) : "refused") << "\n";
  }
}
CC
compile run.cc -lcctz
./program | seen 'times' '[2026-11-27T10:00:00Z] 2026-11-27T10:00:00Z
[ 2026-11-27T10:00:00Z] 2026-11-27T10:00:00Z
[2026-1-2T3:4:5Z] 2026-01-02T03:04:05Z
[2026-11-27T10:00:00+0100] 2026-11-27T09:00:00Z
[2026-11-27T10:00:60Z] 2026-11-27T10:01:00Z
[2026-02-29T10:00:00Z] refused'
