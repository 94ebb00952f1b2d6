#!/usr/bin/env bash
# kubernetes-resource-parser reads a quantity as far as its first digits go and drops the rest: 1.5Gi of memory is 1 byte, 250u of cpu are 250 cores.
. "$(dirname "$0")/common.sh"
guess 'quantities as the API server takes them: 1.5Gi is 1610612736, 1e3 is 1000, 250u is 0.00025 cores; anything else raises'
npm_packages kubernetes-resource-parser@0.1.0
cat > run.js <<'JS'
import parser from 'kubernetes-resource-parser';
for (const text of ['1.5Gi', '1e3', '0.5', '2Gi']) console.log('memory', text, '->', parser.memoryParser(text));
for (const text of ['250u', '1k', '100m']) console.log('cpu', text, '->', parser.cpuParser(text));
JS
node run.js | seen 'fractions, exponents, small units' 'memory 1.5Gi -> 1
memory 1e3 -> 1
memory 0.5 -> 0
memory 2Gi -> 2147483648
cpu 250u -> 250
cpu 1k -> 1
cpu 100m -> 0.1'
