// One pool of a driver: which slices count, whether it can be used, and which devices can be had. The rules are those
// of pkg/inventory (pool.cc, pool_judge.cc, pool_parts.cc), computed anew from the slices of the pool.

import { amountOf } from './quantity.js';
import { selectorMatches } from './selectors.js';

const MAX_SLICE_DEVICES = 128 * 1024;
export const byText = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

// A Map from what `key` says of each item to the items, in their order.
export function groupsOf(items, key) {
  const groups = new Map();
  for (const item of items) {
    const of = key(item), known = groups.get(of);
    if (known) known.push(item);
    else groups.set(of, [item]);
  }
  return groups;
}

function placeOf(given) {
  if (given.nodeName) return { kind: 'node', node: given.nodeName };
  if (given.allNodes) return { kind: 'all' };
  if (given.nodeSelector) return { kind: 'selector', selector: given.nodeSelector };
  return { kind: 'nowhere' };
}

export function placeHolds(place, node, labels) {
  if (place.kind === 'node') return place.node === node;
  if (place.kind === 'selector') return selectorMatches(place.selector, node, labels);
  return place.kind === 'all';
}

// v1beta1 keeps most of a device under "basic".
function flatDevice(device) {
  return device.basic ? { ...device.basic, name: device.name } : device;
}

// What a device takes of counters: [set, counter, amount] of each, as published.
function drawsOf(device, note) {
  const draws = [];
  for (const use of device.consumesCounters ?? [])
    for (const [counter, value] of Object.entries(use.counters ?? {})) {
      const amount = amountOf(value?.value ?? '');
      if (amount === null || amount < 0n) note(`device "${device.name}": a counter is not a quantity`);
      draws.push([use.counterSet ?? '', counter, amount ?? 0n]);
    }
  return draws;
}

function policyIsReadable(policy) {
  const texts = [policy.default, ...(policy.validValues ?? []), policy.validRange?.min, policy.validRange?.max, policy.validRange?.step];
  if (policy.validRange?.step !== undefined && !(amountOf(policy.validRange.step) > 0n)) return false;
  return texts.every((text) => text === undefined || text === null || amountOf(text) !== null);
}

// A slice as the rules read it.
class SliceOfPool {
  constructor(object) {
    const spec = object.spec ?? {};
    this.name = object.metadata?.name ?? '';
    this.nodeName = spec.nodeName ?? '';
    this.spec = spec;
    this.generation = spec.pool?.generation ?? 0;
    this.announced = spec.pool?.resourceSliceCount ?? 0;
    this.problem = '';
    this.where = spec.perDeviceNodeSelection ? { kind: 'perDevice' } : placeOf(spec);
    const given = [spec.nodeName, spec.nodeSelector, spec.allNodes, spec.perDeviceNodeSelection].filter(Boolean).length;
    if (given > 1) this.note('more than one of nodeName, nodeSelector, allNodes and perDeviceNodeSelection is set');
    this.counterSets = spec.sharedCounters ?? [];
    const devices = spec.devices ?? [];
    if (devices.length > MAX_SLICE_DEVICES) this.note('has too many devices');
    this.devices = devices.map(flatDevice);
    this.bareSets = [];
    this.draws = this.devices.map((device) => this.readDevice(device));
    for (const set of this.counterSets)
      for (const value of Object.values(set.counters ?? {}))
        if (amountOf(value?.value ?? '') === null) this.note(`counter set "${set.name}" has a counter that is not a quantity`);
  }
  note(text) {
    if (!this.problem) this.problem = `ResourceSlice "${this.name}": ${text}`;
  }
  readDevice(device) {
    for (const capacity of Object.values(device.capacity ?? {})) {
      const amount = amountOf(capacity?.value ?? '');
      const good = amount !== null && amount >= 0n && (!capacity.requestPolicy || policyIsReadable(capacity.requestPolicy));
      if (!good) this.note(`device "${device.name}": a capacity is not a quantity`);
    }
    if (!device.consumesCounters?.length) return NO_DRAWS;
    for (const use of device.consumesCounters)
      if (Object.keys(use.counters ?? {}).length === 0) this.bareSets.push(use.counterSet);
    return drawsOf(device, (text) => this.note(text));
  }
  placeOfDevice(at) {
    return this.where.kind === 'perDevice' ? placeOf(this.devices[at]) : this.where;
  }
  isOfOneNode() {
    return this.where.kind === 'node' && this.counterSets.length === 0 && this.bareSets.length === 0 && this.draws.every((one) => one.length === 0);
  }
}
const NO_DRAWS = [];

const announceTheSame = (slices) => slices.every((one) => one.announced === slices[0].announced);

function publishedTwice(slices) {
  const names = new Set();
  for (const slice of slices)
    for (const device of slice.devices) {
      if (names.has(device.name)) return device.name;
      names.add(device.name);
    }
  return null;
}

