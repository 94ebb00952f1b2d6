// Fleet: nodes as rows, with the figures of `kubectl dra top`, and the sums of a fleet.

import { byText, groupsOf } from './pool.js';
import { siliconOf, addShapes, shapesText } from './silicon.js';
import { amountForPeople } from './quantity.js';
import { nodeOfClaim, podDone, resultsOf, keyOf } from './world.js';

export const SHARED_ROW = '<shared>';  // devices that several nodes can use

const MAX_KEYS = 200000;
const naturalKeys = new Map();
function naturalKey(text) {
  let key = naturalKeys.get(text);
  if (key !== undefined) return key;
  key = text.replace(/\d+/g, (digits) => digits.replace(/^0+(?=\d)/, '').padStart(20, '0'));
  if (naturalKeys.size >= MAX_KEYS) naturalKeys.clear();
  naturalKeys.set(text, key);
  return key;
}

// "gpu-2" before "gpu-15".
export function naturalOrder(a, b) {
  return byText(naturalKey(a), naturalKey(b)) || byText(a, b);
}

const noCounts = () => ({ total: 0, whole: 0, cut: 0, free: 0, bad: 0 });
function addCounts(sum, more) {
  for (const key of Object.keys(sum)) sum[key] += more[key];
}

// A row for each node and driver, as in `kubectl dra top`.
export function topRows(world) {
  const bins = new Map();
  for (const pool of world.pools()) for (const part of pool.parts()) addPart(bins, part);
  return [...bins.values()].sort((a, b) => naturalOrder(a.node, b.node) || byText(a.driver, b.driver)).map(finishRow);
}

function addPart(bins, part) {
  const node = part.node || SHARED_ROW, key = node + '\n' + part.pool.driver;
  if (!bins.has(key)) bins.set(key, { node, driver: part.pool.driver, ...noCounts(), shapes: [], shared: new Map(), names: 0, held: 0, parts: [], troubles: [] });
  const bin = bins.get(key), silicon = siliconOf(part);
  for (const state of Object.keys(silicon.counts)) bin[state] += silicon.counts[state];
  bin.names += silicon.devices;
  bin.held += silicon.held;
  bin.parts.push(part);
  if (part.judged.state !== 'complete') bin.troubles.push(`${part.pool.name} is ${part.judged.state}: ${part.judged.reason}`);
  addShapes(bin.shapes, silicon.shapes);
  for (const [name, amount] of silicon.sharedLeft) bin.shared.set(name, (bin.shared.get(name) ?? 0n) + amount);
}

function finishRow(bin) {
  bin.canBeCut = shapesText(bin.shapes);
  bin.sharedLeft = [...bin.shared].sort((a, b) => byText(a[0], b[0])).map(([name, amount]) => `${name} ${amountForPeople(amount)}`).join(', ');
  return bin;
}

// The nodes of the page: {node, labels, cordoned, rows: [of topRows()], counts, pools, claims}.
export function fleetNodes(world) {
  const byNode = groupsOf(topRows(world), (row) => row.node);
  for (const name of world.table('nodes').keys()) if (!byNode.has(name)) byNode.set(name, []);
  const nodes = [];
  for (const [name, rows] of byNode) {
    const object = world.table('nodes').get(name), counts = noCounts();
    for (const row of rows) addCounts(counts, row);
    nodes.push({ name, rows, counts, labels: object?.metadata?.labels ?? {}, known: Boolean(object), cordoned: Boolean(object?.spec?.unschedulable) });
  }
  return nodes.sort((a, b) => naturalOrder(a.name, b.name));
}

// Of some nodes: counts by driver, and what is free by shape.
export function sumsOf(nodes) {
  const drivers = new Map();
  for (const node of nodes)
    for (const row of node.rows) {
      if (!drivers.has(row.driver)) drivers.set(row.driver, { driver: row.driver, ...noCounts(), shapes: [], shared: new Map() });
      const sum = drivers.get(row.driver);
      for (const state of ['total', 'whole', 'cut', 'free', 'bad']) sum[state] += row[state];
      addShapes(sum.shapes, row.shapes);
      for (const [name, amount] of row.shared) sum.shared.set(name, (sum.shared.get(name) ?? 0n) + amount);
    }
  return [...drivers.values()].sort((a, b) => byText(a.driver, b.driver)).map(finishRow);
}

// Pods that ask for devices and have no node, oldest first.
export function waitingPods(world) {
  const served = new Set(world.list('deviceclasses').map((one) => one.spec?.extendedResourceName).filter(Boolean));
  for (const one of world.table('deviceclasses').keys()) served.add('deviceclass.resource.kubernetes.io/' + one);
  const asks = (pod) => (pod.spec?.resourceClaims?.length ?? 0) > 0 ||
    (pod.spec?.schedulingGates ?? []).some((gate) => gate.name === 'dra-controller-manager/allocation') ||
    (!pod.status?.extendedResourceClaimStatus && [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])].some((one) =>
      Object.keys({ ...one.resources?.limits, ...one.resources?.requests }).some((name) => served.has(name))));
  return world.list('pods')
    .filter((pod) => !pod.spec?.nodeName && !podDone(pod) && !pod.metadata?.deletionTimestamp && asks(pod))
    .sort((a, b) => byText(a.metadata?.creationTimestamp ?? '', b.metadata?.creationTimestamp ?? '') || byText(keyOf(a), keyOf(b)));
}

export function groupOfPod(pod) {
  return pod.spec?.schedulingGroup?.podGroupName ?? pod.metadata?.labels?.['scheduling.x-k8s.io/pod-group'] ?? '';
}

// The claims of a pod: those that its entries name, and the one for its extended resources.
export function claimsOfPod(world, pod) {
  const ns = pod.metadata?.namespace ?? '', claims = [], table = world.table('resourceclaims');
  const made = new Map((pod.status?.resourceClaimStatuses ?? []).map((one) => [one.name, one.resourceClaimName]));
  const add = (name) => {
    const claim = name ? table.get(ns + '/' + name) : undefined;
    if (claim && !claims.includes(claim)) claims.push(claim);
  };
  for (const entry of pod.spec?.resourceClaims ?? []) add(entry.resourceClaimName ?? made.get(entry.name));
  add(pod.status?.extendedResourceClaimStatus?.resourceClaimName);
  return claims;
}

// The devices of a pod, as `kubectl dra explain` lists them.
export function devicesOfPod(world, pod) {
  const rows = [];
  for (const claim of claimsOfPod(world, pod))
    for (const result of resultsOf(claim))
      rows.push({ claim: claim.metadata.name, request: result.request, device: result.device, node: nodeOfClaim(claim), driver: result.driver, pool: result.pool, pods: world.consumersOf(claim) });
  return rows;
}
