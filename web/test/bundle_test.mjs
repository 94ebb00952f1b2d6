// The page's modules can be one script, as a report has them: no two declare the same name, and imports are one line.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const BROWSERS = new Set(['history', 'location', 'document', 'sessionStorage', 'fetch', 'performance', 'navigator', 'name', 'status', 'event', 'close', 'stop', 'find', 'print', 'self', 'Node', 'Blob', 'URL']);
const root = join(dirname(fileURLToPath(import.meta.url)), '..'), declared = new Map();
for (const folder of ['model', 'page'])
  for (const name of readdirSync(join(root, folder)).filter((one) => one.endsWith('.js'))) {
    const file = `${folder}/${name}`, text = readFileSync(join(root, file), 'utf8');
    assert.ok(!/[^\x00-\x7f]/.test(text), `${file} has a character beyond ASCII`);
    assert.ok(!/innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|setTimeout\(['"`]/.test(text), `${file} makes markup or code of text`);
    for (const line of text.split('\n')) {
      if (line.startsWith('import')) assert.match(line, /^import \{ .* \} from '\.\.?\/[\w./]+';$/, `${file}: ${line}`);
      if (line.startsWith('export')) assert.match(line, /^export (\{ .* \} from '\.\/[\w.]+';|(async )?function |const |class )/, `${file}: ${line}`);
      const found = /^(?:export )?(?:async )?(?:function|const|let|class) (\w+)/.exec(line);
      if (!found) continue;
      assert.ok(!declared.has(found[1]), `${file} and ${declared.get(found[1])} both declare ${found[1]}`);
      assert.ok(!BROWSERS.has(found[1]), `${file} declares ${found[1]}, which is the browser's: modules that are one script share their names`);
      declared.set(found[1], file);
    }
  }
console.log(`${declared.size} names, each in one module`);
