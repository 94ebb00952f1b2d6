// Silicon: which devices of a part of a pool are one card, what state each card is in, which partitions can still be
// cut, and what is left of shared devices. The rules are those of pkg/inspect/state (silicon.cc, shapes.cc) and of
// `kubectl dra top` (verbs/top_nodes.cc).

import { amountOf, shortAmountText } from './quantity.js';
import { byText } from './pool.js';

const MAX_SHAPE_STEPS = 200000;
const MAX_MEMOS = 20000;

// Counter -> amount, without amounts of zero, in the order of set and counter.
function counterUse(device) {
  if (device.use) return device.use;
  const use = new Map();
  for (const [set, counter, amount] of device.draws)
    if (amount !== 0n) use.set(set + '\n' + counter, (use.get(set + '\n' + counter) ?? 0n) + amount);
  device.use = new Map([...use].sort((a, b) => byText(a[0], b[0])));
  return device.use;
}

function slicesOfPart(part) {
  return part.pool.current.filter((slice) => slice.counterSets.length > 0 || slice.nodeName === '' || slice.nodeName === part.node);
}

// The devices of the part, in the order of its slices; a name that is published twice counts as its last device.
function listedDevices(part, slices) {
  const known = new Map(part.devices.map((device) => [device.name, device]));
  const listed = [];
  for (const slice of slices)
    for (const device of slice.devices) if (known.has(device.name)) listed.push(known.get(device.name));
  return listed;
}

// Devices that draw on the same counter set are one card; so is one that draws on none.
function collectCards(devices) {
  const cards = [], root = [], ofSet = new Map();
  const find = (at) => {
    while (root[at] !== at) at = root[at];
    return at;
  };
  for (const device of devices) {
    const own = cards.length;
    cards.push({ devices: [device], most: new Map(counterUse(device)) });
    root.push(own);
    let into = own;
    for (const counter of counterUse(device).keys()) {
      const set = counter.slice(0, counter.indexOf('\n'));
      if (!ofSet.has(set)) {
        ofSet.set(set, into);
        continue;
      }
      const a = find(into), b = find(ofSet.get(set));
      if (a === b) continue;
      into = Math.min(a, b);
      const from = Math.max(a, b);
      root[from] = into;
      cards[into].devices.push(...cards[from].devices);
      for (const [key, amount] of cards[from].most)
        if (amount > (cards[into].most.get(key) ?? -1n)) cards[into].most.set(key, amount);
      cards[from] = null;
    }
  }
  return cards.filter(Boolean);
}

const sameUse = (a, b) => a.size === b.size && [...a].every(([key, amount]) => b.get(key) === amount);

function stateOfCard(card, usable) {
  let held = false, heldWhole = false, hasWhole = false, wholeCanBeHad = false, anyCanBeHad = false;
  for (const device of card.devices) {
    const whole = card.devices.length === 1 || sameUse(counterUse(device), card.most);
    if (whole) card.whole ??= device;
    hasWhole ||= whole;
    wholeCanBeHad ||= whole && device.canBeHad;
    anyCanBeHad ||= device.canBeHad;
    if (!device.held) continue;
    held = true;
    heldWhole ||= whole && !device.shared;
  }
  if (held) return heldWhole ? 'whole' : 'cut';
  return usable && (hasWhole ? wholeCanBeHad : anyCanBeHad) ? 'free' : 'bad';
}

// How much of its card a device takes, 1 for all of it: the mean over the card's counters.
export function shareOfCard(device, card) {
  if (card.devices.length === 1 || card.most.size === 0) return 1;
  let sum = 0;
  const use = counterUse(device);
  for (const [counter, all] of card.most) sum += all > 0n ? Number(((use.get(counter) ?? 0n) * 10000n) / all) / 10000 : 0;
  return sum / card.most.size;
}

// ---- shapes

function attributeText(device, wanted) {
  const attributes = device.object.attributes ?? {};
  for (const name of Object.keys(attributes).sort(byText))
    if (name.slice(name.indexOf('/') + 1) === wanted && typeof attributes[name]?.string === 'string') return attributes[name].string;
  return '';
}

// Whether it takes all of each counter set that it draws on.
function takesAll(use, totals) {
  const setOf = (key) => key.slice(0, key.indexOf('\n'));
  const sets = new Set([...use.keys()].map(setOf));
  return [...totals].every(([key, total]) => !sets.has(setOf(key)) || use.get(key) === total);
}

