// Random worlds: a few nodes with devices of every kind that drivers publish, right and wrong, claims that hold some of
// them, pods that wait. Lines of a snapshot (pkg/inspect/source/snapshot.h); the same seed makes the same world.

export function randomOf(seed) {
  let state = (seed >>> 0) + 0x9e3779b9;
  const next = () => {  // mulberry32
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  return {
    below: (most) => Math.floor(next() * most),
    chance: (likely) => next() < likely,
    pick: (list) => list[Math.floor(next() * list.length)],
  };
}

const TIME = '2026-11-01T10:00:00Z';
const quantity = (text) => ({ value: text });

// A card with partitions: a whole, halves and slices of it.
function partitioned(random, card, withProfile) {
  const set = `${card}-counters`, slices = random.pick([4, 7]), memory = random.pick([40, 80]);
  const counters = { memory: quantity(`${memory}Gi`), slices: quantity(String(slices)) };
  const part = (name, some, profile) => ({
    name, attributes: withProfile ? { profile: { string: profile }, type: { string: 'mig' } } : { type: { string: 'mig' } },
    capacity: { memory: quantity(`${some * 5}Gi`) },
    consumesCounters: [{ counterSet: set, counters: { memory: quantity(`${some * 5}Gi`), slices: quantity(String(some)) } }],
  });
  const devices = [{
    name: card, attributes: { type: { string: 'gpu' } }, capacity: { memory: quantity(`${memory}Gi`) },
    consumesCounters: [{ counterSet: set, counters: structuredClone(counters) }],
  }];
  if (random.chance(0.2)) devices.pop();
  for (let at = 0; at < slices; ++at) devices.push(part(`${card}-s1-${at}`, 1, '1g.5gb'));
  for (let at = 0; at + 1 < slices; at += 2) devices.push(part(`${card}-s2-${at}`, 2, '2g.10gb'));
  return { set: { name: set, counters }, devices };
}

function simple(random, name) {
  const device = { name, attributes: { model: { string: random.pick(['a', 'b']) } } };
  if (random.chance(0.5)) device.capacity = { memory: quantity(random.pick(['16Gi', '80G', '1500m', '3e3', '24Gi'])) };
  if (random.chance(0.25)) {
    device.allowMultipleAllocations = true;
    device.capacity = { memory: quantity(random.pick(['16Gi', '48Gi', '1.5Gi'])), cores: quantity('8') };
  }
  if (random.chance(0.1)) device.taints = [{ key: 'example.com/bad', value: 'ecc', effect: random.pick(['NoSchedule', 'NoExecute', 'None']) }];
  return device;
}

function devicesOf(random, prefix) {
  const devices = [], sets = [], profile = random.chance(0.5);
  const count = 1 + random.below(4);
  for (let at = 0; at < count; ++at) {
    if (random.chance(0.4)) {
      const card = partitioned(random, `${prefix}${at}`, profile);
      devices.push(...card.devices);
      sets.push(card.set);
    } else {
      devices.push(simple(random, `${prefix}${at}`));
    }
  }
  return { devices, sets };
}

function slice(name, driver, pool, where, rest) {
  return {
    apiVersion: 'resource.k8s.io/v1', kind: 'ResourceSlice', metadata: { name, uid: `uid-${name}` },
    spec: { driver, pool: { name: pool.name, generation: pool.generation, resourceSliceCount: pool.slices }, ...where, ...rest },
  };
}

// The slices of one pool on one node: devices in one or two, counters in one of their own, as drivers publish them.
function poolOnNode(random, driver, node, name, shift = '') {
  const { devices, sets } = devicesOf(random, shift + 'gpu-'), half = random.chance(0.3) ? Math.ceil(devices.length / 2) : devices.length;
  const parts = [devices.slice(0, half), devices.slice(half)].filter((one) => one.length > 0);
  const generation = 1 + random.below(3), slices = parts.length + (sets.length > 0 ? 1 : 0), found = [];
  const announced = random.chance(0.07) ? slices + 1 : slices, pool = { name, generation, slices: announced };
  parts.forEach((part, at) => found.push(slice(`${node}-${driver}-${shift}${at}`, driver, pool, { nodeName: node }, { devices: part })));
  if (sets.length > 0) found.push(slice(`${node}-${driver}-${shift}sets`, driver, pool, { nodeName: node }, { sharedCounters: sets }));
  if (random.chance(0.15))
    found.push(slice(`${node}-${driver}-${shift}old`, driver, { name, generation: generation - 1, slices: 1 }, { nodeName: node }, { devices: [simple(random, 'old-0')] }));
  spoil(random, found);
  return found;
}

// What no driver should publish.
function spoil(random, slices) {
  const first = slices.find((one) => one.spec.devices), what = random.below(60);
  if (what === 0) first.spec.devices.push(structuredClone(first.spec.devices[0]));
  if (what === 1) first.spec.devices[0].capacity = { memory: quantity('lots') };
  if (what === 2 && slices.at(-1).spec.sharedCounters) slices.at(-1).spec.sharedCounters[0].counters = { other: quantity('1') };
  if (what === 3) first.spec.allNodes = true;
}

function networkPool(random, nodes) {
  const devices = Array.from({ length: 1 + random.below(3) }, (_, at) => simple(random, `net-${at}`));
  const kind = random.below(4), pool = { name: 'fabric', generation: 1, slices: 1 };
  if (kind === 0) return [slice('fabric-0', 'net.example.com', pool, { allNodes: true }, { devices })];
  if (kind === 1)
    return [slice('fabric-0', 'net.example.com', pool, { nodeSelector: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'rack', operator: 'In', values: ['r0'] }] }] } }, { devices })];
  if (kind === 2) {
    for (const device of devices) Object.assign(device, random.chance(0.5) ? { nodeName: random.pick(nodes) } : { allNodes: true });
    return [slice('fabric-0', 'net.example.com', pool, { perDeviceNodeSelection: true }, { devices })];
  }
  // Every node under one pool name, generations of their own.
  return nodes.flatMap((node, at) => [slice(`fabric-${at}`, 'net.example.com', { name: 'fabric', generation: 1 + random.below(3), slices: 1 + (random.chance(0.2) ? 1 : 0) },
    { nodeName: node }, { devices: [simple(random, `net-${random.chance(0.2) ? 0 : at}`)] })]);
}

