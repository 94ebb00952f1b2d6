#!/usr/bin/env bash
# The JavaScript client's quantityToScalar makes a BigInt of what stands before the suffixes k, M, G, Ki, Mi, Gi, so a fraction raises; without a suffix,
# and with n, u, m, it makes a number. The API server keeps capacities like 1.5Gi as they were written.
. "$(dirname "$0")/common.sh"
guess '1.5Gi is 1610612736, as a number or as a BigInt'
npm_packages @kubernetes/client-node@1.4.0
cat > run.js <<'JS'
import {quantityToScalar} from '@kubernetes/client-node/dist/util.js';
for (const text of ['1.5Gi', '2.5G', '0.5', '1e3', '2Gi', '100m']) {
  try { const value = quantityToScalar(text); console.log(text, '->', typeof value, String(value)); } catch (error) { console.log(text, '->', `${error.name}: ${error.message}`); }
}
JS
node run.js | seen 'fractions with a suffix' '1.5Gi -> SyntaxError: Cannot convert 1.5 to a BigInt
2.5G -> SyntaxError: Cannot convert 2.5 to a BigInt
0.5 -> number 0.5
1e3 -> number 1000
2Gi -> bigint 2147483648
100m -> number 0.1'
