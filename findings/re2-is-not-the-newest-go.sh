#!/usr/bin/env bash
# Debian 12's RE2 lacks the form (?<name>...) that Go's regexp, by which kube-apiserver compiles matches() of CEL, has had since Go 1.22: a selector that a
# server accepts does not compile here.
. "$(dirname "$0")/common.sh"
guess 'RE2 and Go share one syntax, so a pattern compiles in both or in neither'
debian_packages libre2-dev=20220601+dfsg-1+b1 libre2-9=20220601+dfsg-1+b1
cat > run.cc <<'CC'
#include <re2/re2.h>
#include <iostream>
int main() {
  for (const char* pattern : {"(?P<gen>H\\d+)", "(?<gen>H\\d+)"}) {
    RE2 compiled(pattern, RE2::Quiet);
    std::cout << pattern << " " << (compiled.ok() ? "compiles" : compiled.error()) << "\n";
  }
}
CC
compile run.cc -lre2
./program | seen 'named groups' '(?P<gen>H\d+) compiles
(?<gen>H\d+) invalid perl operator: (?<'
