// The fleet: nodes in groups, what is free, and the words that choose among them.

import { make, named } from './dom.js';
import { legend } from './cards.js';
import { siliconOf, sumsOf, naturalOrder, shapesText } from '../model/model.js';

const MAX_LABELS = 60;  // keys offered to group by

// Whether a node is asked for: each word must be in its name, its labels, its drivers, or what its devices are and
// who holds them; "free" and the other states ask for cards of that state.
const STATES = new Set(['free', 'whole', 'cut', 'bad']);
export function nodeMatches(node, words, hidden) {
  return words.every((word) => {
    if (STATES.has(word)) return node.counts[word] > 0 && !(hidden && word === 'free');
    node.text ??= textOfNode(node);
    return node.text.includes(word);
  });
}

function textOfNode(node) {
  const texts = [node.name, ...Object.entries(node.labels).map(([key, value]) => `${key}=${value}`)];
  for (const row of node.rows) {
    texts.push(row.driver);
    for (const part of row.parts) {
      texts.push(part.pool.name);
      for (const device of part.devices) {
        if (part.devices.length <= 64 || device.held) texts.push(device.name);
        for (const holder of device.holders) texts.push(`${holder.claim.metadata?.namespace}/${holder.claim.metadata?.name}`, ...(holder.claim.status?.reservedFor ?? []).map((one) => one.name));
      }
    }
  }
  return texts.join('\n').slice(0, 100000).toLowerCase();
}

// Labels that nodes can be grouped by: those that put several nodes together first.
export function groupChoices(nodes) {
  const values = new Map();
  for (const node of nodes)
    for (const [key, value] of Object.entries(node.labels)) {
      if (!values.has(key)) values.set(key, new Set());
      if (values.get(key).size <= nodes.length) values.get(key).add(value);
    }
  const keys = [...values].filter(([, some]) => some.size < Math.max(2, nodes.length)).map(([key]) => key);
  return keys.sort().slice(0, MAX_LABELS);
}

function groupOf(node, choice) {
  if (choice === 'pool') return [...new Set(node.rows.flatMap((row) => row.parts.map((part) => part.pool.name)))].join(', ') || 'no pool';
  if (choice === 'driver') return node.rows.map((row) => row.driver).join(', ') || 'no driver';
  return Object.hasOwn(node.labels, choice) ? node.labels[choice] || '(empty)' : `without ${choice}`;
}

export function groupsOfNodes(nodes, choice, hidden) {
  if (!choice) return [{ title: null, text: '', nodes }];
  const groups = new Map();
  for (const node of nodes) {
    const title = groupOf(node, choice);
    if (!groups.has(title)) groups.set(title, []);
    groups.get(title).push(node);
  }
  return [...groups].sort((a, b) => naturalOrder(a[0], b[0])).map(([title, own]) => {
    const total = own.reduce((all, one) => all + one.counts.total, 0), free = own.reduce((all, one) => all + one.counts.free, 0);
    return { title, nodes: own, text: `${own.length} ${own.length === 1 ? 'node' : 'nodes'}, ${hidden ? `${total} cards` : `${free} of ${total} cards free`}` };
  });
}

// What is free, by driver and shape.
export function summaryParts(nodes, world, hidden, colour) {
  if (world.hides('resourceslices')) return [make('p', { class: 'problem' }, 'Devices are not visible: you may not list resourceslices.')];
  const sums = sumsOf(nodes);
  const bar = (sum) => make('span', { class: 'bar', 'aria-hidden': 'true' }, (hidden ? [['whole', sum.whole], ['cut', sum.cut], ['unknown', sum.free], ['bad', sum.bad]] : [['whole', sum.whole], ['cut', sum.cut], ['free', sum.free], ['bad', sum.bad]])
    .filter(([, count]) => count > 0).map(([state, count]) => make('span', { class: state, style: { 'flex-grow': String(count) } })));
  const cards = (sum) => hidden ? `${sum.total} cards: ${sum.whole + sum.cut} are seen in use; who holds the others is not visible`
    : `${sum.free} of ${sum.total} cards free, ${sum.whole} in use, ${sum.cut} in part${sum.bad ? `, ${sum.bad} cannot be had` : ''}`;
  return [
    make('ul', { class: 'sums', tabindex: 0, 'aria-label': 'By driver' }, sums.map((sum) => make('li', {}, make('strong', {}, named(sum.driver)), bar(sum), make('span', {}, cards(sum)),
      !hidden && sum.shapes.length ? make('details', {}, make('summary', {}, 'can be cut'), make('p', {}, named(shapesText(sum.shapes) || 'nothing'))) : null, !hidden && sum.sharedLeft ? make('p', {}, 'left to share: ', named(sum.sharedLeft)) : null))),
    sums.length ? legend(colour, world) : make('p', {}, 'No devices are published.'),
  ];
}

export function findCardIn(node, id) {
  for (const row of node?.rows ?? [])
    for (const part of row.parts)
      for (const card of siliconOf(part).cards)
        if (`${node.name}/${part.pool.driver}/${part.pool.name}/${card.devices[0].name}` === id) return { card, part, node: node.name };
  return null;
}
