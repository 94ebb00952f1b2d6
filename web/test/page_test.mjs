// The page in a real browser: the sandbox's fleet and a report of it, a cluster that changes, credentials that end,
// hostile texts, and who may ask the server. usage: node page_test.mjs FOLDER-OF-PROGRAMS [PICTURES [WORDS-OF-A-TEST]]
import assert from 'node:assert/strict';
import { spawn, execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { Browser, chromiumPath } from './chromium.mjs';
import { FakeServer, claimOf, kubeconfigOf, plainFleet } from './fake_server.mjs';
import { hostileWorld, MARK } from './hostile.mjs';

const [programs, pictures, only = ''] = process.argv.slice(2);
const dra = join(programs, 'kubectl-dra'), folder = mkdtempSync(join(tmpdir(), 'dra-page-')), started = [];
if (chromiumPath() === null) {
  console.log('skipped: chromium is not installed');
  process.exit(77);
}

// `kubectl dra web` with these words; resolves to {process, address, key, url}.
async function web(words, environment = {}) {
  const process_ = spawn(dra, ['web', ...words], { env: { ...process.env, ...environment }, stdio: ['ignore', 'pipe', 'pipe'] });
  started.push(process_);
  let text = '';
  const url = await new Promise((resolve, reject) => {
    for (const stream of [process_.stdout, process_.stderr])
      stream.on('data', (data) => {
        text += data;
        const found = /(http:\/\/127\.0\.0\.1:\d+\/\S*)/.exec(text);
        if (found && text.includes('\n')) resolve(found[1].replace(/;$/, ''));
      });
    process_.on('exit', () => reject(new Error(`web ${words.join(' ')}: ${text}`)));
  });
  const address = url.replace(/#.*/, ''), last = () => text.match(/http:\/\/127\.0\.0\.1:\d+\/#key=[0-9a-f]{64}/g)?.at(-1) ?? url;
  return {
    process: process_, address, said: () => text,
    get url() { return last(); },  // each works once
    // What the page does with its ticket.
    key: async () => JSON.parse((await ask(address, '/api/key', { method: 'POST', headers: { 'X-Dra-Key': last().split('#key=')[1] } })).body).key,
  };
}

function stop(process_, signal = 'SIGINT') {
  return new Promise((resolve) => {
    process_.on('exit', (code) => resolve(code));
    process_.kill(signal);
  });
}

// One request: {status, headers, body}.
function ask(address, path, { method = 'GET', headers = {}, body = '' } = {}) {
  const { hostname, port } = new URL(address);
  return new Promise((resolve, reject) => {
    const asked = request({ host: hostname, port, path, method, headers, setHost: !('Host' in headers) }, (answer) => {
      let text = '';
      const done = () => resolve({ status: answer.statusCode, headers: answer.headers, body: text });
      answer.on('data', (data) => {
        text += data;
        if (path === '/api/stream') asked.destroy(), done();
      });
      answer.on('end', done);
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

async function shoot(page, name) {
  if (pictures) writeFileSync(join(pictures, `${name}.png`), await page.picture());
}

const click = (page, selector) => page.value(`document.querySelector(${JSON.stringify(selector)}).click()`);
const choose = (page, id, value) => page.value(`{ const s = document.getElementById('${id}'); s.value = ${JSON.stringify(value)}; s.dispatchEvent(new Event(s.tagName === 'INPUT' ? 'input' : 'change')); }`);
const text = (selector) => `(document.querySelector(${JSON.stringify(selector)})?.innerText ?? '')`;
const tests = [];
const test = (name, run) => tests.push([name, run]);

// ---- who may ask

test('the server answers its own page alone', async () => {
  const server = await web(['--from', join(folder, 'sandbox.dra'), '--no-open']), host = new URL(server.address).host, ticket = server.url.split('#key=')[1], real = await server.key(), key = { 'X-Dra-Key': real };
  assert.equal((await ask(server.address, '/api/key', { method: 'POST', headers: { 'X-Dra-Key': ticket } })).status, 401, 'a ticket works once');
  assert.equal((await ask(server.address, '/api/stream', { headers: { 'X-Dra-Key': ticket } })).status, 401, 'a ticket is no key');
  assert.equal((await ask(server.address, '/api/key', { method: 'POST', headers: key })).status, 401, 'a key is no ticket');
  const status = async (path, given = {}) => (await ask(server.address, path, given)).status;
  assert.equal(await status('/api/stream'), 401);
  assert.equal(await status('/api/stream', { headers: { 'X-Dra-Key': real.replace(/./, (one) => (one === '0' ? '1' : '0')) } }), 401);
  assert.equal(await status('/api/stream', { headers: { 'X-Dra-Key': real.slice(1) } }), 401);
  for (const path of ['/nothing', '/api/nothing', '/../etc/passwd', '/api/ask']) assert.equal(await status(path), 401, path);
  assert.equal(await status('/', { method: 'POST' }), 401);
  assert.equal(await status('/nothing', { headers: key }), 404);
  assert.equal(await status('/api/stream', { headers: key }), 200);
  const foreign = [{ Host: 'example.com' }, { Host: `evil.localhost:${new URL(server.address).port}` }, { Host: '127.0.0.1.example.com' }, { Host: '' }, { Host: '127.0.0.1:x' }, { Origin: 'http://example.com' }, { Origin: 'null' }, { Origin: `http://${host}.example.com` }, { Origin: `https://${host}` }, { 'Sec-Fetch-Site': 'cross-site' }, { 'Sec-Fetch-Site': 'same-site' }];
  for (const headers of foreign)
    for (const path of ['/', '/page/main.js', '/api/stream']) {
      const answer = await ask(server.address, path, { headers: { ...key, ...headers } });
      assert.ok(answer.status === 403 || answer.status === 400, `${JSON.stringify(headers)} ${path}: ${answer.status}`);
      assert.equal(answer.status === 403 ? answer.body : '', '', 'a refusal has no body');
    }
  for (const good of [{ Host: 'localhost:1' }, { Host: '[::1]:80' }, { Host: '127.0.0.1' }, { Origin: `http://${host}` }]) assert.equal(await status('/api/stream', { headers: { ...key, ...good } }), 200, JSON.stringify(good));
  const page = await ask(server.address, '/'), policy = page.headers['content-security-policy'];
  for (const part of ["default-src 'none'", "frame-ancestors 'none'", "script-src 'self';", "require-trusted-types-for 'script'"]) assert.ok(policy.includes(part), policy);
  assert.ok(!policy.includes('unsafe'));
  assert.deepEqual([page.headers['referrer-policy'], page.headers['cache-control'], page.headers['x-content-type-options']], ['no-referrer', 'no-store', 'nosniff']);
  const question = (body, type = 'application/json') => ask(server.address, '/api/ask', { method: 'POST', headers: { ...key, 'Content-Type': type }, body });
  assert.equal((await question('{"verb":"explain"}')).status, 200);
  assert.equal((await question('{"verb":"explain"}', 'text/plain')).status, 415);
  for (const bad of ['', '[]', '{"verb":1}', '{"words":[1]}', '{"words":["a","a","a","a","a","a","a","a","a"]}']) assert.equal((await question(bad)).status, 400, bad);
  for (const bad of ['{"verb":"taint","words":["a","b"]}', '{"verb":"snapshot","words":["/tmp/x"]}', '{"verb":"explain","words":["pod/none"]}', '{"verb":"fits","document":"{"}']) assert.equal((await question(bad)).status, 422, bad);
  assert.equal((await question('x'.repeat(2 << 20))).status, 413);
  const open = await Promise.all(Array.from({ length: 16 }, () => new Promise((resolve) => {
    const asked = request({ host: '127.0.0.1', port: new URL(server.address).port, path: '/api/stream', headers: key }, () => resolve(asked));
    asked.on('error', () => {});
    asked.end();
  })));
  assert.equal(await status('/api/stream', { headers: key }), 429);
  for (const one of open) one.destroy();
  assert.equal(await stop(server.process), 0);
});

test('the browser is opened through a file that only the user can read', async () => {
  const bin = join(folder, 'bin'), seen = join(folder, 'opened');
  execFileSync('mkdir', ['-p', bin]);
  writeFileSync(join(bin, 'xdg-open'), `#!/bin/sh\nstat -c %a "$1" > ${seen}.mode\ncp "$1" ${seen}.html\nprintf '%s\\n' "$@" > ${seen}.words\n`);
  chmodSync(join(bin, 'xdg-open'), 0o755);
  const server = await web(['--from', join(folder, 'sandbox.dra')], { PATH: `${bin}:${process.env.PATH}`, XDG_RUNTIME_DIR: folder });
  for (let tries = 0; !existsSync(seen + '.words') && tries < 200; ++tries) await new Promise((resolve) => setTimeout(resolve, 25));
  assert.equal(readFileSync(seen + '.mode', 'utf8').trim(), '600');
  const words = readFileSync(seen + '.words', 'utf8'), key = /#key=([0-9a-f]{64})/.exec(readFileSync(seen + '.html', 'utf8'))[1];
  assert.ok(!words.includes(key) && !server.said().includes(key) && !readFileSync(`/proc/${server.process.pid}/cmdline`, 'latin1').includes(key));
  const file = words.trim();
  assert.ok(existsSync(file) && (statSync(file).mode & 0o777) === 0o600);
  await stop(server.process);
  assert.ok(!existsSync(file), 'the file goes with the server');
});

// ---- the fleet

test("the sandbox's fleet: a MIG pod, a click to its claim, what waits, the key is nowhere", async (browser) => {
  const server = await web(['--no-open', '-n', 'default'], { KUBECONFIG: join(folder, 'sandbox') }), page = await browser.page();
  await page.go(server.url);
  await page.until("document.querySelectorAll('.row').length >= 10 && document.querySelector('.card.cut')", 'ten nodes, one with partitions in use');
  assert.ok(await page.value("document.getElementById('banner').hidden"), 'nothing is hidden: an API of PodGroups that is not served has none');
  await shoot(page, 'fleet');
  const key = await page.value("sessionStorage.getItem('dra-web-key')"), { entries } = await page.send('Page.getNavigationHistory');
  assert.match(key, /^[0-9a-f]{64}$/);
  assert.ok(!(await page.value('location.href')).includes('key') && !entries.some((one) => one.url.includes('#key')), 'neither key nor ticket is in the address or in the list of this tab');
  for (const name of ['History', 'History-journal']) {
    const file = join(browser.profile, 'Default', name);
    assert.ok(!existsSync(file) || !readFileSync(file, 'latin1').includes(key), 'the key is not in the history of the browser');
  }
  assert.ok(!page.requests.some((url) => url.includes(key)) && !server.said().includes(key) && !readFileSync(`/proc/${server.process.pid}/cmdline`, 'latin1').includes(key));
  await choose(page, 'search', 'cut');
  await page.until("document.querySelectorAll('.row').length < 10", 'the search leaves some nodes');
  assert.ok((await page.value('location.hash')).includes('q=cut'));
  await click(page, '.card.cut');
  await page.until(`${text('#details')}.includes('mig')`, 'the card says its partitions');
  await page.value("[...document.querySelectorAll('#details dd .link')].find((one) => one.innerText.startsWith('default/')).click()");
  await page.until(`${text('#details')}.includes('Claim') && ${text('#details .answer')}.includes('mig')`, 'the claim, and what explain says of it');
  await shoot(page, 'claim');
  assert.ok((await page.value(text('#details code'))).startsWith('kubectl get resourceclaim '));
  await page.value("[...document.querySelectorAll('#details .link')].at(0).click()");
  await page.until(`${text('#details h2')}.startsWith('Pod')`, 'its pod');
  await page.value("[...document.querySelectorAll('#details button')].find((one) => one.innerText.startsWith('What if')).click()");
  await page.until(`[...document.querySelectorAll('#details .answer')].some((one) => /deleted|goes|pod/i.test(one.innerText) && !one.innerText.includes('Asking'))`, 'what if it is deleted');
  await page.value("[...document.querySelectorAll('#details button')].find((one) => one.innerText.startsWith('Show its events')).click()");
  await page.until("document.querySelectorAll('#details .events li').length > 0", 'its history');
  await page.press('Escape');
  await page.until("document.getElementById('details').hidden");
  await click(page, '[data-view=waiting]');
  await page.until(`${text('.causes')}.includes('8 of the')`, 'why a pod waits');
  await page.until(`/default\\/train: 2 pods wait/.test(${text('.groups')})`, 'a group that waits');
  await page.value("[...document.querySelectorAll('.cause button')].find((one) => one.innerText === 'What would help').click()");
  await page.until("document.querySelector('.cause .answer .sentence')", 'its sentences');
  await shoot(page, 'waiting');
  await click(page, '[data-view=whatif]');
  await choose(page, 'object', 'a100-0');
  await page.value("document.querySelector('.ask button').click()");
  await page.until(`${text('.view .answer')}.length > 20 && !${text('.view .answer')}.includes('Asking')`, 'what if a node is drained');
  const manifest = readFileSync(join(folder, 'wait.yaml'), 'utf8');
  await page.value(`document.getElementById('manifest').value = ${JSON.stringify(manifest)}; document.querySelectorAll('.ask button')[1].click()`);
  await page.until(`[...document.querySelectorAll('.view .answer')].at(-1).innerText.includes('fit')`, 'does this fit');
  await shoot(page, 'whatif');
  await choose(page, 'group', 'pool').catch(() => {});
  assert.deepEqual(page.problems, []);
  const narrow = await browser.page({ width: 390, height: 800 });
  await narrow.go(server.url);
  await narrow.until("document.querySelectorAll('.row').length >= 4");
  assert.ok(await narrow.value('document.documentElement.scrollWidth <= innerWidth'), 'nothing is wider than a narrow page');
  await shoot(narrow, 'narrow');
  const dark = await browser.page({ dark: true });
  await dark.go(server.url + '&group=pool&colour=team');
  await dark.until("document.querySelectorAll('.group').length > 3");
  await shoot(dark, 'dark');
  assert.equal(await stop(server.process), 0);
  await page.until(`${text('#banner')}.includes('as of') && document.querySelectorAll('#live.stale').length === 1`, 'that the server ended');
});

test('arrows lead from card to card, and a click is not needed', async (browser) => {
  const server = await web(['--from', join(folder, 'sandbox.dra'), '--no-open']), page = await browser.page();
  await page.go(server.url);
  await page.until("document.querySelectorAll('[data-card]').length > 8");
  await page.value("document.querySelector('[data-card][tabindex=\"0\"]').focus()");
  const focused = 'document.activeElement.dataset.card', first = await page.value(focused);
  await page.press('ArrowRight');
  const second = await page.value(focused);
  assert.notEqual(second, first);
  await page.press('ArrowDown');
  assert.notEqual((await page.value(focused)).split('/')[0], first.split('/')[0]);
  assert.equal(await page.value("document.querySelectorAll('[data-card][tabindex=\"0\"]').length"), 1);
  await page.value('document.activeElement.click()');
  await page.until("!document.getElementById('details').hidden && document.activeElement.closest('#details') !== null", 'the focus is in the details');
  assert.equal(await page.value(text('#live')), `as of ${await page.value("document.getElementById('live').innerText.slice(6)")}`);
  await stop(server.process);
});

test('a report is one file that needs no network', async (browser) => {
  for (const redact of [[], ['--redact']]) {
    const file = join(folder, `report${redact.length}.html`);
    execFileSync(dra, ['web', '--output', file, ...redact], { env: { ...process.env, KUBECONFIG: join(folder, 'sandbox') } });
    const page = await browser.page();
    await page.send('Network.emulateNetworkConditions', { offline: true, latency: 0, downloadThroughput: 0, uploadThroughput: 0 });
    await page.go('file://' + file);
    await page.until("document.querySelectorAll('.row').length >= 10 && document.querySelector('.card.cut')", 'the fleet of the report');
    await click(page, '[data-view=waiting]');
    await page.until(`${text('.causes')}.includes('8 of the')`, 'the sentence of the report');
    await page.value("[...document.querySelectorAll('.cause button')].find((one) => one.innerText === 'What would help').click()");
    await page.until("document.querySelector('.cause .answer .sentence')", 'the answer of the report');
    assert.deepEqual(page.requests.filter((url) => !url.startsWith('file://')), []);
    assert.deepEqual(page.problems, []);
    assert.equal((await page.value('document.body.innerText')).includes('waits-0'), redact.length === 0);
    await shoot(page, `report${redact.length}`);
  }
});

// ---- live

test('it changes within a second, with one list and one watch, whatever is hidden, until credentials end', async (browser) => {
  const fake = await new FakeServer(plainFleet({ nodes: 3, devices: 4, held: 2 }), ['resourcequotas']).listen();
  writeFileSync(join(folder, 'fake'), kubeconfigOf(fake.address));
  const server = await web(['--no-open'], { KUBECONFIG: join(folder, 'fake') }), page = await browser.page(), other = await browser.page();
  for (const one of [page, other]) {
    await one.go(server.url);
    await one.until("document.querySelectorAll('.row').length === 3 && document.querySelectorAll('.card.whole').length === 2", 'three nodes, two cards in use');
  }
  for (const plural of ['resourceslices', 'resourceclaims', 'pods', 'nodes']) assert.deepEqual([fake.counts.get(`list ${plural}`), fake.counts.get(`watch ${plural}`)], [1, 1], plural);
  const began = Date.now(), claim = claimOf('ml', 'new-claim', 'node-2', 'gpu-3', 'new-pod');
  fake.set('resourceclaims', claim);
  await page.until("document.querySelectorAll('.card.whole').length === 3", 'the new claim');
  assert.ok(Date.now() - began < 1000, `${Date.now() - began} ms`);
  fake.remove('resourceclaims', claim);
  await page.until("document.querySelectorAll('.card.whole').length === 2", 'that it is gone');
  await page.until(`${text('#live')} === 'live'`);
  fake.endCredentials();
  await page.until(`${text('#banner')}.includes('credentials have ended') && /as of \\d{4}-/.test(${text('#banner')})`, 'that credentials ended', 20000);
  assert.equal(await page.value("document.querySelectorAll('.card.whole').length"), 2, 'the last state stays');
  fake.closed = false;
  await page.until(`${text('#live')} === 'live' && document.getElementById('banner').hidden`, 'live again', 20000);
  assert.equal(fake.writes, 0, 'nothing is written');
  await stop(server.process);
  fake.close();
  const closed = await new FakeServer(plainFleet({ nodes: 2, devices: 4, held: 2 }), ['resourceclaims', 'pods']).listen();
  writeFileSync(join(folder, 'closed'), kubeconfigOf(closed.address));
  const blind = await web(['--no-open'], { KUBECONFIG: join(folder, 'closed') });
  await page.go('about:blank');
  await page.go(blind.url);
  await page.until(`document.querySelectorAll('.card.unknown').length === 8 && ${text('#banner')}.includes('resourceclaims')`, 'that holders are hidden');
  assert.equal(await page.value("document.querySelectorAll('.card.free').length"), 0, 'nothing is said to be free');
  assert.ok(!/\d+ of \d+ (cards )?free/.test(await page.value('document.body.innerText')));
  await shoot(page, 'hidden');
  await stop(blind.process);
  closed.close();
});

test('--as: everything is asked as that user, who sees what that user may', async (browser) => {
  const fake = await new FakeServer(plainFleet({ nodes: 2, devices: 4, held: 2 })).listen(), config = join(folder, 'as'), page = await browser.page();
  fake.hidden.set('bob', new Set(['resourceclaims']));
  writeFileSync(config, kubeconfigOf(fake.address));
  const mine = await web(['--no-open'], { KUBECONFIG: config });
  await page.go(mine.url);
  await page.until("document.querySelectorAll('.card.whole').length === 2 && document.querySelectorAll('.card.free').length === 6", 'what I may see');
  await stop(mine.process);
  assert.deepEqual([...fake.users], ['']);
  fake.users.clear();
  const server = await web(['--no-open', '--as', 'bob'], { KUBECONFIG: config });
  await page.go('about:blank');
  await page.go(server.url);
  await page.until(`document.querySelectorAll('.card.unknown').length === 8 && ${text('#banner')}.includes('resourceclaims')`, 'what bob may see');
  const asked = await ask(server.address, '/api/ask', { method: 'POST', headers: { 'X-Dra-Key': await page.value("sessionStorage.getItem('dra-web-key')"), 'Content-Type': 'application/json' }, body: '{"verb":"history","words":["Pod","train-0"],"namespace":"web"}' });
  assert.equal(asked.status, 200);
  assert.ok(fake.counts.get('list events') > 0, 'events were asked for');
  await stop(server.process);
  const report = join(folder, 'as.html');
  // Not execFileSync: this process is the API server.
  assert.equal(await new Promise((resolve) => spawn(dra, ['web', '--as', 'bob', '--output', report], { env: { ...process.env, KUBECONFIG: config } }).on('exit', resolve)), 0);
  await page.go('file://' + report);
  await page.until(`document.querySelectorAll('.card.unknown').length === 8 && ${text('#banner')}.includes('resourceclaims')`, 'the report of what bob may see');
  assert.deepEqual([...fake.users], ['bob'], 'nothing is asked as myself');
  fake.close();
});

// ---- hostile texts

test('hostile texts stay text, on the page and in a report', async (browser) => {
  const file = join(folder, 'hostile.dra'), report = join(folder, 'hostile.html');
  writeFileSync(file, gzipSync(hostileWorld().join('\n') + '\n'));
  execFileSync(dra, ['web', '--from', file, '--output', report]);
  const server = await web(['--from', file, '--no-open']);
  for (const url of [server.url, 'file://' + report]) {
    const page = await browser.page();
    await page.go(url);
    await page.until("document.querySelectorAll('[data-card]').length >= 3", 'cards');
    for (const view of ['fleet', 'waiting', 'fleet']) {
      await click(page, `[data-view=${view}]`);
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
    for (const colour of ['team', 'class', 'state']) await choose(page, 'colour', colour);
    const labels = await page.value("[...document.getElementById('group').options].map((one) => one.value)");
    for (const label of labels) await choose(page, 'group', label);
    await page.value(`{
      const boxes = () => document.querySelectorAll('[data-card], button.node');
      for (let at = 0; at < boxes().length; ++at) {
        boxes()[at].click();
        for (let link = 0; at % 5 === 0 && link < document.querySelectorAll('#details .link').length; ++link) {
          boxes()[at].click();
          document.querySelectorAll('#details .link')[link]?.click();
        }
      }
    }`);
    await new Promise((resolve) => setTimeout(resolve, 300));
    await shoot(page, url.startsWith('file') ? 'hostile-report' : 'hostile');
    const host = new URL(server.address).host;
    assert.deepEqual(page.requests.filter((one) => !(one.startsWith(`http://${host}/`) || one.startsWith('file://') || one === 'about:blank')), [], 'no request to another host');
    assert.equal(await page.value(`typeof globalThis.${MARK}`), 'undefined', 'nothing ran');
    assert.equal(page.dialogs, 0);
    assert.deepEqual(page.problems.filter((one) => !one.includes('422')), []);
    assert.equal(await page.value("document.querySelectorAll('script:not([src]):not([type]), iframe, img, object, embed, link:not([href=\"/page/style.css\"]), base, form[action], a[href]:not(.skip), [onerror], [onclick], [onload]').length"), 0);
    assert.equal(await page.value("/[\\u202a-\\u202e\\u2066-\\u2069\\u0000-\\u0008\\u001b]/.test(document.documentElement.innerText)"), false, 'no controls or marks of direction');
    assert.ok((await page.value('document.body.innerText.length')) < 200000, 'long texts are cut');
    assert.ok(await page.value('document.documentElement.scrollWidth <= innerWidth + 1'), 'long names do not widen the page');
  }
  await stop(server.process);
});

// ---- the run

function sandbox() {
  const kubeconfig = join(folder, 'sandbox'), run = spawn(join(programs, 'dra-sandbox'), ['up', '--kubeconfig', kubeconfig], { stdio: ['ignore', 'pipe', 'pipe'] });
  started.push(run);
  return new Promise((resolve, reject) => {
    let said = '';
    for (const stream of [run.stdout, run.stderr])
      stream.on('data', (data) => {
        said += data;
        if (said.includes('dra-sandbox is ready')) resolve(kubeconfig);
      });
    run.on('exit', () => reject(new Error('the sandbox ended: ' + said)));
  });
}

// Objects by the API itself: no kubectl is needed.
async function create(kubeconfig, plural, path, object) {
  const config = readFileSync(kubeconfig, 'utf8'), server = /server: "?(\S+?)"?\s/.exec(config)[1], token = /token: "?([^\s"]+)/.exec(config)?.[1];
  const { request: secure } = await import('node:https');
  const status = await new Promise((resolve, reject) => {
    const { hostname, port } = new URL(server);
    const asked = secure({ hostname, port, path: `${path}/${plural}`, method: 'POST', rejectUnauthorized: false, headers: { 'Content-Type': 'application/json', ...(token ? { Authorization: `Bearer ${token}` } : {}) } }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    asked.on('error', reject);
    asked.end(JSON.stringify(object));
  });
  assert.equal(status, 201, `create ${plural}`);
}

const claimFor = (name, cls, count, selector) => ({ apiVersion: 'resource.k8s.io/v1', kind: 'ResourceClaim', metadata: { name, namespace: 'default' }, spec: { devices: { requests: [{ name: 'r', exactly: { deviceClassName: cls, count, ...(selector ? { selectors: [{ cel: { expression: selector } }] } : {}) } }] } } });
const podFor = (name, claim) => ({ apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default' }, spec: { containers: [{ name: 'c', image: 'x', resources: { claims: [{ name: 'g' }] } }], resourceClaims: [{ name: 'g', resourceClaimName: claim }] } });

async function prepare() {
  const kubeconfig = await sandbox(), ns = '/namespaces/default';
  await create(kubeconfig, 'resourceclaims', `/apis/resource.k8s.io/v1${ns}`, claimFor('mig', 'mig.nvidia.com', 1, 'device.attributes["gpu.nvidia.com"].profile == "1g.10gb"'));
  await create(kubeconfig, 'pods', `/api/v1${ns}`, podFor('mig-0', 'mig'));
  await create(kubeconfig, 'resourceclaims', `/apis/resource.k8s.io/v1${ns}`, claimFor('too-many', 'gpu.nvidia.com', 20));
  await create(kubeconfig, 'pods', `/api/v1${ns}`, podFor('waits-0', 'too-many'));
  for (const at of [0, 1]) {
    await create(kubeconfig, 'resourceclaims', `/apis/resource.k8s.io/v1${ns}`, claimFor(`of-group-${at}`, 'gpu.nvidia.com', 20));
    await create(kubeconfig, 'pods', `/api/v1${ns}`, { ...podFor(`member-${at}`, `of-group-${at}`), metadata: { name: `member-${at}`, namespace: 'default', labels: { 'scheduling.x-k8s.io/pod-group': 'train' } } });
  }
  writeFileSync(join(folder, 'wait.yaml'), JSON.stringify(podFor('more', 'too-many')));
  for (let tries = 0; tries < 100; ++tries) {
    const who = execFileSync(dra, ['top', 'claims', '-A', '-o', 'json'], { env: { ...process.env, KUBECONFIG: kubeconfig } }).toString();
    if (JSON.parse(who).claims.some((one) => one.claim === 'mig' && one.state === 'reserved')) break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  execFileSync(dra, ['snapshot', join(folder, 'sandbox.dra')], { env: { ...process.env, KUBECONFIG: kubeconfig } });
}

let browser;
try {
  await prepare();
  browser = await Browser.start();
  for (const [name, run] of tests.filter(([one]) => one.includes(only))) {
    const began = Date.now();
    await run(browser);
    console.log(`ok    ${name} (${((Date.now() - began) / 1000).toFixed(1)} s)`);
  }
} finally {
  await browser?.close();
  for (const one of started) if (one.exitCode === null) one.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
}
