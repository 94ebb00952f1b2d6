#!/usr/bin/env bash
# matches() of @marcbachmann/cel-js is JavaScript's RegExp, not RE2: what a selector may contain on a server either raises or is quietly false.
. "$(dirname "$0")/common.sh"
guess 'matches() takes RE2, as the language says: flags, named groups, POSIX classes, \A and \z'
npm_packages @marcbachmann/cel-js@8.0.0
cat > run.js <<'JS'
import {evaluate} from '@marcbachmann/cel-js';
for (const pattern of ['(?i)nvidia', '(?P<maker>NVIDIA)', '[[:upper:]]+ A100', String.raw`\ANVIDIA`, String.raw`A100\z`]) {
  let result;
  try { result = evaluate('product.matches(pattern)', {product: 'NVIDIA A100', pattern}); } catch (error) { result = error.name; }
  console.log(`${pattern}: ${result}`);
}
JS
node run.js | seen 'does "NVIDIA A100" match' '(?i)nvidia: EvaluationError
(?P<maker>NVIDIA): EvaluationError
[[:upper:]]+ A100: false
\ANVIDIA: false
A100\z: false'
