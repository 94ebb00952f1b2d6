// What the plugin's file is made of: this project's own modules, and nothing else whose licence would go with it. The
// rest (React, MUI, Headlamp's library) is Headlamp's at run time. usage: node bundle_test.mjs, after npm ci
import assert from 'node:assert/strict';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const here = dirname(fileURLToPath(import.meta.url)), root = join(here, '..');
process.chdir(here);
process.env.NODE_ENV = 'production';
const configFile = join(here, 'node_modules/@kinvolk/headlamp-plugin/config/vite.config.mjs');
const [made] = [await build({ configFile, logLevel: 'error', build: { write: false } })].flat();
const chunks = made.output.filter(one => one.type === 'chunk');
const modules = chunks.flatMap(one => Object.keys(one.modules)).map(one => relative(root, one));
const foreign = modules.filter(one => !/^(headlamp\/src|web\/model|web\/page)\//.test(one));
assert.deepEqual(foreign, [], 'modules of others in the plugin: docs/user/headlamp.md must name their licences');
assert.ok(modules.includes('web/model/world.js') && modules.includes('web/model/silicon.js'), 'the model is that of the page');
// Names that Headlamp has at run time; a wrong one is undefined there, and the plugin does not start.
const used = [...new Set(chunks.flatMap(one => one.imports))].sort();
assert.deepEqual(used, ['@kinvolk/headlamp-plugin/lib', '@kinvolk/headlamp-plugin/lib/CommonComponents', '@mui/material', 'react', 'react-router-dom', 'react/jsx-runtime']);
const bytes = chunks.reduce((sum, one) => sum + Buffer.byteLength(one.code), 0);
assert.ok(bytes < 120000, `${bytes} bytes`);
console.log(`${modules.length} modules, all of this project; ${bytes} bytes`);