function areUsablePool(slices) {
  return announceTheSame(slices) && slices.length === slices[0].announced && slices.every((one) => !one.problem) && publishedTwice(slices) === null;
}

// Slices of older generations that a node still uses: a whole pool of its own, and nothing newer is on the node.
function usableThoughStale(generations) {
  const usable = [], served = new Set();
  if (generations.length < 2) return usable;
  for (let at = generations.length - 1; at >= 0; --at) {
    const slices = generations[at][1];
    if (!slices.every((one) => one.isOfOneNode())) break;
    const byNode = groupsOf(slices.filter((one) => !served.has(one.where.node)), (one) => one.where.node);
    for (const [node, own] of byNode) {
      served.add(node);
      if (at < generations.length - 1 && areUsablePool(own)) usable.push(...own.filter((one) => one.devices.length > 0));
    }
  }
  return usable;
}

// The current slices: those of the highest generation, of each node (pkg/inspect/state/shapes.cc: slices_by_pool).
function currentSlices(slices) {
  const newest = new Map();
  for (const slice of slices) newest.set(slice.nodeName, Math.max(newest.get(slice.nodeName) ?? slice.generation, slice.generation));
  const ofSeveral = newest.get(''), most = Math.max(...newest.values());
  return slices.filter((slice) => slice.nodeName === '' ? slice.generation >= most
    : !(ofSeveral !== undefined && slice.generation < ofSeveral) && slice.generation >= newest.get(slice.nodeName));
}

const COMPLETE = { state: 'complete', reason: '' };

// `context`: what the pool reads of the rest of the world:
//   holders(device) -> [{claim, share, consumed}], rulesOf(device) -> [taint], labelsOf(node), knowsNode(node)
export class Pool {
  constructor(driver, name, sliceObjects, context) {
    this.driver = driver;
    this.name = name;
    this.context = context;
    const slices = sliceObjects.map((one) => new SliceOfPool(one)).sort((a, b) => byText(a.name, b.name));
    const generations = [...groupsOf(slices, (one) => one.generation)].sort((a, b) => a[0] - b[0]);
    this.generation = generations.at(-1)[0];
    this.newest = generations.at(-1)[1];
    this.stale = usableThoughStale(generations);
    this.current = currentSlices(slices);
    this.stale.sort((a, b) => byText(a.name, b.name));
    this.fresh = this.newest.filter((one) => one.devices.length > 0);
    this.live = [...this.fresh, ...this.stale];
    this.judgeWhole();
    this.listDevices();
    this.count();
  }

  judgeWhole() {
    const counted = this.newest;
    this.sets = new Map();  // of the first slice that publishes each
    this.setsTwice = '';
    for (const slice of counted)
      for (const set of slice.counterSets) {
        if (this.sets.has(set.name)) this.setsTwice ||= set.name;
        else this.sets.set(set.name, set.counters ?? {});
      }
    this.whole = this.judgement(counted, counted);
    const seen = counted.length, announced = counted[0].announced;
    if (!announceTheSame(counted))
      this.whole = { state: 'incomplete', reason: `slices of generation ${this.generation} announce different resourceSliceCount` };
    else if (seen !== announced)
      this.whole = { state: 'incomplete', reason: `generation ${this.generation} has ${seen} of ${announced} announced slices` };
    this.differs = this.whole.state !== 'complete' && this.slicesDifferInPlace();
  }
  judgement(faultyAmong, unpublishedAmong) {
    const faulty = faultyAmong.find((one) => one.problem);
    if (faulty) return { state: 'invalid', reason: faulty.problem };
    const twice = publishedTwice(faultyAmong);
    if (twice !== null) return { state: 'invalid', reason: `device "${twice}" is published twice` };
    if (this.setsTwice) return { state: 'invalid', reason: `counter set "${this.setsTwice}" is published twice` };
    return this.unpublished(unpublishedAmong) ?? COMPLETE;
  }
  unpublished(among) {
    for (const slice of among) {
      const unknown = slice.bareSets.some((set) => !this.sets.has(set)) ||
        slice.draws.some((draws) => draws.some(([set, counter]) => !Object.hasOwn(this.sets.get(set) ?? {}, counter)));
      if (unknown) return { state: 'invalid', reason: `ResourceSlice "${slice.name}" consumes counters that the pool does not publish` };
    }
    return null;
  }
  slicesDifferInPlace() {
    const plain = this.newest.filter((one) => one.counterSets.length === 0);
    const same = (a, b) => a.kind === b.kind && a.node === b.node;
    return plain.some((one, at) => at > 0 && (!(one.where.kind === 'node' || one.where.kind === 'all') || !same(one.where, plain[0].where)));
  }
  // As a node judges it by the slices that it can use (pool_judge.cc: judge_for).
  judgeNewestFor(node) {
    if (!this.differs) return this.whole;
    const labels = this.context.labelsOf(node);
    const relevant = this.newest.filter((slice) => slice.counterSets.length > 0 || placeHolds(slice.where, node, labels) ||
      (slice.where.kind === 'perDevice' && slice.devices.some((device) => placeHolds(placeOf(device), node, labels))));
    if (relevant.length === 0) return this.whole;
    const isWhole = relevant.length === relevant[0].announced;
    if (!announceTheSame(relevant) || (!isWhole && this.newest.length !== relevant[0].announced))
      return { state: 'incomplete', reason: this.whole.reason };
    const all = this.newest;
    const faulty = relevant.find((one) => one.problem) ?? (isWhole ? undefined : all.find((one) => one.problem));
    if (faulty) return { state: 'invalid', reason: faulty.problem };
    return this.judgement(relevant, isWhole ? relevant : all);
  }
  judgeOn(node) {
    if (this.whole.state === 'complete') return COMPLETE;
    if (!this.context.knowsNode(node) && !this.nodes.has(node)) return this.whole;
    const labels = this.context.labelsOf(node);
    const sees = (slices) => slices.some((slice) => slice.devices.some((device, at) => placeHolds(slice.placeOfDevice(at), node, labels)));
    if (sees(this.fresh)) return this.judgeNewestFor(node);
    return sees(this.stale) ? COMPLETE : this.whole;
  }

