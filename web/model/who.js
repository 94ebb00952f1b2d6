// Who: the devices that a node can use and who holds them, partitions below the device that they are cut from, as
// `kubectl dra who NODE` lists them (pkg/inspect/verbs/who.cc).

import { amountOf } from './quantity.js';
import { placeHolds } from './pool.js';
import { selectorMatches } from './selectors.js';

function shareOfSet(pool, use) {
  let most = 0;
  for (const slice of pool.current)
    for (const set of slice.counterSets) {
      if (set.name !== use.counterSet) continue;
      for (const [name, value] of Object.entries(use.counters ?? {})) {
        const whole = amountOf(set.counters?.[name]?.value ?? ''), amount = amountOf(value?.value ?? '');
        if (whole > 0n && amount !== null) most = Math.max(most, Number(amount) / Number(whole));
      }
    }
  return most;
}

// Of a slice that says its place twice, either counts (pkg/inspect/verbs/who.cc: usable_on).
function canBeUsedOn(slice, object, node, labels) {
  const given = slice.spec.perDeviceNodeSelection ? object : slice.spec;
  return given.nodeName === node || Boolean(given.allNodes) || selectorMatches(given.nodeSelector, node, labels);
}

function listOn(world, node) {
  const labels = world.nodeLabels(node), listed = [];
  for (const pool of world.pools()) {
    const judged = pool.judgeOn(node);
    const known = new Map();
    // Of several devices of one name, the one that the node can use.
    for (const device of pool.devices)
      if (!known.has(device.name) || (!placeHolds(known.get(device.name).place, node, labels) && placeHolds(device.place, node, labels))) known.set(device.name, device);
    for (const slice of pool.current)
      slice.devices.forEach((object) => {
        if (!canBeUsedOn(slice, object, node, labels)) return;
        const use = object.consumesCounters?.[0];
        listed.push({
          pool, object, state: judged.state, device: known.get(object.name),
          parent: use ? pool.driver + '/' + pool.name + '/' + use.counterSet : '', share: use ? shareOfSet(pool, use) : 0,
        });
      });
  }
  const first = new Map();
  listed.forEach((one, at) => {
    if (one.parent && !first.has(one.parent)) first.set(one.parent, at);
    one.key = one.parent ? first.get(one.parent) : at;
  });
  return listed.sort((a, b) => a.key - b.key || b.share - a.share);
}

function stateText(one, hidden) {
  const device = one.device;
  if (one.state !== 'complete') return 'pool ' + one.state;
  if (device?.held) return device.shared ? 'shared' : 'held';
  if (device?.keepsAway) return `tainted ${device.keepsAway.key}${device.keepsAway.value ? '=' + device.keepsAway.value : ''}:${device.keepsAway.effect}`;
  if (!device?.available) return 'cut';
  return hidden ? 'no holder visible' : 'free';
}

// [{device, partition, state, claim, pods, driver, pool, share}]; a device with several holders has several rows.
export function whoRows(world, node) {
  const listed = listOn(world, node), rows = [], hidden = world.hides('resourceclaims');
  let parent = '';
  for (const one of listed) {
    const partition = one.parent !== '' && one.parent === parent;
    if (!partition) parent = one.share >= 1 ? one.parent : '';
    const row = { device: one.object.name, partition, state: stateText(one, hidden), claim: '', pods: [], driver: one.pool.driver, pool: one.pool.name, share: '' };
    const holders = one.device?.holders ?? [];
    if (holders.length === 0) rows.push(row);
    for (const holder of holders) {
      const { namespace, name } = holder.claim.metadata;
      rows.push({ ...row, claim: `${namespace}/${name}`, pods: world.consumersOf(holder.claim), share: holder.share });
    }
  }
  return rows;
}
