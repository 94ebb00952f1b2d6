#!/usr/bin/env bash
# simdjson's On-Demand objects look for a key from where the last one was found and start again at the front: which of two equal keys is read depends on what
# was read before. (Go's encoding/json, which kube-apiserver decodes with, takes the last one, and servers refuse duplicates only if asked to.)
. "$(dirname "$0")/common.sh"
guess 'of two equal keys either the first or the last is read, always'
debian_packages libsimdjson-dev=3.0.1-1 libsimdjson14=3.0.1-1
cat > run.cc <<'CC'
#include <simdjson.h>
#include <cstdint>
#include <iostream>
using namespace simdjson;
int main() {
  padded_string text(std::string(R"({"count": 1, "name": "a", "count": 3, "last": true})"));
  for (std::string_view before : {"", "name", "last"}) {
    ondemand::parser parser;
    auto document = parser.iterate(text);
    auto object = document.get_object();
    if (!before.empty() && object[before].error() != SUCCESS) {
      return 1;
    }
    std::cout << "count, after " << (before.empty() ? "nothing" : before) << ": " << int64_t(object["count"]) << "\n";
  }
}
CC
compile run.cc -lsimdjson
./program | seen 'two equal keys' 'count, after nothing: 1
count, after name: 3
count, after last: 1'