function claim(ns, name, results, node, pod) {
  const object = { apiVersion: 'resource.k8s.io/v1', kind: 'ResourceClaim', metadata: { namespace: ns, name, uid: `uid-${ns}-${name}`, creationTimestamp: TIME },
    spec: { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'gpu' } }] } } };
  if (results.length === 0) return object;
  object.status = { allocation: { devices: { results }, allocationTimestamp: TIME } };
  if (node) object.status.allocation.nodeSelector = { nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [node] }] }] };
  if (pod) object.status.reservedFor = [{ resource: 'pods', name: pod.name, uid: pod.uid }];
  return object;
}

// Its devices are kept (docs/design/keep.md): the claim of a user until a time, one from a template since its deletion; some not readable, some in use.
function keepDevices(random, made) {
  const entry = (name, uid) => ({ apiGroup: 'dra-controller-manager', resource: 'kept-devices', name, uid });
  const asked = random.pick(['10m', '90s', '24h', '1h30m', '']);
  made.metadata.annotations = { 'dra-controller-manager/keep-devices': asked };
  const consumers = (made.status.reservedFor ??= []);
  if (random.chance(0.5)) return void consumers.push(entry(random.pick(['until-1793000000-priority-0', 'in-use-priority-5', 'until-x', 'until-1793000001-priority--3']), 'kept-1'));
  consumers.push(entry('in-use-priority-0', 'kept-for-uid-of-set'));
  if (random.chance(0.8)) Object.assign(made.metadata, { deletionTimestamp: TIME, finalizers: ['resource.kubernetes.io/delete-protection'] });
}