// Without a profile: the type, and the amounts of each counter. A whole card has so many that they would drown the others.
function shapeName(device, totals) {
  if (device.shape !== undefined) return device.shape;
  const profile = attributeText(device, 'profile');
  if (profile) return (device.shape = profile);
  const type = attributeText(device, 'type'), sums = new Map();
  for (const [counter, amount] of counterUse(device)) {
    const name = counter.slice(counter.indexOf('\n') + 1);
    sums.set(name, (sums.get(name) ?? 0n) + amount);
  }
  if (sums.size > 2 && type) return (device.shape = type);
  if (sums.size > 2 && takesAll(counterUse(device), totals)) return 'whole';  // not remembered: totals change
  const amounts = [...sums].sort((a, b) => byText(a[0], b[0])).map(([name, amount]) => `${name}=${shortAmountText(amount)}`).join(',');
  return (device.shape = (type ? type + ' ' : '') + amounts);
}

function comesBefore(a, b) {
  const left = [...a], right = [...b];
  for (let at = 0; at < left.length && at < right.length; ++at) {
    if (left[at][0] !== right[at][0]) return left[at][0] < right[at][0] ? -1 : 1;
    if (left[at][1] !== right[at][1]) return left[at][1] < right[at][1] ? -1 : 1;
  }
  return left.length - right.length;
}

// Uses in groups that share no counter with each other.
function connectedUses(uses) {
  const groupOf = new Map();
  let groups = [];
  for (const use of uses) {
    const touched = new Set([...use.keys()].map((counter) => groupOf.get(counter)).filter(Boolean));
    const into = { uses: [use] };
    for (const other of touched) into.uses.unshift(...other.uses);
    groups = groups.filter((one) => !touched.has(one));
    groups.push(into);
    for (const one of touched.size ? into.uses : [use]) for (const counter of one.keys()) groupOf.set(counter, into);
  }
  return groups.map((one) => one.uses.sort(comesBefore));
}

const gcd = (a, b) => {
  while (b) [a, b] = [b, a % b];
  return a;
};

// A group in small numbers: each use as [counter, amount]..., and what is left of each counter.
function inSmallNumbers(uses, left) {
  const numbers = new Map();
  for (const use of uses) for (const counter of use.keys()) if (!numbers.has(counter)) numbers.set(counter, numbers.size);
  const units = [], rest = [];
  for (const counter of numbers.keys()) {
    const unit = uses.reduce((all, use) => gcd(all, use.get(counter) ?? 0n), 0n);
    units.push(unit < 0n ? -unit : unit);
    const amount = left.get(counter) ?? 0n;
    rest.push(amount < 0n ? -1 : Number(amount / (unit < 0n ? -unit : unit)));
  }
  return { rest, parts: uses.map((use) => [...use].map(([counter, amount]) => [numbers.get(counter), Number(amount / units[numbers.get(counter)])])) };
}

const packed = new Map();  // a group's text -> {count, exact}

// The largest number of the parts that fit into what is left.
function mostThatFit({ rest, parts }) {
  const keys = parts.map((part) => part.join(';')), memo = rest.join(';') + '|' + keys.join('|');
  const known = packed.get(memo);
  if (known) return known;
  let best = 0, steps = 0;
  const tryFrom = (at, taken) => {
    if (taken > best) best = taken;
    if (taken + parts.length - at <= best || ++steps > MAX_SHAPE_STEPS) return;
    if (parts[at].every(([counter, amount]) => rest[counter] >= amount)) {
      for (const [counter, amount] of parts[at]) rest[counter] -= amount;
      tryFrom(at + 1, taken + 1);
      for (const [counter, amount] of parts[at]) rest[counter] += amount;
    }
    let next = at + 1;
    while (next < parts.length && keys[next] === keys[at]) ++next;
    tryFrom(next, taken);
  };
  tryFrom(0, 0);
  if (packed.size >= MAX_MEMOS) packed.clear();
  const found = { count: best, exact: steps <= MAX_SHAPE_STEPS };
  packed.set(memo, found);
  return found;
}

