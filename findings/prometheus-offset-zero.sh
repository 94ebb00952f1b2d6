#!/usr/bin/env bash
# A rule whose shift in time comes from a value ("what was in use N ago") cannot have N = 0: `offset 0s` is no duration for Prometheus 2.42,
# although a shift into the future is.
. "$(dirname "$0")/common.sh"
guess 'a shift by nothing is the plain selector; a shift into the future is what might be refused'
debian_packages prometheus=2.42.0+ds-5+deb12u1
rule() {
  printf 'groups: [{name: usage, rules: [{record: devices:used, expr: "sum(dra_devices_used offset %s)"}]}]\n' "$1" > rules.yaml
  if "$root/usr/bin/promtool" check rules rules.yaml > log 2>&1; then echo "offset $1: accepted"; else
    echo "offset $1: $(sed -n 's/.*parse error: //p' log | head -n 1)"
  fi
}
{ rule 5m; rule -5m; rule 0s; } | seen 'promtool check rules' 'offset 5m: accepted
offset -5m: accepted
offset 0s: duration must be greater than 0'