// Takes devices that nobody has taken, parts of one card mostly, some of them twice.
function makeClaims(random, slices, nodes) {
  const claims = [], pods = [];
  const published = slices.filter((one) => one.spec.devices).flatMap((one) => one.spec.devices.map((device) => ({ slice: one, device })));
  const count = random.below(Math.min(10, published.length) + 1);
  for (let at = 0; at < count; ++at) {
    const ns = random.pick(['ml', 'web']), name = `pod-${at}`, results = [];
    const { slice: of, device } = random.pick(published);
    const result = { driver: of.spec.driver, pool: of.spec.pool.name, device: device.name, request: 'r' };
    if (device.allowMultipleAllocations && random.chance(0.8)) {
      result.shareID = `00000000-0000-4000-8000-${String(at).padStart(12, '0')}`;
      result.consumedCapacity = { memory: random.pick(['1Gi', '500M', '4Gi']) };
    }
    if (random.chance(0.05)) result.adminAccess = true;
    results.push(result);
    if (random.chance(0.2)) {
      const more = random.pick(published);
      results.push({ driver: more.slice.spec.driver, pool: more.slice.spec.pool.name, device: more.device.name, request: 'r' });
    }
    const node = of.spec.nodeName ?? (random.chance(0.5) ? random.pick(nodes) : '');
    const pod = { name, uid: `uid-pod-${at}` }, gone = random.chance(0.1);
    claims.push(claim(ns, `claim-${at}`, results, node, random.chance(0.8) ? pod : null));
    if (random.chance(0.15)) keepDevices(random, claims.at(-1));
    if (gone) continue;
    pods.push({ apiVersion: 'v1', kind: 'Pod', metadata: { namespace: ns, name, uid: pod.uid, creationTimestamp: TIME },
      spec: { nodeName: node || random.pick(nodes), containers: [{ name: 'main' }], resourceClaims: [{ name: 'c', resourceClaimName: `claim-${at}` }] }, status: { phase: 'Running' } });
  }
  return { claims, pods };
}

function waiting(random, claims, pods) {
  for (let at = 0; at < random.below(4); ++at) {
    const ns = random.pick(['ml', 'web']);
    claims.push(claim(ns, `pending-${at}`, [], '', null));
    pods.push({ apiVersion: 'v1', kind: 'Pod', metadata: { namespace: ns, name: `waits-${at}`, uid: `uid-waits-${at}`, creationTimestamp: TIME },
      spec: { containers: [{ name: 'main' }], resourceClaims: [{ name: 'c', resourceClaimName: `pending-${at}` }] }, status: { phase: 'Pending' } });
  }
}

// The lines of a snapshot of the world, and the names that questions need.
export function randomWorld(seed) {
  const random = randomOf(seed), nodes = Array.from({ length: 1 + random.below(5) }, (_, at) => `n-${at}`);
  const slices = [];
  for (const node of nodes) {
    slices.push(...poolOnNode(random, 'gpu.example.com', node, node));
    if (random.chance(0.2)) slices.push(...poolOnNode(random, 'gpu.example.com', node, `${node}-b`, 'b-'));
  }
  if (random.chance(0.5)) slices.push(...networkPool(random, nodes));
  const { claims, pods } = makeClaims(random, slices, nodes);
  waiting(random, claims, pods);
  const rules = random.chance(0.2) ? [{ apiVersion: 'resource.k8s.io/v1beta2', kind: 'DeviceTaintRule', metadata: { name: 'repair', uid: 'uid-repair' },
    spec: { deviceSelector: random.pick([{ driver: 'gpu.example.com' }, { pool: 'n-0' }, { device: 'gpu-0' }, {}]), taint: { key: 'example.com/repair', effect: 'NoExecute' } } }] : [];
  const hidden = random.chance(0.1) ? [{ what: 'resourceclaims', why: 'you may not list them' }] : [];
  const objects = {
    namespaces: ['ml', 'web'].map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, uid: `uid-${name}` } })),
    nodes: nodes.map((name, at) => ({ apiVersion: 'v1', kind: 'Node', metadata: { name, uid: `uid-${name}`, labels: { rack: `r${at % 2}`, 'kubernetes.io/hostname': name } }, status: { allocatable: { cpu: '64', memory: '256Gi', pods: '110' } } })),
    deviceclasses: [{ apiVersion: 'resource.k8s.io/v1', kind: 'DeviceClass', metadata: { name: 'gpu', uid: 'uid-gpu' }, spec: { selectors: [] } }],
    resourceslices: slices, devicetaintrules: rules, resourceclaims: hidden.length ? [] : claims, pods,
  };
  const header = { format: 'kubectl-dra snapshot', version: 1, taken: '2026-11-01T12:00:00Z', server: 'random', serverVersion: 'v1.36.2', draVersions: ['v1'],
    taintRulesServed: true, redacted: false, hidden, managerHidden: '', quotasRead: false, hiddenQuotas: [], storageRead: false, hiddenStorage: [] };
  const lines = [JSON.stringify(header), ...Object.entries(objects).map(([plural, items]) => `${plural}\t${JSON.stringify({ items })}`)];
  return { lines, nodes, pods, seed };
}
