// 5,000 nodes with 40,000 devices: what the page and its server need. usage: node scale_test.mjs KUBECTL-DRA [PICTURES [NODES]]
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Browser } from './chromium.mjs';
import { FakeServer, kubeconfigOf, plainFleet } from './fake_server.mjs';

const [program, pictures, nodes = '5000'] = process.argv.slice(2), count = Number(nodes), folder = mkdtempSync(join(tmpdir(), 'dra-scale-'));
const fake = await new FakeServer(plainFleet({ nodes: count, devices: 8, held: count * 4 })).listen();
const kubeconfig = join(folder, 'config'), environment = { ...process.env, KUBECONFIG: kubeconfig };
writeFileSync(kubeconfig, kubeconfigOf(fake.address));
const figures = {}, ALL = `document.querySelector('.sums')?.innerText.includes('of ${count * 8} cards')`;
const resident = (pid) => Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024);

const server = spawn(program, ['web', '--no-open'], { env: environment, stdio: ['ignore', 'pipe', 'inherit'] });
const browser = await Browser.start();
try {
  let said = '';
  const first = new Promise((resolve) => server.stdout.on('data', (data) => resolve(said += data))), url = () => said.match(/http:\S+/g).at(-1);
  await first;
  const page = await browser.page();
  await page.go(url());
  await page.until("document.getElementById('live').innerText === 'live'", 'the lists are in the server', 120000);
  await page.until(ALL, 'all devices', 60000);
  figures.serverMiB = resident(server.pid);
  const other = await browser.page();
  const began = Date.now();
  await other.go(url());
  await other.until("document.querySelectorAll('[data-card]').length > 0", 'first paint', 30000);
  figures.firstPaintMs = Date.now() - began;
  await other.until(ALL, 'all devices', 60000);
  figures.allDevicesMs = Date.now() - began;
  await page.send('Page.close').catch(() => {});
  if (pictures) writeFileSync(join(pictures, '5000.png'), await other.picture());
  figures.frames = await other.value(`new Promise((resolve) => {
    const times = [];
    let last = performance.now(), y = 0;
    const step = (now) => {
      times.push(now - last);
      last = now;
      scrollTo(0, y += 937);
      if (times.length < 200) return requestAnimationFrame(step);
      times.sort((a, b) => a - b);
      resolve({ p50: Math.round(times[100]), p95: Math.round(times[190]), most: Math.round(times[199]) });
    };
    requestAnimationFrame(step);
  })`);
  await other.value('scrollTo(0, 0)');
  const changed = Date.now();
  fake.remove('resourceclaims', [...fake.objects.get('resourceclaims').values()].find((one) => one.metadata.name === 'train-0-gpu'));
  await other.until("document.querySelector('.row .count').innerText === '1 of 8 free'", 'a change', 10000);
  figures.changeMs = Date.now() - changed;
  await other.value("document.getElementById('search').value = 'rack-200 free'; document.getElementById('search').dispatchEvent(new Event('input'))");
  const searched = Date.now();
  await other.until(`Number(document.querySelector('.rows').getAttribute('aria-rowcount')) < ${count}`, 'a search', 10000);
  figures.searchMs = Date.now() - searched;
  await other.send('HeapProfiler.collectGarbage');
  const { processInfo } = await browser.send('SystemInfo.getProcessInfo');
  figures.pageResidentMiB = Math.max(...processInfo.filter((one) => one.type === 'renderer').map((one) => resident(one.id)));
  figures.pageHeapMiB = Math.round((await other.value('performance.memory.usedJSHeapSize')) / 1048576);
  figures.lists = fake.counts.get('list resourceslices');
  const report = join(folder, 'report.html'), wrote = Date.now();
  await new Promise((resolve, reject) => spawn(program, ['web', '--output', report], { env: environment, stdio: 'inherit' }).on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`status ${code}`)))));
  figures.reportWrittenMs = Date.now() - wrote;
  figures.reportMiB = Math.round(statSync(report).size / 104857.6) / 10;
  const file = await browser.page(), opened = Date.now();
  await file.go('file://' + report);
  await file.until("document.querySelectorAll('[data-card]').length > 0", 'the report', 30000);
  figures.reportFirstPaintMs = Date.now() - opened;
  await file.until(ALL, 'all devices', 60000);
  figures.reportAllDevicesMs = Date.now() - opened;
  console.log(JSON.stringify(figures, null, 1));
  assert.ok(figures.firstPaintMs <= 2000 && figures.frames.p95 <= 100 && figures.pageHeapMiB <= 300 && figures.lists === 1, 'the bounds of the page');
  assert.ok(figures.reportMiB <= 20 && figures.reportAllDevicesMs <= 3000, 'the bounds of a report');
} finally {
  await browser.close();
  server.kill();
  fake.close();
  rmSync(folder, { recursive: true, force: true });
}
