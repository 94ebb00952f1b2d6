// World: the objects of a cluster as a page has them, and what follows from them: pools, holders, nodes. It reads the
// lines of a stream or of a snapshot: a header in JSON, then "KIND<tab>{"items": [...]}" for objects that are new or
// changed, "-KIND<tab>"KEY"" for one that is gone, and "." where everything that there was has been said. Each change
// costs the pools that it touches.

import { amountOf } from './quantity.js';
import { onlyNode } from './selectors.js';
import { Pool, byText } from './pool.js';

export const keyOf = (object) => (object.metadata?.namespace ? object.metadata.namespace + '/' : '') + (object.metadata?.name ?? '');
const poolKey = (driver, pool) => `${String(driver).length} ${driver} ${pool}`;
function namesInKey(at) {
  const space = at.indexOf(' '), length = Number(at.slice(0, space));
  return [at.slice(space + 1, space + 1 + length), at.slice(space + 2 + length)];
}
const NONE = [];
const NO_LABELS = {};

// Of a claim: the results of its allocation.
export const resultsOf = (claim) => claim.status?.allocation?.devices?.results ?? NONE;
export const nodeOfClaim = (claim) => onlyNode(claim.status?.allocation?.nodeSelector);
// Our own entry among the consumers of a claim (pkg/protocol/keep.h), and until when it says that no pod uses it; '' while pods do. Of a claim from a
// template, which is deleted with its pod, the time begins with that.
const isKept = (one) => one.apiGroup === 'dra-controller-manager' && one.resource === 'kept-devices';
const UNITS = { s: 1, m: 60, h: 3600 };
function keptUntil(claim, one) {
  const until = (seconds) => 'kept until ' + new Date(seconds * 1000).toISOString().slice(0, 19) + 'Z';
  if (one.uid?.startsWith('kept-for-')) {
    const asked = /^(\d{1,7})([smh])$/.exec(claim.metadata?.annotations?.['dra-controller-manager/keep-devices'] ?? '');
    const lasts = asked ? Number(asked[1]) * UNITS[asked[2]] : 0;
    const deleted = Date.parse(claim.metadata?.deletionTimestamp ?? '') / 1000;
    return lasts >= 1 && lasts <= 86400 && Number.isFinite(deleted) ? until(deleted + lasts) : '';
  }
  const found = /^until-(\d{1,11})-priority--?\d+$/.exec(one.name);
  return found ? until(Number(found[1])) : '';
}
export const podDone = (pod) => pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';

export class World {
  constructor() {
    this.header = { hidden: [] };
    this.tables = new Map();
    this.slices = new Map();  // of a pool: name -> slice
    this.used = new Map();  // of a pool: device -> Map(claim's key -> [{claim, share, consumed, admin}])
    this.built = new Map();  // pools
    this.claimOfUid = new Map();
    this.version = 0;
    this.complete = false;
  }

  table(plural) {
    if (!this.tables.has(plural)) this.tables.set(plural, new Map());
    return this.tables.get(plural);
  }
  list(plural) {
    return [...this.table(plural).values()];
  }

  line(text) {
    const tab = text.indexOf('\t');
    if (tab < 0 && text[0] === '{') return this.setHeader(JSON.parse(text));
    if (text === '.') this.complete = true;
    if (tab < 0) return undefined;
    const kind = text.slice(0, tab), rest = text.slice(tab + 1);
    if (kind[0] === '-') return this.remove(kind.slice(1), JSON.parse(rest));
    for (const object of JSON.parse(rest).items ?? []) this.put(kind, object);
    return undefined;
  }
  setHeader(header) {
    this.header = { hidden: [], ...header };
    ++this.version;
  }

  put(plural, object) {
    if (object === null || typeof object !== 'object') return;
    if (object.metadata) delete object.metadata.managedFields;
    const key = keyOf(object), table = this.table(plural), before = table.get(key);
    table.set(key, object);
    this.changed(plural, key, before, object);
  }
  remove(plural, key) {
    const table = this.table(plural), before = table.get(key);
    if (before === undefined) return;
    table.delete(key);
    this.changed(plural, key, before, undefined);
  }