  listDevices() {
    this.devices = [];
    this.nodes = new Set();
    for (const slice of this.live)
      slice.devices.forEach((device, at) => {
        const place = slice.placeOfDevice(at);
        if (place.kind === 'node') this.nodes.add(place.node);
        this.devices.push({
          name: device.name, object: device, slice, place, stale: this.stale.includes(slice), draws: slice.draws[at],
          node: place.kind === 'node' ? place.node : '', shared: Boolean(device.allowMultipleAllocations),
        });
      });
    const wide = this.devices.some((one) => one.place.kind === 'selector' || one.place.kind === 'all') ||
      this.live.some((one) => one.where.kind === 'all' || one.where.kind === 'selector');
    const local = !wide && this.live.length > 0 && this.live.every((one) => one.where.kind === 'node') && this.nodes.size === 1;
    this.localNode = local ? [...this.nodes][0] : '';
  }

  // Who holds what, what of counters is taken, and which devices can be had.
  count() {
    const taken = new Map();
    for (const device of this.devices) {
      device.holders = this.context.holders(device.name);
      device.taints = [...(device.object.taints ?? []), ...this.context.rulesOf(device.name)];
      device.held = device.holders.length > 0;
      device.inUse = device.held && (!device.shared || device.holders.some((one) => !one.share && !one.consumed));
      if (device.held)
        for (const [set, counter, amount] of device.draws) {
          const key = set + '\n' + counter;
          taken.set(key, (taken.get(key) ?? 0n) + amount);
        }
    }
    const total = (set, counter) => Object.hasOwn(this.sets.get(set) ?? {}, counter) ? amountOf(this.sets.get(set)[counter]?.value ?? '') ?? 0n : null;
    const fits = ([set, counter, amount]) => {
      const all = total(set, counter);
      return all === null || all - (taken.get(set + '\n' + counter) ?? 0n) >= amount;
    };
    const judged = new Map();
    for (const device of this.devices) {
      const free = !device.inUse && (device.held || device.draws.every(fits));
      device.judged = this.judgeDevice(device, judged);
      device.available = free && device.judged.state === 'complete';
      device.keepsAway = device.taints.find((one) => one.effect === 'NoSchedule' || one.effect === 'NoExecute');
      device.canBeHad = device.available && !device.keepsAway;
    }
  }
  judgeDevice(device, known) {
    if (this.whole.state === 'complete' || device.stale) return COMPLETE;
    if (!this.differs || device.place.kind !== 'node') return this.whole;
    if (!known.has(device.node)) known.set(device.node, this.judgeOn(device.node));
    return known.get(device.node);
  }

  // The pool as its nodes have it: a part per node, and one without for devices that several nodes can use.
  parts() {
    this.knownParts ??= this.makeParts();
    return this.knownParts;
  }
  makeParts() {
    if (this.localNode || this.nodes.size === 0)
      return [{ pool: this, node: this.localNode, devices: this.localNode ? this.devices.filter((one) => one.node === this.localNode) : this.devices, judged: this.localNode ? this.judgeOn(this.localNode) : this.whole }];
    const byNode = groupsOf(this.devices, (one) => one.node);
    const parts = [...this.nodes].sort(byText).map((node) => ({ pool: this, node, devices: byNode.get(node) ?? [], judged: this.judgeOn(node) }));
    if (byNode.has('')) parts.push({ pool: this, node: '', devices: byNode.get(''), judged: this.whole });
    return parts;
  }
}
