// A world whose every text tries to be something else: markup and its ends, script addresses, marks of direction,
// control sequences, cells that a spreadsheet would compute, 64 KiB.

export const MARK = 'hostileTextRan';
const RUN = `globalThis.${MARK}=1`;
export const HOSTILE = [
  `<script>${RUN}</script>`, `</script><script>${RUN}</script>`, `<img src=x onerror="${RUN}">`, `"><svg onload=${RUN}>`, `' onmouseover='${RUN}`, `javascript:${RUN}`, `<a href="javascript:${RUN}">x</a>`,
  '<base href="http://evil.example/">', '<link rel=stylesheet href=http://evil.example/x.css>', '<meta http-equiv=refresh content="0;url=http://evil.example/">', '<iframe src=http://evil.example/></iframe>',
  '--></style></title></textarea><img src=http://evil.example/x.png>', '\u202egnp.exe\u2066abc', '\u001b[2J\u001b]0;title\u0007\u0000', '=HYPERLINK("http://evil.example/","x")', '${' + RUN + '}', '{{constructor.constructor("' + RUN + '")()}}',
  '<' + 'A'.repeat(65536), '__proto__', 'constructor', 'a\nb\tc\r\n-pods\tx', ']]>', '&lt;script&gt;', 'http://evil.example/', '`;' + RUN + '//',
];

const quantity = (value) => ({ value });
export function hostileWorld() {
  const at = (number) => HOSTILE[number % HOSTILE.length], all = HOSTILE.map((text, number) => [number, text]);
  const labels = Object.fromEntries(all.map(([number, text]) => [number % 2 ? `l${number}` : text, text]));
  const annotations = Object.fromEntries(all.map(([number, text]) => [`dra-controller-manager/${number}`, text]));
  const meta = (name, more = {}) => ({ name, uid: `uid ${name}`.slice(0, 300), labels, annotations, ...more });
  const nodes = all.map(([, text]) => ({ metadata: meta(text), spec: {}, status: { allocatable: { cpu: '8', memory: '8Gi', pods: '10' } } }));
  const device = (number) => ({ name: at(number), attributes: Object.fromEntries(all.map(([, text]) => [text, { string: text }])), capacity: { [at(number)]: quantity('1Gi') }, taints: number % 3 ? [] : [{ key: at(number + 1), value: at(number + 2), effect: 'NoSchedule' }] });
  const slices = all.map(([number, text]) => ({ metadata: meta(`slice ${text}`), spec: { driver: at(number + 3), nodeName: text, pool: { name: at(number + 4), generation: 1, resourceSliceCount: 1 }, devices: [device(number), { ...device(number + 1), name: `second ${number}` }] } }));
  const claims = all.map(([number, text]) => ({
    metadata: meta(text, { namespace: at(number + 5), creationTimestamp: text }), spec: { devices: { requests: [{ name: text, exactly: { deviceClassName: at(number + 6), count: 1 } }] } },
    status: number % 4 === 3 ? {} : { allocation: { allocationTimestamp: text, devices: { results: [{ request: text, driver: at(number + 3), pool: at(number + 4), device: `second ${number}`, shareID: text }] } }, reservedFor: [{ resource: 'pods', name: text, uid: `uid ${text}`.slice(0, 300) }],
      devices: [{ driver: text, pool: text, device: text, conditions: [{ type: text, status: 'True', message: text, reason: text }] }] },
  }));
  const pods = all.map(([number, text]) => ({
    metadata: meta(text, { namespace: at(number + 5), creationTimestamp: '2026-11-01T10:00:00Z' }), spec: { nodeName: number % 4 === 3 ? undefined : text, schedulingGroup: { podGroupName: text }, containers: [{ name: text, image: text }], resourceClaims: [{ name: text, resourceClaimName: text }] },
    status: { phase: number % 4 === 3 ? 'Pending' : 'Running', conditions: [{ type: 'PodScheduled', status: 'False', reason: text, message: text }] },
  }));
  const header = { format: 'kubectl-dra snapshot', version: 1, taken: '2026-11-01T12:00:00Z', server: at(0), serverVersion: at(1), draVersions: ['v1'], taintRulesServed: false, redacted: false, hidden: [{ what: `leases ${at(2)}`, why: at(3) }], managerHidden: '', quotasRead: false, hiddenQuotas: [], storageRead: false, hiddenStorage: [] };
  const objects = { namespaces: [], nodes, deviceclasses: all.map(([, text]) => ({ metadata: meta(text), spec: { selectors: [{ cel: { expression: text } }], extendedResourceName: text } })), resourceslices: slices, resourceclaims: claims, pods };
  return [JSON.stringify(header), ...Object.entries(objects).map(([plural, items]) => `${plural}\t${JSON.stringify({ items })}`)];
}
