#!/usr/bin/env bash
# k8s-resource-parser knows the small unit m alone, so it refuses what metrics.k8s.io answers with: cpu in nanocores.
. "$(dirname "$0")/common.sh"
guess 'the suffixes of a quantity are n, u, m, k, M, ...: 158432n, the usual form of cpu in PodMetrics, is 0.000158432 cores'
npm_packages k8s-resource-parser@0.2.2
cat > run.js <<'JS'
import {cpuParser} from 'k8s-resource-parser';
for (const text of ['158432n', '250u', '100m', '1k']) {
  try { console.log(text, '->', cpuParser(text)); } catch (error) { console.log(text, '-> error:', error.message); }
}
JS
node run.js | seen 'small units' '158432n -> error: Invalid quanity provided.
250u -> error: Invalid quanity provided.
100m -> 0.1
1k -> 1000'
