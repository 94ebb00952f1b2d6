// Chromium of Debian by the DevTools protocol, with what node has built in.

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, delimiter } from 'node:path';
import { connectSocket } from './socket.mjs';

export function chromiumPath() {
  for (const folder of (process.env.PATH ?? '').split(delimiter))
    for (const name of ['chromium', 'chromium-browser', 'google-chrome']) if (existsSync(join(folder, name))) return join(folder, name);
  return null;
}

// One browser with a profile of its own, gone after close().
export class Browser {
  static async start() {
    const browser = new Browser();
    browser.profile = mkdtempSync(join(tmpdir(), 'dra-chromium-'));
    browser.process = spawn(chromiumPath(), ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run', '--disable-background-networking', '--disable-component-update',
      '--disable-sync', '--disable-extensions', '--disable-default-apps', '--remote-debugging-port=0', `--user-data-dir=${browser.profile}`, 'about:blank'], { stdio: ['ignore', 'ignore', 'pipe'] });
    const address = await new Promise((resolve, reject) => {
      let text = '';
      browser.process.stderr.on('data', (data) => {
        text += data;
        const found = /DevTools listening on (ws:\S+)/.exec(text);
        if (found) resolve(found[1]);
      });
      browser.process.on('exit', () => reject(new Error('chromium ended: ' + text)));
    });
    browser.socket = await connectSocket(address, (text) => browser.heard(JSON.parse(text)));
    browser.calls = new Map();
    browser.pages = new Map();
    browser.last = 0;
    return browser;
  }
  heard(message) {
    if (message.id) {
      const call = this.calls.get(message.id);
      this.calls.delete(message.id);
      if (message.error) call?.reject(new Error(`${call.method}: ${message.error.message}`));
      else call?.resolve(message.result);
    } else {
      this.pages.get(message.sessionId)?.heard(message);
    }
  }
  send(method, params = {}, sessionId = undefined) {
    return new Promise((resolve, reject) => {
      const id = ++this.last;
      this.calls.set(id, { resolve, reject, method });
      this.socket.send(JSON.stringify({ id, method, params, sessionId }));
    });
  }
  async page({ width = 1280, height = 800, dark = false, motion = true } = {}) {
    const { targetId } = await this.send('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true });
    const page = new Page(this, sessionId, targetId);
    this.pages.set(sessionId, page);
    for (const domain of ['Page', 'Runtime', 'Network', 'Log']) await page.send(`${domain}.enable`);
    await page.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false });
    await page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }, { name: 'prefers-reduced-motion', value: motion ? 'no-preference' : 'reduce' }] });
    return page;
  }
  async close() {
    const ended = new Promise((resolve) => this.process.on('exit', resolve));
    this.send('Browser.close').catch(() => {});
    const late = setTimeout(() => this.process.kill('SIGKILL'), 5000);
    await ended;
    clearTimeout(late);
    // Processes of the browser may still write for a moment.
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

class Page {
  constructor(browser, sessionId, targetId) {
    Object.assign(this, { browser, sessionId, targetId, requests: [], problems: [], dialogs: 0 });
  }
  send(method, params) {
    return this.browser.send(method, params, this.sessionId);
  }
  heard({ method, params }) {
    if (method === 'Network.requestWillBeSent') this.requests.push(params.request.url);
    if (method === 'Runtime.exceptionThrown') this.problems.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
    if (method === 'Log.entryAdded' && params.entry.level === 'error') this.problems.push(params.entry.text + ' ' + (params.entry.url ?? ''));
    if (method === 'Page.javascriptDialogOpening') {
      ++this.dialogs;
      this.send('Page.handleJavaScriptDialog', { accept: false });
    }
  }
  go(url) {
    return this.send('Page.navigate', { url });
  }
  // The value of an expression in the page; promises are awaited.
  async value(expression) {
    const { result, exceptionDetails } = await this.send('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }
  async until(expression, what = expression, limit = 15000) {
    const end = Date.now() + limit;
    for (;;) {
      const value = await this.value(expression).catch(() => undefined);
      if (value) return value;
      if (Date.now() > end) throw new Error(`not within ${limit} ms: ${what}\n${await this.value('document.body.innerText.slice(0, 3000)')}\n${this.problems.join('\n')}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
  async press(key, code = key) {
    for (const type of ['rawKeyDown', 'keyUp']) await this.send('Input.dispatchKeyEvent', { type, key, code, windowsVirtualKeyCode: { Enter: 13, Tab: 9, Escape: 27, ArrowRight: 39, ArrowDown: 40 }[key] ?? 0 });
  }
  async picture() {
    return Buffer.from((await this.send('Page.captureScreenshot', { format: 'png' })).data, 'base64');
  }
}
