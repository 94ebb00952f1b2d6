// The page: what is chosen, what is shown, and when it is drawn again.

import { make, byId } from './dom.js';
import { takeKey, followServer, readReport, askServer } from './source.js';
import { readAddress, writeAddress } from './address.js';
import { RowList, focusMain } from './rows.js';
import { detailsOf, ageText } from './details.js';
import { waitingView, whatIfView } from './waiting.js';
import { nodeMatches, groupChoices, groupsOfNodes, summaryParts, findCardIn } from './fleet_view.js';
import { World, fleetNodes, waitingPods } from '../model/model.js';

const DRAW_EVERY = 200;  // ms, at least
const VIEWS = [['fleet', 'Fleet'], ['waiting', 'Waiting'], ['whatif', 'What if']];

const chosen = readAddress();
const reportData = byId('data');
const answers = new Map();  // of a report: ["explain", "ns", "pod/x"] as text -> its answer
const now = () => (reportData || world.header.live === false ? Date.parse(world.header.taken) : Date.now());
let world = new World();
let nodes = [];
let lost = null;  // {why, since, final}
let list = null, drawn = '', timer = 0, lastDraw = 0, drawnVersion = -1, heardAt = Date.now();

// While claims are on their way, nobody knows what is free, either.
const hidden = () => world.hides('resourceclaims') || (world.header.reading ?? []).includes('resourceclaims');
const isRead = () => world.complete && (world.header.reading ?? []).length === 0;
const page = {
  get world() { return world; },
  get hidden() { return hidden(); },
  canAsk: !reportData,
  now, open,
  ask: (verb, words, ns, text) => (reportData ? answerOfReport(verb, words, ns) : askServer(verb, words, ns, text)),
  findNode: (name) => nodes.find((one) => one.name === name),
  findCard: (id) => nodes.map((node) => (id.startsWith(node.name + '/') ? findCardIn(node, id) : null)).find(Boolean) ?? null,
};

async function answerOfReport(verb, words, ns) {
  const known = answers.get(JSON.stringify([verb, ns, words[0] ?? '']));
  if (known) return JSON.parse(known);
  throw new Error('This report has no answer about it.');
}

// ---- choosing

function choose(changes) {
  Object.assign(chosen, changes);
  writeAddress(chosen);
  draw(true);
}

function open(target) {
  const text = target ? `${target.kind} ${target.id ?? target.key ?? target.name}` : '';
  choose({ open: text });
  if (target) byId('details').querySelector('button')?.focus();
}

function targetOf(text) {
  const space = text.indexOf(' '), kind = text.slice(0, space), rest = text.slice(space + 1);
  return kind === 'card' ? { kind, id: rest } : kind === 'node' ? { kind, name: rest } : { kind, key: rest };
}

function makeControls() {
  const search = make('input', { type: 'search', id: 'search', placeholder: 'node, label, device, claim, pod, free, cut \u2026', 'aria-label': 'Search', autocomplete: 'off', spellcheck: 'false', maxlength: 200 });
  search.value = chosen.q;
  let typing = 0;
  search.addEventListener('input', () => {
    clearTimeout(typing);
    typing = setTimeout(() => choose({ q: search.value }), 120);
  });
  const group = make('select', { id: 'group', onchange: () => choose({ group: group.value }) });
  const colour = make('select', { id: 'colour', onchange: () => choose({ colour: colour.value }) }, [['state', 'state'], ['team', 'team (namespace)'], ['class', 'class']].map(([value, text]) => make('option', { value }, text)));
  colour.value = chosen.colour;
  byId('controls').replaceChildren(search, make('span', { class: 'pair' }, make('label', { for: 'group' }, 'Group by'), group), make('span', { class: 'pair' }, make('label', { for: 'colour' }, 'Colour by'), colour));
}

function fillGroupChoices() {
  const select = byId('group'), choices = ['', 'pool', 'driver', ...groupChoices(nodes)];
  if (chosen.group && !choices.includes(chosen.group)) choices.push(chosen.group);
  const text = choices.join('\n');
  if (select.dataset.choices !== text) {
    select.replaceChildren(...choices.map((value) => make('option', { value }, value === '' ? 'nothing' : value === 'pool' || value === 'driver' ? value : `label ${value}`)));
    choices.forEach((value, at) => { select.options[at].value = value; });
    select.dataset.choices = text;
  }
  select.value = chosen.group;
}

function drawTabs() {
  const waits = waitingPods(world).length, tabs = byId('tabs');
  const texts = VIEWS.map(([view, title]) => (view === 'waiting' ? `${title} (${world.hides('pods') ? (waits ? `${waits} seen` : 'not visible') : waits})` : title));
  if (!tabs.children.length)
    tabs.replaceChildren(...VIEWS.map(([view]) => make('button', { type: 'button', role: 'tab', 'data-view': view, onclick: () => choose({ view, open: '' }) })));
  [...tabs.children].forEach((tab, at) => {
    if (tab.textContent !== texts[at]) tab.textContent = texts[at];
    tab.setAttribute('aria-selected', String(tab.dataset.view === chosen.view));
  });
}

// ---- drawing

function sourceText() {
  const header = world.header;
  if (!header.format) return 'Reading\u2026';
  const from = header.redacted ? 'a redacted cluster' : header.server || 'a cluster';
  return `${from}${header.serverVersion ? `, Kubernetes ${header.serverVersion}` : ''}`;
}