  changed(plural, key, before, after) {
    ++this.version;
    if (plural === 'resourceslices') {
      for (const slice of [before, after])
        if (slice) this.touchSlice(slice, slice === after);
    } else if (plural === 'resourceclaims') {
      if (before) this.useDevices(key, before, false);
      if (after) this.useDevices(key, after, true);
    } else if (plural === 'devicetaintrules') {
      this.built.clear();
    } else if (plural === 'nodes') {
      // Labels matter to pools that nodes may judge differently.
      const same = before && after && sameLabels(before, after);
      if (!same) for (const [at, pool] of this.built) if (pool.whole.state !== 'complete') this.built.delete(at);
    }
  }
  touchSlice(slice, there) {
    const at = poolKey(slice.spec?.driver ?? '', slice.spec?.pool?.name ?? ''), name = keyOf(slice);
    if (!this.slices.has(at)) this.slices.set(at, new Map());
    const own = this.slices.get(at);
    if (there) own.set(name, slice);
    else own.delete(name);
    if (own.size === 0) this.slices.delete(at);
    this.built.delete(at);
  }
  useDevices(key, claim, there) {
    const uid = claim.metadata?.uid ?? '';
    if (there) this.claimOfUid.set(uid, claim);
    else if (this.claimOfUid.get(uid) === claim) this.claimOfUid.delete(uid);
    for (const result of resultsOf(claim)) {
      const at = poolKey(result.driver, result.pool);
      if (!this.used.has(at)) this.used.set(at, new Map());
      const devices = this.used.get(at);
      if (!devices.has(result.device)) devices.set(result.device, new Map());
      const claims = devices.get(result.device);
      if (!there) claims.delete(key);
      else if (!claims.has(key)) claims.set(key, [{ claim, result }]);
      else claims.get(key).push({ claim, result });
      this.built.delete(at);
    }
  }

  // Whether some objects of a kind cannot be seen.
  hides(plural) {
    return this.header.hidden.some((one) => one.what.startsWith(plural));
  }
  nodeLabels(node) {
    return this.table('nodes').get(node)?.metadata?.labels ?? NO_LABELS;
  }

  pool(at) {
    if (this.built.has(at)) return this.built.get(at);
    const own = this.slices.get(at);
    if (!own) return undefined;
    const [driver, name] = namesInKey(at), used = this.used.get(at);
    const rules = this.list('devicetaintrules').sort((a, b) => byText(keyOf(a), keyOf(b))).filter((rule) => ruleSelects(rule, driver, name));
    const pool = new Pool(driver, name, [...own.values()], {
      holders: (device) => holdersOf(used?.get(device)),
      consumedOf: (device) => consumedOf(used?.get(device)),
      rulesOf: (device) => rules.length === 0 ? NONE : rules.filter((rule) => (rule.spec.deviceSelector.device ?? device) === device).map((rule) => rule.spec.taint ?? {}),
      labelsOf: (node) => this.nodeLabels(node),
      knowsNode: (node) => this.table('nodes').has(node) || this.isNamedByPools(node),
    });
    this.built.set(at, pool);
    return pool;
  }
  // By driver, then name.
  pools() {
    return [...this.slices.keys()].sort((a, b) => comparePools(a, b)).map((at) => this.pool(at));
  }
  isNamedByPools(node) {
    for (const slices of this.slices.values())
      for (const slice of slices.values())
        if (slice.spec?.nodeName === node || (slice.spec?.devices ?? []).some((one) => one.nodeName === node)) return true;
    return false;
  }
  claim(uid) {
    return this.claimOfUid.get(uid);
  }
  // Names of the pods that a claim is reserved for; " (gone)" for those that are no more.
  consumersOf(claim) {
    return (claim.status?.reservedFor ?? NONE).filter((one, _, all) => !isKept(one) || (all.length === 1 && keptUntil(claim, one))).map((one) => {
      if (isKept(one)) return keptUntil(claim, one);
      if (one.apiGroup || one.resource !== 'pods') return `${one.resource}/${one.name}`;
      const pod = this.table('pods').get((claim.metadata?.namespace ?? '') + '/' + one.name);
      return one.name + ((pod && pod.metadata?.uid === one.uid) || this.hides('pods') ? '' : ' (gone)');
    });
  }
}

function comparePools(a, b) {
  const [driver, name] = namesInKey(a), [otherDriver, otherName] = namesInKey(b);
  return byText(driver, otherDriver) || byText(name, otherName);
}

function sameLabels(a, b) {
  const left = a.metadata?.labels ?? NO_LABELS, right = b.metadata?.labels ?? NO_LABELS;
  const keys = Object.keys(left);
  return keys.length === Object.keys(right).length && keys.every((key) => left[key] === right[key]);
}

function ruleSelects(rule, driver, pool) {
  const selector = rule.spec?.deviceSelector;
  if (!selector) return false;
  return (selector.driver ?? driver) === driver && (selector.pool ?? pool) === pool;
}

// Claims that hold a device, in the order of their names; what administrators look at holds nothing.
function holdersOf(claims) {
  if (!claims) return NONE;
  const holders = [];
  for (const key of [...claims.keys()].sort(byText)) {
    const shares = new Set();
    for (const { claim, result } of claims.get(key)) {
      const share = result.shareID ?? '';
      if (result.adminAccess || shares.has(share)) continue;
      shares.add(share);
      holders.push({ claim, share, consumed: Object.keys(result.consumedCapacity ?? {}).length > 0 });
    }
  }
  return holders;
}

function consumedOf(claims) {
  const sums = new Map();
  for (const entries of claims?.values() ?? [])
    for (const { result } of entries)
      for (const [name, text] of Object.entries(result.consumedCapacity ?? {})) sums.set(name, (sums.get(name) ?? 0n) + (amountOf(text) ?? 0n));
  return sums;
}
