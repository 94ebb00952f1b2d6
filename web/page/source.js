// Where the page's objects come from: the stream of a server, or the data in a report's own file. A ticket comes in
// the address's fragment and goes out of the address bar; the key that the server gives for it is kept in the session's
// storage and goes in a header.

const KEY = 'dra-web-key';
const RETRY_FIRST = 500, RETRY_MOST = 10000;  // ms
const PORTION = 12;  // ms of reading lines before the page may draw

// The ticket of the address, which works once, becomes the key of this tab.
export async function takeKey() {
  const parameters = new URLSearchParams(location.hash.slice(1)), ticket = parameters.get('key');
  if (ticket === null) return;
  parameters.delete('key');
  const rest = parameters.toString();
  history.replaceState(null, '', location.pathname + (rest ? '#' + rest : ''));
  const answer = await fetch('/api/key', { method: 'POST', cache: 'no-store', headers: { 'X-Dra-Key': ticket } }).catch(() => null);
  if (answer?.ok) sessionStorage.setItem(KEY, (await answer.json()).key);
}

const headersWithKey = () => ({ 'X-Dra-Key': sessionStorage.getItem(KEY) ?? '' });
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Lines of a stream of bytes, a portion at a time.
async function readLines(stream, onLine, onPortion) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '', began = performance.now();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    const lines = (rest + value).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      if (line) onLine(line);
      if (performance.now() - began < PORTION) continue;
      onPortion();
      await pause(0);
      began = performance.now();
    }
    onPortion();
  }
  if (rest) onLine(rest);
  onPortion();
}

// The data of a report.
export async function readReport(element, onLine, onPortion) {
  const bytes = Uint8Array.from(atob(element.textContent), (one) => one.charCodeAt(0));
  element.remove();
  await readLines(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip')), onLine, onPortion);
}

// Follows the server until the page is closed. `on`: {begin(), line(text), portion(), lost(why, final)}.
export async function followServer(on) {
  let wait = RETRY_FIRST;
  for (;;) {
    let why = 'the server of this page ended', final = false;
    try {
      const answer = await fetch('/api/stream', { headers: headersWithKey(), cache: 'no-store' });
      if (answer.ok) {
        wait = RETRY_FIRST;
        on.begin();
        await readLines(answer.body, on.line, on.portion);
      } else {
        final = answer.status === 401;
        why = final ? 'this address has no key, or one that was used before: kubectl dra web --no-open prints another one' : (await answer.json().catch(() => ({}))).error ?? `the server answers ${answer.status}`;
      }
    } catch {
      why = 'the server of this page does not answer';
    }
    on.lost(why, final);
    if (final) return;
    await pause(wait);
    wait = Math.min(wait * 2, RETRY_MOST);
  }
}

// The answer of a verb, as with -o json. Throws an Error with the server's words.
export async function askServer(verb, words, ns = '', text = '') {
  const answer = await fetch('/api/ask', {
    method: 'POST', cache: 'no-store', headers: { ...headersWithKey(), 'Content-Type': 'application/json' },
    body: JSON.stringify({ verb, words, namespace: ns, document: text }),
  });
  const read = await answer.json().catch(() => ({ error: `the server answers ${answer.status}` }));
  if (!answer.ok) throw new Error(read.error ?? `the server answers ${answer.status}`);
  return read;
}
