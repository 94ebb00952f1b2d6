// Building the page. Whatever comes from the cluster is text: nothing here, or anywhere in the page, parses markup.

const MAX_SHOWN = 400, MAX_SENTENCE = 4000;  // characters of one text; objects may have 64 KiB
// Controls, marks of direction, and characters without width.
const INVISIBLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

// A text as people can read it: what would steer a terminal or turn the direction of writing is spelled out.
export function shown(text, most = MAX_SHOWN) {
  const all = String(text ?? '');
  const cut = all.length > most ? all.slice(0, most) + `\u2026 (${all.length} characters)` : all;
  return cut.replace(INVISIBLE, (one) => '\\u' + one.charCodeAt(0).toString(16).padStart(4, '0'));
}

// make('button', {class: 'copy', onclick: f, 'aria-label': 'Copy'}, 'Copy', child...)
export function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
    else if (name === 'style') for (const [property, set] of Object.entries(value)) made.style.setProperty(property, set);
    else made.setAttribute(name, value === true ? '' : shown(value));
  }
  for (const child of children.flat(Infinity)) if (child !== undefined && child !== null && child !== false) made.append(child instanceof Node ? child : shown(child));
  return made;
}

// A name, which keeps its own direction of writing.
export const named = (text) => make('bdi', {}, text);

// A sentence of a verb, which may be long.
export function sentence(text) {
  const made = make('bdi');
  made.textContent = shown(text, MAX_SENTENCE);
  return made;
}

export function byId(id) {
  return document.getElementById(id);
}

const PLAIN_WORD = /^[A-Za-z0-9._/:=@%+,-]+$/;
// A word of a command line; null if it has characters that a terminal would obey.
export function quotedWord(word) {
  if (PLAIN_WORD.test(word)) return word;
  if (word.length > 1000 || word.search(INVISIBLE) >= 0 || word.includes('\n') || word.includes('\t')) return null;
  return `'${word.replaceAll("'", "'\\''")}'`;
}

// A command with a button that copies it; nothing if a word of it cannot be written.
export function commandLine(...words) {
  const quoted = words.map((word) => quotedWord(String(word)));
  if (quoted.includes(null)) return null;
  const text = quoted.join(' ');
  const button = make('button', { type: 'button', class: 'copy', 'aria-label': `Copy ${text}`, onclick: () => copyText(text, button) }, 'Copy');
  return make('div', { class: 'command' }, make('code', {}, text), button);
}

async function copyText(text, button) {
  let done = 'Copied';
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    done = 'Not copied';
  }
  button.replaceChildren(done);
  setTimeout(() => button.replaceChildren('Copy'), 1500);
}