// [{name, total, free, exact}], by name.
function freeShapes(devices, slices) {
  const left = new Map();
  for (const slice of slices)
    for (const set of slice.counterSets)
      for (const [counter, value] of Object.entries(set.counters ?? {})) {
        const key = set.name + '\n' + counter;
        left.set(key, (left.get(key) ?? 0n) + (amountOf(value?.value ?? '') ?? 0n));
      }
  const totals = new Map(left), shapes = new Map();
  for (const device of devices) {
    if (!(device.object.consumesCounters?.length > 0)) continue;
    if (device.held) for (const [counter, amount] of counterUse(device)) left.set(counter, (left.get(counter) ?? 0n) - amount);
    const name = shapeName(device, totals);
    if (!shapes.has(name)) shapes.set(name, { name, total: 0, free: 0, exact: true, uses: [] });
    const shape = shapes.get(name);
    ++shape.total;
    if (device.canBeHad) shape.uses.push(counterUse(device));
  }
  for (const shape of shapes.values()) {
    for (const group of connectedUses(shape.uses)) {
      const { count, exact } = mostThatFit(inSmallNumbers(group, left));
      shape.free += count;
      shape.exact &&= exact;
    }
    delete shape.uses;
  }
  return [...shapes.values()].sort((a, b) => byText(a.name, b.name));
}

export function addShapes(sum, more) {
  for (const shape of more) {
    const same = sum.find((one) => one.name === shape.name);
    if (!same) {
      sum.push({ ...shape });
      continue;
    }
    same.total += shape.total;
    same.free += shape.free;
    same.exact &&= shape.exact;
  }
  sum.sort((a, b) => byText(a.name, b.name));
}

export function shapesText(shapes) {
  return shapes.filter((one) => one.free > 0).map((one) => `${one.exact ? '' : '>='}${one.free} x ${one.name}`).join(' or ');
}

// ---- shared devices

function leftOfShared(device, consumed) {
  const left = new Map();
  for (const [name, capacity] of Object.entries(device.object.capacity ?? {})) {
    const rest = (amountOf(capacity?.value ?? '') ?? 0n) - (consumed?.get(name) ?? 0n);
    left.set(name, rest > 0n ? rest : 0n);
  }
  return left;
}

// Partitions of one card are alternatives: of a card in use counts what is left of its devices in use, of any other
// the most that one of its devices has.
function addSharedLeft(sum, card, consumedOf) {
  const held = new Map(), most = new Map();
  let inUse = false;
  for (const device of card.devices) {
    inUse ||= device.held;
    if (!device.shared) continue;
    for (const [name, amount] of leftOfShared(device, consumedOf(device.name))) {
      if (device.held) held.set(name, (held.get(name) ?? 0n) + amount);
      const counts = card.devices.length === 1 || device.available;
      if (counts && amount > (most.get(name) ?? -1n)) most.set(name, amount);
    }
  }
  for (const [name, amount] of inUse ? held : most) sum.set(name, (sum.get(name) ?? 0n) + amount);
}

// What a part of a pool has: counts by state of card, the cards themselves, shapes, and what is left to share.
export function siliconOf(part) {
  if (part.silicon) return part.silicon;
  const slices = slicesOfPart(part), usable = part.judged.state === 'complete';
  const simple = slices.every((slice) => slice.devices.every((one) => !(one.consumesCounters?.length > 0) && !one.allowMultipleAllocations));
  const counts = { total: 0, whole: 0, cut: 0, free: 0, bad: 0 };
  const found = { counts, cards: [], shapes: [], sharedLeft: new Map(), devices: part.devices.length, held: part.devices.filter((one) => one.held).length };
  part.silicon = found;
  if (simple) {
    for (const device of part.devices) {
      const state = device.held ? 'whole' : device.canBeHad ? 'free' : 'bad';
      ++counts.total;
      ++counts[state];
      found.cards.push({ devices: [device], whole: device, state, most: counterUse(device) });
    }
    return found;
  }
  const devices = listedDevices(part, slices);
  found.cards = collectCards(devices);
  for (const card of found.cards) {
    card.state = stateOfCard(card, usable);
    ++counts.total;
    ++counts[card.state];
    if (usable) addSharedLeft(found.sharedLeft, card, part.pool.context.consumedOf);
  }
  if (usable && found.cards.some((card) => card.most.size > 0)) found.shapes = freeShapes(devices, slices);
  return found;
}
