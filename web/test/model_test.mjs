// The model's figures equal those of `kubectl dra top`, `who` and `explain -o json` on random worlds.
// usage: node model_test.mjs KUBECTL-DRA [WORLDS [FIRST-SEED]]
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { World, topRows, whoRows, waitingPods, devicesOfPod, keyOf, amountOf, amountText, naturalOrder, fleetNodes, sumsOf } from '../model/model.js';
import { randomOf, randomWorld } from './worlds.mjs';

const [program, worlds = '200', firstSeed = '1'] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'dra-model-'));

function ask(file, ...words) {
  return new Promise((resolve, reject) => {
    execFile(program, [...words, '-o', 'json', '--from', file], { maxBuffer: 64 << 20 }, (error, out, complaints) => {
      try {
        resolve(JSON.parse(out));
      } catch {
        reject(new Error(`${words.join(' ')}: ${error} ${complaints}`));
      }
    });
  });
}

export function worldOf(lines) {
  const world = new World();
  for (const line of lines) world.line(line);
  return world;
}

const FIGURES = ['node', 'driver', 'total', 'whole', 'cut', 'free', 'bad', 'canBeCut', 'sharedLeft', 'names', 'held'];
const pick = (object, keys) => Object.fromEntries(keys.map((key) => [key, object[key]]));
const texts = (rows) => rows.map((row) => JSON.stringify(row)).sort();

async function compare(random, { lines, nodes, pods, seed }) {
  const file = join(folder, `${seed}.dra`), world = worldOf(lines), where = `seed ${seed}`;
  writeFileSync(file, gzipSync(lines.join('\n') + '\n'));
  const top = await ask(file, 'top');
  assert.deepEqual(topRows(world).map((row) => pick(row, FIGURES)), (top.nodes ?? []).map((row) => pick(row, FIGURES)), `${where}: top`);
  const node = random.pick(nodes), who = await ask(file, 'who', node);
  const asWho = whoRows(world, node).map((row) => ({ ...pick(row, ['state', 'claim', 'pods', 'driver', 'pool', 'share']), device: (row.partition ? '  ' : '') + row.device }));
  const expected = who.devices.map((row) => ({ ...pick(row, ['state', 'claim', 'pods', 'driver', 'pool', 'share']), device: row.device }));
  assert.deepEqual(texts(asWho), texts(expected), `${where}: who ${node}`);
  const waits = (await ask(file, 'explain')).causes.flatMap((row) => row.podNames).filter((key) => !world.table('pods').get(key)?.spec.nodeName);
  assert.deepEqual(waitingPods(world).map(keyOf).sort(), waits.sort(), `${where}: explain`);
  if (pods.length === 0) return;
  const pod = random.pick(pods), chain = await ask(file, 'explain', `pod/${pod.metadata.name}`, '-n', pod.metadata.namespace);
  const columns = ['claim', 'request', 'device', 'node', 'driver', 'pods'];
  assert.deepEqual(texts(devicesOfPod(world, pod).map((row) => pick(row, columns))), texts((chain.devices ?? []).map((row) => pick(row, columns))), `${where}: explain ${keyOf(pod)}`);
}

// A world to which objects come one by one, and from which some go again, has the figures of one read at once.
function compareIncremental(random, { lines, seed }) {
  const whole = worldOf(lines), grown = new World();
  grown.line(lines[0]);
  const all = lines.slice(1).flatMap((line) => {
    const tab = line.indexOf('\t');
    return JSON.parse(line.slice(tab + 1)).items.map((object) => [line.slice(0, tab), object]);
  });
  for (let at = all.length - 1; at > 0; --at) {
    const other = random.below(at + 1);
    [all[at], all[other]] = [all[other], all[at]];
  }
  for (const [plural, object] of all) {
    grown.line(`${plural}\t${JSON.stringify({ items: [object] })}`);
    if (random.chance(0.3)) topRows(grown);
    if (random.chance(0.2)) {
      grown.line(`-${plural}\t${JSON.stringify(keyOf(object))}`);
      if (random.chance(0.5)) topRows(grown);
      grown.line(`${plural}\t${JSON.stringify({ items: [object] })}`);
    }
  }
  const figures = (world) => topRows(world).map((row) => pick(row, FIGURES));
  assert.deepEqual(figures(grown), figures(whole), `seed ${seed}: one by one`);
  for (const [plural, object] of all) grown.line(`-${plural}\t${JSON.stringify(keyOf(object))}`);
  assert.deepEqual(figures(grown), [], `seed ${seed}: all gone`);
}

function checkQuantities() {
  const known = { '1': '1', '1.5': '1.5', '500m': '0.5', '40Gi': '42949672960', '1e3': '1000', '.5Ki': '512', '1n': '0.000000001', '0.1n': '0.000000001', '-1k': '-1000', '9E': '9000000000000000000', '10E': '9223372036854775807' };
  for (const [text, amount] of Object.entries(known)) assert.equal(amountText(amountOf(text)), amount, text);
  for (const text of ['', 'lots', '1 Gi', '1ki', '--1', '1e', '.', 'Gi', '1'.repeat(2000)]) assert.equal(amountOf(text), null, text);
}

try {
  checkQuantities();
  assert.deepEqual(['n-10', 'n-9', 'n-1'].sort(naturalOrder), ['n-1', 'n-9', 'n-10']);
  const first = Number(firstSeed), last = first + Number(worlds), queue = Array.from({ length: last - first }, (_, at) => first + at);
  let rows = 0;
  const work = async () => {
    for (let seed = queue.shift(); seed !== undefined; seed = queue.shift()) {
      const world = randomWorld(seed), random = randomOf(seed ^ 0x5eed);
      await compare(random, world);
      compareIncremental(random, world);
      const nodes = fleetNodes(worldOf(world.lines)), sum = (list, key) => list.reduce((all, one) => all + one[key], 0);
      assert.equal(sum(sumsOf(nodes), 'total'), sum(nodes.map((one) => one.counts), 'total'));
      rows += nodes.length;
    }
  };
  await Promise.all([work(), work(), work()]);
  console.log(`${worlds} worlds from seed ${firstSeed}: ${rows} nodes, figures equal`);
} finally {
  rmSync(folder, { recursive: true });
}
