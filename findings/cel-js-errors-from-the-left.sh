#!/usr/bin/env bash
# cel-js evaluates && and || from the left, as JavaScript does: an error on the left is the result, though the right side decides.
# In CEL both are commutative: one side that decides absorbs an error of the other. Selectors rely on it where a device lacks an attribute.
. "$(dirname "$0")/common.sh"
guess 'false decides && and true decides ||, on whichever side they stand; an error on the other side is absorbed'
npm_packages cel-js@0.8.2 @marcbachmann/cel-js@8.0.0
cat > run.js <<'JS'
import * as one from 'cel-js';
import * as other from '@marcbachmann/cel-js';
for (const text of ['1 / 0 > 0 || true', '1 / 0 > 0 && false', 'false && 1 / 0 > 0'])
  for (const [name, library] of [['cel-js', one], ['@marcbachmann/cel-js', other]]) {
    let result;
    try { result = library.evaluate(text, {}); } catch (error) { result = 'error: ' + error.message.split('\n')[0]; }
    console.log(`${text} (${name}) -> ${result}`);
  }
JS
node run.js | seen 'errors beside a side that decides' '1 / 0 > 0 || true (cel-js) -> error: Division by zero
1 / 0 > 0 || true (@marcbachmann/cel-js) -> true
1 / 0 > 0 && false (cel-js) -> error: Division by zero
1 / 0 > 0 && false (@marcbachmann/cel-js) -> false
false && 1 / 0 > 0 (cel-js) -> false
false && 1 / 0 > 0 (@marcbachmann/cel-js) -> false'
