#!/usr/bin/env bash
# cel-js computes with JavaScript's numbers: integers divide to fractions, and neighbours beyond 2^53 are equal.
# A selector of a DeviceClass that pairs devices by index (index / 2) selects nothing; serial numbers as integers select too much.
. "$(dirname "$0")/common.sh"
guess 'CEL has 64-bit integers: 7 / 2 is 3, and 9223372036854775807 == 9223372036854775806 is false'
npm_packages cel-js@0.8.2
cat > run.js <<'JS'
import {evaluate} from 'cel-js';
const device = {index: 7};
for (const text of ['7 / 2', 'device.index / 2 == 3', '9223372036854775807 == 9223372036854775806'])
  console.log(text, '->', evaluate(text, {device}));
JS
node run.js | seen 'integers' '7 / 2 -> 3.5
device.index / 2 == 3 -> false
9223372036854775807 == 9223372036854775806 -> true'
