// The list of nodes: groups of rows of which only those in sight exist, so that 5,000 nodes scroll like ten.

import { make, byId } from './dom.js';
import { cardBox } from './cards.js';
import { siliconOf, SHARED_ROW } from '../model/model.js';

const NODE_HEIGHT = 40, GROUP_HEIGHT = 44, BEYOND = 400;  // pixels

export class RowList {
  constructor(host, onOpen) {
    this.host = host;
    this.onOpen = onOpen;
    this.inside = make('div', { class: 'rows', role: 'grid', 'aria-label': 'Nodes and their devices' });
    host.replaceChildren(this.inside);
    this.drawn = new Map();
    this.rows = [];
    this.active = '';
    addEventListener('scroll', () => this.later(), { passive: true });
    addEventListener('resize', () => this.later());
    this.inside.addEventListener('keydown', (event) => this.onKey(event));
    this.inside.addEventListener('focusin', (event) => {
      const card = event.target.closest('[data-card]');
      if (card) this.active = card.dataset.card;
    });
  }

  // groups: [{title, text, nodes}]; view: {colour, hidden, open}
  show(groups, view) {
    this.view = view;
    this.rows = [];
    let top = 0;
    for (const group of groups) {
      if (group.title !== null) {
        this.rows.push({ kind: 'group', key: 'group ' + group.title, group, top, height: GROUP_HEIGHT });
        top += GROUP_HEIGHT;
      }
      for (const node of group.nodes) {
        this.rows.push({ kind: 'node', key: 'node ' + node.name, node, top, height: NODE_HEIGHT });
        top += NODE_HEIGHT;
      }
    }
    this.inside.style.height = top + 'px';
    this.inside.setAttribute('aria-rowcount', String(this.rows.length));
    const focused = document.activeElement?.closest?.('[data-card]')?.dataset.card;
    for (const row of this.drawn.values()) row.remove();
    this.drawn.clear();
    this.draw();
    if (focused) this.focusCard(focused);
  }
  later() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }
  firstBelow(y) {
    let low = 0, high = this.rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.rows[middle].top + this.rows[middle].height < y) low = middle + 1;
      else high = middle;
    }
    return low;
  }
  draw() {
    if (!this.inside.isConnected) return;
    const from = -this.inside.getBoundingClientRect().top - BEYOND, to = from + innerHeight + 2 * BEYOND, wanted = new Set();
    for (let at = this.firstBelow(from); at < this.rows.length && this.rows[at].top < to; ++at) {
      const row = this.rows[at];
      wanted.add(row.key);
      if (this.drawn.has(row.key)) continue;
      const made = row.kind === 'group' ? this.groupRow(row) : this.nodeRow(row, at);
      made.style.top = row.top + 'px';
      this.drawn.set(row.key, made);
      this.inside.append(made);
    }
    for (const [key, made] of this.drawn)
      if (!wanted.has(key)) {
        made.remove();
        this.drawn.delete(key);
      }
    this.enterByTab();
  }
  // One card can be reached by the tab key; arrows lead on from it.
  enterByTab() {
    const cards = this.inside.querySelectorAll('[data-card]');
    for (const card of cards) card.tabIndex = -1;
    const entry = [...cards].find((one) => one.dataset.card === this.active) ?? cards[0];
    if (entry) entry.tabIndex = 0;
  }
  groupRow({ group }) {
    return make('div', { class: 'group', role: 'row' }, make('h2', { role: 'rowheader' }, make('bdi', {}, group.title)), make('span', { role: 'gridcell' }, group.text));
  }
  nodeRow({ node }, at) {
    const name = node.name === SHARED_ROW ? 'shared by nodes' : node.name;
    const title = make('button', { type: 'button', class: 'node', onclick: () => this.onOpen({ kind: 'node', name: node.name }) }, make('bdi', {}, name), node.cordoned ? make('small', {}, ' cordoned') : null);
    const boxes = make('div', { class: 'boxes', role: 'gridcell' });
    node.rows.forEach((row) => {
      for (const part of row.parts)
        siliconOf(part).cards.forEach((card) => {
          const id = `${node.name}/${part.pool.driver}/${part.pool.name}/${card.devices[0].name}`;
          boxes.append(cardBox(card, part, { ...this.view, id, chosen: this.view.open === 'card ' + id, onOpen: () => this.onOpen({ kind: 'card', id }) }));
        });
      boxes.append(make('span', { class: 'gap' }));
    });
    const text = this.view.hidden ? `${node.counts.whole + node.counts.cut} seen in use` : `${node.counts.free} of ${node.counts.total} free`;
    return make('div', { class: 'row', role: 'row', 'aria-rowindex': at + 1 }, make('div', { role: 'rowheader', class: 'head' }, title), boxes, make('div', { role: 'gridcell', class: 'count' }, node.counts.total ? text : this.view.isRead ? 'no devices' : 'reading\u2026'));
  }

  focusCard(id) {
    const card = [...this.inside.querySelectorAll('[data-card]')].find((one) => one.dataset.card === id);
    card?.focus({ preventScroll: true });
  }
  onKey(event) {
    const card = event.target.closest?.('[data-card]');
    if (!card) return;
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key], rowStep = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined && rowStep === undefined) return;
    event.preventDefault();
    const own = card.closest('.row'), cards = [...own.querySelectorAll('[data-card]')], at = cards.indexOf(card);
    if (step !== undefined && cards[at + step]) return cards[at + step].focus();
    const rows = [...this.inside.querySelectorAll('.row')].sort((a, b) => parseFloat(a.style.top) - parseFloat(b.style.top));
    const next = rows.indexOf(own) + (rowStep ?? step), other = rows[next] ? [...rows[next].querySelectorAll('[data-card]')] : [];
    const target = rowStep !== undefined ? other[Math.min(at, other.length - 1)] : step > 0 ? other[0] : other.at(-1);
    target?.focus();
    target?.scrollIntoView({ block: 'nearest' });
  }
}

// The way from the keyboard to the list.
export function focusMain() {
  byId('main').focus();
}
