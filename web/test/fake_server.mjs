// An API server of a few kinds for the page's tests: lists, watches, refusals, in as many objects as a test wants.

import { createServer } from 'node:http';

const GROUPS = {
  namespaces: ['', 'v1'], nodes: ['', 'v1'], pods: ['', 'v1'], resourcequotas: ['', 'v1'], persistentvolumeclaims: ['', 'v1'], persistentvolumes: ['', 'v1'], events: ['', 'v1'],
  deviceclasses: ['resource.k8s.io', 'v1'], resourceslices: ['resource.k8s.io', 'v1'], resourceclaims: ['resource.k8s.io', 'v1'], resourceclaimtemplates: ['resource.k8s.io', 'v1'],
};

export class FakeServer {
  // objects: {plural: [object]}; forbidden: plurals that may not be listed
  constructor(objects, forbidden = []) {
    this.objects = new Map(Object.keys(GROUPS).map((plural) => [plural, new Map()]));
    this.forbidden = new Set(forbidden);
    this.counts = new Map();
    this.watches = new Set();
    this.revision = 1;
    this.writes = 0;
    this.closed = false;  // credentials have ended
    this.users = new Set();  // as whom it was asked: '' without impersonation
    this.hidden = new Map();  // user -> plurals that this one may not list
    for (const [plural, list] of Object.entries(objects)) for (const one of list) this.set(plural, one);
    this.server = createServer((request, answer) => this.answer(request, answer));
  }
  async listen() {
    await new Promise((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    this.address = `http://127.0.0.1:${this.server.address().port}`;
    return this;
  }
  close() {
    for (const { answer } of this.watches) answer.destroy();
    this.server.closeAllConnections();
    this.server.close();
  }
  // An object that is new or has changed.
  set(plural, object) {
    const table = this.objects.get(plural), key = `${object.metadata.namespace ?? ''}/${object.metadata.name}`, known = table.has(key);
    object.metadata.resourceVersion = String(++this.revision);
    object.metadata.uid ??= `uid-${plural}-${key}`;
    table.set(key, object);
    this.tell(plural, known ? 'MODIFIED' : 'ADDED', object);
  }
  remove(plural, object) {
    this.objects.get(plural).delete(`${object.metadata.namespace ?? ''}/${object.metadata.name}`);
    object.metadata.resourceVersion = String(++this.revision);
    this.tell(plural, 'DELETED', object);
  }
  tell(plural, type, object) {
    for (const watch of this.watches ?? []) if (watch.plural === plural) watch.answer.write(JSON.stringify({ type, object }) + '\n');
  }
  endCredentials() {
    this.closed = true;
    for (const { answer } of this.watches) answer.end();
    this.watches.clear();
  }
  send(answer, status, body) {
    answer.writeHead(status, { 'Content-Type': 'application/json' });
    answer.end(JSON.stringify(body));
  }
  refuse(answer, code, message) {
    this.send(answer, code, { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, message, reason: { 401: 'Unauthorized', 403: 'Forbidden', 404: 'NotFound' }[code] ?? 'Invalid' });
  }
  answer(request, answer) {
    const url = new URL(request.url, 'http://x'), path = url.pathname.split('/').filter(Boolean);
    if (request.method !== 'GET') ++this.writes;
    const user = request.headers['impersonate-user'] ?? '';
    this.users.add(user);
    if (this.closed) return this.refuse(answer, 401, 'Unauthorized');
    if (url.pathname === '/version') return this.send(answer, 200, { gitVersion: 'v1.36.2' });
    if (url.pathname === '/apis/resource.k8s.io') return this.send(answer, 200, { kind: 'APIGroup', name: 'resource.k8s.io', versions: [{ groupVersion: 'resource.k8s.io/v1', version: 'v1' }], preferredVersion: { groupVersion: 'resource.k8s.io/v1', version: 'v1' } });
    const plural = path.at(-1), known = GROUPS[plural];
    if (!known) return this.refuse(answer, 404, `the server could not find ${url.pathname}`);
    const watching = url.searchParams.get('watch') === 'true' || url.searchParams.get('watch') === '1', what = `${watching ? 'watch' : 'list'} ${plural}`;
    if (this.forbidden.has(plural) || this.hidden.get(user)?.has(plural)) return this.refuse(answer, 403, `${plural} is forbidden: User "${user || 'x'}" cannot list resource "${plural}"`);
    if (url.searchParams.get('sendInitialEvents')) return this.refuse(answer, 422, 'sendInitialEvents is forbidden for watch');
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
    if (!watching) return this.list(answer, plural, known, url);
    answer.writeHead(200, { 'Content-Type': 'application/json' });
    answer.flushHeaders();
    const watch = { plural, answer };
    this.watches.add(watch);
    answer.on('close', () => this.watches.delete(watch));
    return undefined;
  }
  list(answer, plural, [group, version], url) {
    const all = [...this.objects.get(plural).values()], limit = Number(url.searchParams.get('limit') ?? 0) || all.length, from = Number(url.searchParams.get('continue') ?? 0);
    const metadata = { resourceVersion: String(this.revision) };
    if (from + limit < all.length) metadata.continue = String(from + limit);
    this.counts.set(`pages ${plural}`, (this.counts.get(`pages ${plural}`) ?? 0) + 1);
    if (from > 0) this.counts.set(`list ${plural}`, this.counts.get(`list ${plural}`) - 1);
    this.send(answer, 200, { kind: 'List', apiVersion: group ? `${group}/${version}` : version, metadata, items: all.slice(from, from + limit) });
  }
}

const TIME = '2026-11-01T10:00:00Z';
// So many nodes in racks, each with devices of its own; `held` of them are held by a pod.
export function plainFleet({ nodes, devices, held }) {
  const objects = { namespaces: [], nodes: [], deviceclasses: [], resourceslices: [], resourceclaims: [], pods: [] };
  for (const ns of ['ml', 'web']) objects.namespaces.push({ metadata: { name: ns } });
  objects.deviceclasses.push({ metadata: { name: 'gpu' }, spec: { selectors: [{ cel: { expression: 'device.driver == "gpu.example.com"' } }] } });
  for (let at = 0; at < nodes; ++at) {
    const name = `node-${at}`;
    objects.nodes.push({ metadata: { name, labels: { 'example.com/rack': `rack-${Math.floor(at / 20)}`, 'kubernetes.io/hostname': name } }, status: { allocatable: { cpu: '128', memory: '1024Gi', pods: '110' } } });
    objects.resourceslices.push({ metadata: { name: `${name}-gpus` }, spec: { driver: 'gpu.example.com', nodeName: name, pool: { name, generation: 1, resourceSliceCount: 1 },
      devices: Array.from({ length: devices }, (_, number) => ({ name: `gpu-${number}`, attributes: { model: { string: 'X100' }, index: { int: number }, uuid: { string: `GPU-${at}-${number}` } }, capacity: { memory: { value: '80Gi' } } })) } });
  }
  for (let at = 0; at < held; ++at) {
    const node = `node-${Math.floor(at / devices)}`, ns = at % 3 ? 'ml' : 'web', pod = `train-${at}`;
    objects.resourceclaims.push(claimOf(ns, `${pod}-gpu`, node, `gpu-${at % devices}`, pod));
    objects.pods.push({ metadata: { namespace: ns, name: pod, uid: `uid-${pod}`, creationTimestamp: TIME }, spec: { nodeName: node, containers: [{ name: 'main' }], resourceClaims: [{ name: 'gpu', resourceClaimName: `${pod}-gpu` }] }, status: { phase: 'Running' } });
  }
  return objects;
}

export function claimOf(ns, name, node, device, pod) {
  return {
    metadata: { namespace: ns, name, uid: `uid-${name}`, creationTimestamp: TIME }, spec: { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'gpu', allocationMode: 'ExactCount', count: 1 } }] } },
    status: { allocation: { allocationTimestamp: TIME, devices: { results: [{ request: 'r', driver: 'gpu.example.com', pool: node, device }] }, nodeSelector: { nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [node] }] }] } },
      reservedFor: [{ resource: 'pods', name: pod, uid: `uid-${pod}` }] },
  };
}

// A kubeconfig for it, as text.
export function kubeconfigOf(address) {
  return JSON.stringify({ apiVersion: 'v1', kind: 'Config', 'current-context': 'x', clusters: [{ name: 'x', cluster: { server: address } }], users: [{ name: 'x', user: { token: 'secret' } }], contexts: [{ name: 'x', context: { cluster: 'x', user: 'x', namespace: 'ml' } }] });
}
