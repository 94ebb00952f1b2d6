#!/usr/bin/env bash
# prometheus-cpp escapes label values and not the help text: a help of two lines makes an exposition that Prometheus refuses as a whole.
. "$(dirname "$0")/common.sh"
guess 'the text format wants \n and \\ escaped in HELP as in label values, so both are'
debian_packages prometheus-cpp-dev=1.0.1-1 libprometheus-cpp-core1.0=1.0.1-1
cat > run.cc <<'CC'
#include <prometheus/gauge.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <iostream>
int main() {
  prometheus::Registry registry;
  auto& family = prometheus::BuildGauge().Name("devices").Help("Devices by state.\nOne card is one device.").Register(registry);
  family.Add({{"state", "in\nuse"}}).Set(1);
  std::cout << prometheus::TextSerializer().Serialize(registry.Collect());
}
CC
compile run.cc -lprometheus-cpp-core
./program | seen 'the exposition' '# HELP devices Devices by state.
One card is one device.
# TYPE devices gauge
devices{state="in\nuse"} 1'
