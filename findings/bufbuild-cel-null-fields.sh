#!/usr/bin/env bash
# @bufbuild/cel: a key of a map whose value is null is not in the map, by has() and by "in", although the value can be read; int() reads hexadecimal text.
. "$(dirname "$0")/common.sh"
guess 'has(m.key) and "key in m" ask whether the key is there, whatever its value; int(string) takes decimal digits alone'
npm_packages @bufbuild/cel@0.6.1
cat > run.js <<'JS'
import {run} from '@bufbuild/cel';
for (const expression of ["has({'owner': null}.owner)", "'owner' in {'owner': null}", "{'owner': null}.owner == null", "int('0x10')", "int('10')"]) console.log(`${expression}: ${run(expression)}`);
JS
node run.js | seen 'results' "has({'owner': null}.owner): false
'owner' in {'owner': null}: false
{'owner': null}.owner == null: true
int('0x10'): 16
int('10'): 10"
