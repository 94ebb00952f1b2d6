#!/usr/bin/env bash
# prometheus-cpp: a histogram takes a label named "le", which it writes itself, so that each bucket has it twice and Prometheus refuses the whole exposition; and a
# second Add() with the same labels and other buckets gives the first histogram, old buckets and all, without a word.
. "$(dirname "$0")/common.sh"
guess 'Add() raises for "le" as it does for names that begin with __, and for buckets that differ'
debian_packages prometheus-cpp-dev=1.0.1-1 libprometheus-cpp-core1.0=1.0.1-1
cat > run.cc <<'CC'
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <iostream>
#include <stdexcept>
int main() {
  prometheus::Registry registry;
  auto& family = prometheus::BuildHistogram().Name("seconds").Help("Time.").Register(registry);
  using Buckets = prometheus::Histogram::BucketBoundaries;
  family.Add({{"le", "fast"}}, Buckets{1});
  family.Add({{"step", "bind"}}, Buckets{1, 2});
  family.Add({{"step", "bind"}}, Buckets{10, 20}).Observe(15);
  try {
    family.Add({{"__le", "fast"}}, Buckets{1});
  } catch (const std::invalid_argument& error) {
    std::cout << "__le: " << error.what() << "\n";
  }
  std::cout << prometheus::TextSerializer().Serialize(registry.Collect());
}
CC
compile run.cc -lprometheus-cpp-core
./program | grep -v '_count\|_sum\|^#' | sort | seen 'buckets' '__le: Invalid label name
seconds_bucket{le="fast",le="+Inf"} 0
seconds_bucket{le="fast",le="1"} 0
seconds_bucket{step="bind",le="+Inf"} 1
seconds_bucket{step="bind",le="1"} 0
seconds_bucket{step="bind",le="2"} 0'