function drawState() {
  const header = world.header, troubles = header.troubles ?? [], live = byId('live'), banner = byId('banner');
  byId('source').textContent = sourceText();
  const words = [];
  const time = (value) => new Date(value).toISOString().replace('T', ' ').slice(0, 19) + 'Z';
  if (lost) words.push(`${lost.why}. What is shown is as of ${time(lost.since)}.`);
  else if (troubles.length) {
    const ended = troubles.find((one) => one.status === 401), first = ended ?? troubles[0];
    words.push(`${ended ? 'Your credentials have ended' : 'The cluster does not answer'}: ${first.why}. What is shown is as of ${time(first.since)}${ended ? '; log in again, then start kubectl dra web again if this stays' : ''}.`);
  }
  const unseen = (header.hidden ?? []).map((one) => `${one.what} (${one.why})`);
  if (unseen.length) words.push(`Not visible: ${unseen.slice(0, 8).join('; ')}.`);
  banner.hidden = words.length === 0;
  banner.replaceChildren(...words.map((text) => make('p', {}, text)));
  banner.className = lost || troubles.length ? 'bad' : '';
  const reading = header.reading?.length ? header.reading : ['objects'];
  live.className = lost || troubles.length ? 'stale' : header.live && isRead() ? 'live' : '';
  live.textContent = lost ? 'not live' : !header.format ? '' : troubles.length ? 'not live' : !isRead() ? `reading ${reading.slice(0, 3).join(', ')}\u2026` : header.live === false ? `as of ${header.taken}` : 'live';
}

function drawFleet() {
  const main = byId('main');
  if (!list || !main.contains(list.inside)) list = new RowList(main, open);
  const words = chosen.q.toLowerCase().split(/\s+/).filter(Boolean);
  const found = words.length ? nodes.filter((node) => nodeMatches(node, words, hidden())) : nodes;
  byId('summary').replaceChildren(...summaryParts(found, world, hidden(), chosen.colour));
  list.show(groupsOfNodes(found, chosen.group, hidden()), { colour: chosen.colour, hidden: hidden(), open: chosen.open, isRead: isRead() });
  if (found.length === 0 && world.header.format) list.inside.append(make('p', { class: 'note' }, nodes.length ? 'Nothing on this page is called so.' : 'No nodes are visible.'));
}

function drawDetails() {
  const details = byId('details'), wasHidden = details.hidden;
  details.hidden = chosen.open === '';
  document.body.classList.toggle('opened', chosen.open !== '');
  if (details.hidden) return details.replaceChildren();
  const close = make('button', { type: 'button', class: 'close', 'aria-label': 'Close', onclick: () => open(null) }, '\u00d7');
  details.replaceChildren(close, ...detailsOf(targetOf(chosen.open), page).filter(Boolean));
  if (wasHidden) details.scrollTop = 0;
  return undefined;
}

// Views that ask questions are drawn again when they are chosen, or when what they show has changed for a while.
function drawView(force) {
  const main = byId('main'), fleet = chosen.view === 'fleet';
  byId('controls').hidden = byId('summary').hidden = !fleet;
  if (fleet) return drawFleet();
  const waiting = chosen.view === 'waiting' ? waitingPods(world).map((pod) => pod.metadata.uid).join() : '', key = chosen.view + waiting + (world.header.reading ?? []).length;
  if (!force && drawn === key) return undefined;
  if (drawn === key && main.querySelector('.view')) return undefined;
  drawn = key;
  return main.replaceChildren(make('div', { class: 'view' }, (chosen.view === 'waiting' ? waitingView(page) : whatIfView(page)).filter(Boolean)));
}

function draw(force = false) {
  clearTimeout(timer);
  timer = 0;
  lastDraw = performance.now();
  const changed = drawnVersion !== world.version;
  if (changed) nodes = fleetNodes(world);
  drawnVersion = world.version;
  drawTabs();
  drawState();
  fillGroupChoices();
  if (chosen.view === 'fleet') drawn = 'fleet';
  drawView(force);
  const key = chosen.open;
  if (force || (changed && key && !byId('details').contains(document.activeElement))) drawDetails();
  lastDraw = Math.max(lastDraw, performance.now());
}

function drawLater() {
  if (timer) return;
  const took = draw.took ?? 0, wait = Math.max(0, lastDraw + Math.max(DRAW_EVERY, took * 3) - performance.now());
  timer = setTimeout(() => {
    const began = performance.now();
    draw();
    draw.took = performance.now() - began;
  }, wait);
}

// ---- starting

addEventListener('hashchange', () => {
  takeKey();
  Object.assign(chosen, readAddress());
  byId('search').value = chosen.q;
  byId('colour').value = chosen.colour;
  draw(true);
});
addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && chosen.open) {
    open(null);
    focusMain();
  } else if (event.key === '/' && !/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? '')) {
    event.preventDefault();
    byId('search').focus();
  }
});
byId('skip').addEventListener('click', (event) => {
  event.preventDefault();
  focusMain();
});

function takeLine(text) {
  heardAt = Date.now();
  if (text[0] === '?') {
    const tab = text.indexOf('\t');
    answers.set(JSON.stringify(JSON.parse(text.slice(1, tab))), text.slice(tab + 1));
  } else {
    world.line(text);
  }
}

makeControls();
if (reportData) {
  readReport(reportData, takeLine, drawLater).then(() => {
    world.complete = true;
    draw(true);
  });
} else {
  takeKey().then(() => followServer({
    begin: () => {
      world = new World();
      lost = null;
      drawnVersion = -1;
    },
    line: takeLine,
    portion: drawLater,
    lost: (why, final) => {
      lost ??= { why, since: heardAt };
      Object.assign(lost, { why, final });
      draw();
    },
  }));
}
draw(true);
