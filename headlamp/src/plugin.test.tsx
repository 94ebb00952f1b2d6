// The pages and sections, rendered by Headlamp's own library against a cluster of which it sees what an API server says.

import '@testing-library/jest-dom';
import './index'; // as Headlamp loads it
import { K8s } from '@kinvolk/headlamp-plugin/lib';
import {
  act,
  cleanup,
  configure,
  fireEvent,
  screen,
  waitFor,
  within,
} from '@testing-library/react';
import { claimOf, plainFleet } from '../../web/test/fake_server.mjs';
import Claim from './Claim';
import Fleet from './Fleet';
import { DetailsSection } from './sections';
import { FakeCluster, show } from './test/cluster';
import Waiting from './Waiting';

// A machine that does other things takes its time.
configure({ asyncUtilTimeout: 60000 });
vi.setConfig({ testTimeout: 120000 });

const copy = (value: any) => JSON.parse(JSON.stringify(value));
const asObject = (kind: string, object: any) =>
  ({ kind, cluster: 'main', jsonData: object } as any);

function fleet(): FakeCluster {
  const objects: any = plainFleet({ nodes: 3, devices: 4, held: 5 });
  objects.devicetaintrules = [];
  objects.events = [];
  return new FakeCluster(objects);
}

function pending(name: string, more: any = {}) {
  return {
    metadata: {
      namespace: 'ml',
      name,
      creationTimestamp: '2026-11-01T10:00:00Z',
      ...more.metadata,
    },
    spec: {
      containers: [{ name: 'main' }],
      resourceClaims: [{ name: 'gpu', resourceClaimName: `${name}-gpu` }],
      ...more.spec,
    },
    status: { phase: 'Pending', ...more.status },
  };
}

let cluster: FakeCluster;
function use(made: FakeCluster) {
  cluster = made;
  cluster.install();
}
beforeEach(() => use(fleet()));
afterEach(() => {
  cleanup();
  localStorage.clear();
  expect(cluster.elsewhere).toEqual([]);
  expect(
    cluster.requests.filter(
      one => !one.startsWith('GET ') && !one.includes('/selfsubjectaccessreviews')
    )
  ).toEqual([]);
});

const boxes = (state: string) => document.querySelectorAll(`[data-state="${state}"]`).length;

describe('Fleet', () => {
  it('shows nodes, their cards and what is free, by one list a kind', async () => {
    show(<Fleet />);
    await screen.findByText('node-0');
    await screen.findByText(/7 of 12 cards free, 5 in use, 0 in part/);
    expect([boxes('whole'), boxes('free')]).toEqual([5, 7]);
    expect(
      screen.getAllByLabelText('gpu-0; in use as a whole; held by web/train-0-gpu').length
    ).toBe(1);
    for (const plural of [
      'nodes',
      'pods',
      'resourceslices',
      'resourceclaims',
      'deviceclasses',
      'devicetaintrules',
    ])
      expect([plural, cluster.lists(plural)]).toEqual([plural, 1]);
    expect(cluster.requests.some(one => one.includes('/v1beta2/devicetaintrules'))).toBe(true);
    expect(cluster.requests.some(one => one.includes('/v1/resourceslices'))).toBe(true);
  });

  it('chooses nodes by words', async () => {
    show(<Fleet />);
    await screen.findByText('node-2');
    fireEvent.change(screen.getByLabelText('Search'), { target: { value: 'train-4' } });
    await waitFor(() => expect(screen.queryByText('node-2')).toBeNull());
    expect(screen.getByText('node-1')).toBeInTheDocument();
    fireEvent.change(screen.getByLabelText('Search'), { target: { value: 'nothing-like-it' } });
    await screen.findByText('No node has all of these words');
  });

  it('says that holders are hidden, and calls nothing free', async () => {
    cluster.forbidden.add('resourceclaims');
    show(<Fleet />);
    await screen.findByText(/you may not list resourceclaims/);
    expect(
      screen.getByText(/12 cards: 0 are seen in use; who holds the others is not visible/)
    ).toBeInTheDocument();
    expect([boxes('unknown'), boxes('free')]).toEqual([12, 0]);
    expect(document.body.textContent).not.toMatch(/\d+ of \d+ cards free/);
    expect(screen.getAllByText('not visible').length).toBeGreaterThan(0);
  });

  it('does not call devices free when Headlamp is set to read some namespaces alone', async () => {
    localStorage.setItem('cluster_settings.main', JSON.stringify({ allowedNamespaces: ['web'] }));
    show(<Fleet />);
    await screen.findByText(/Headlamp is set to read resourceclaims of the namespaces web alone/);
    expect(boxes('free')).toBe(0);
  });

  it('says that slices are hidden', async () => {
    cluster.forbidden.add('resourceslices');
    show(<Fleet />);
    await screen.findByText(/you may not list resourceslices/);
    expect(document.body.textContent).not.toMatch(/cards free/);
  });

  it('says that there is no Dynamic Resource Allocation', async () => {
    cluster.versions = {};
    show(<Fleet />);
    await screen.findByText(/does not serve resource.k8s.io/);
  });

  it('reads older versions', async () => {
    cluster.versions = { v1beta1: ['resourceslices', 'resourceclaims', 'deviceclasses'] };
    for (const slice of cluster.objects.resourceslices)
      slice.spec.devices = slice.spec.devices.map(({ name, ...basic }: any) => ({ name, basic }));
    show(<Fleet />);
    await screen.findByText(/7 of 12 cards free/);
    expect(cluster.requests.some(one => one.includes('/v1beta1/resourceslices'))).toBe(true);
  });

  it('changes with the cluster', async () => {
    show(<Fleet />);
    await screen.findByText(/7 of 12 cards free/);
    await waitFor(() => expect(cluster.sockets.length).toBeGreaterThan(3));
    await act(async () =>
      cluster.tell('resourceclaims', 'ADDED', claimOf('ml', 'new-gpu', 'node-2', 'gpu-0', 'new'))
    );
    await screen.findByText(/6 of 12 cards free/);
    await act(async () =>
      cluster.tell('resourceclaims', 'DELETED', copy(cluster.objects.resourceclaims[0]))
    );
    await screen.findByText(/7 of 12 cards free/);
  });
});

describe('Waiting', () => {
  it('has the sentence of the condition, of ours before the scheduler’s, and of the newest warning', async () => {
    cluster.objects.pods.push(
      pending('gated', {
        status: {
          phase: 'Pending',
          conditions: [
            {
              type: 'PodScheduled',
              status: 'False',
              reason: 'SchedulingGated',
              message: 'Scheduling is blocked due to non-empty scheduling gates',
            },
            {
              type: 'dra-controller-manager/Allocated',
              status: 'False',
              message: 'node-0: gpu-0 is in use by claim ml/other.',
            },
          ],
        },
      }),
      pending('bound-later', {
        status: {
          phase: 'Pending',
          conditions: [
            {
              type: 'PodScheduled',
              status: 'False',
              message: 'No node has 9 devices of class gpu.',
            },
          ],
        },
      }),
      pending('member', { spec: { schedulingGroup: { podGroupName: 'ring' } } }),
      pending('silent')
    );
    cluster.objects.pods.forEach(one => cluster.stamp(one));
    const member = cluster.objects.pods.find(one => one.metadata.name === 'member');
    const event = (uid: string, message: string, lastTimestamp: string, type = 'Warning') => ({
      metadata: { namespace: 'ml', name: `e-${message.length}` },
      type,
      reason: 'GroupWaits',
      message,
      lastTimestamp,
      involvedObject: { kind: 'Pod', name: 'member', uid },
    });
    cluster.objects.events.push(
      event(member.metadata.uid, 'An older sentence.', '2026-11-01T10:00:00Z'),
      event(member.metadata.uid, '2 of 8 members are ready.', '2026-11-01T10:05:00Z'),
      event('of-another-pod', 'Of a pod that is gone.', '2026-11-01T11:00:00Z'),
      event(member.metadata.uid, 'All is well.', '2026-11-01T12:00:00Z', 'Normal')
    );
    show(<Waiting />);
    await screen.findByText('node-0: gpu-0 is in use by claim ml/other.');
    expect(screen.getByText('No node has 9 devices of class gpu.')).toBeInTheDocument();
    expect(screen.getByText('condition dra-controller-manager/Allocated')).toBeInTheDocument();
    await screen.findByText('2 of 8 members are ready.');
    expect(screen.getByText('event GroupWaits')).toBeInTheDocument();
    await screen.findByText('Nobody has said why yet.');
    expect(within(screen.getByLabelText('Groups')).getByText('ml/ring')).toBeInTheDocument();
    expect(screen.queryByText('train-0')).toBeNull();
  });

  it('says that events and pods are hidden', async () => {
    cluster.objects.pods.push(pending('silent'));
    cluster.forbidden.add('events');
    show(<Waiting />);
    await screen.findByText('not visible: you may not list its events');
    cleanup();
    cluster.forbidden.add('pods');
    show(<Waiting />);
    await screen.findByText('Whether pods wait is not visible');
  });

  it('asks for the events of fifty pods at most', async () => {
    for (let at = 0; at < 120; ++at) cluster.objects.pods.push(pending(`silent-${at}`));
    show(<Waiting />);
    await waitFor(() => expect(cluster.lists('events')).toBe(50));
    await new Promise(resolve => setTimeout(resolve, 200));
    expect(cluster.lists('events')).toBe(50);
  });
});

describe('sections', () => {
  it('of a pod: its devices', async () => {
    const pod = cluster.objects.pods[0];
    show(<DetailsSection resource={asObject('Pod', pod)} />);
    await screen.findByText('gpu-0');
    expect(screen.getByText('train-0-gpu')).toBeInTheDocument();
    expect(screen.getAllByText('node-0')[0].closest('a')).toHaveAttribute(
      'href',
      expect.stringMatching(/node-0$/)
    );
    expect(cluster.requests.some(one => one.includes('/namespaces/web/resourceclaims'))).toBe(true);
  });

  it('of a pod that waits: why', async () => {
    const pod = pending('p', {
      status: {
        conditions: [{ type: 'PodScheduled', status: 'False', message: 'No node has it.' }],
      },
    });
    cluster.objects.pods.push(pod);
    show(<DetailsSection resource={asObject('Pod', pod)} />);
    await screen.findByText('No node has it.');
  });

  it('of a pod whose claims are hidden', async () => {
    cluster.forbidden.add('resourceclaims');
    show(<DetailsSection resource={asObject('Pod', cluster.objects.pods[0])} />);
    await screen.findByText('Not visible: its claims');
  });

  it('of a pod without devices: nothing, without a request', async () => {
    const { container } = show(
      <DetailsSection
        resource={asObject('Pod', { metadata: { name: 'x', namespace: 'y' }, spec: {} })}
      />
    );
    expect(container.textContent).toBe('');
    expect(cluster.requests).toEqual([]);
  });

  it('of a node: devices and who holds them', async () => {
    show(<DetailsSection resource={asObject('Node', cluster.objects.nodes[1])} />);
    await screen.findByText('ml/train-4-gpu');
    expect(screen.getAllByText('free').length).toBe(3);
    expect(screen.getByText('train-4')).toBeInTheDocument();
  });

  it('of a node, with holders hidden: no device is free', async () => {
    cluster.forbidden.add('resourceclaims');
    show(<DetailsSection resource={asObject('Node', cluster.objects.nodes[1])} />);
    expect((await screen.findAllByText('no holder visible')).length).toBe(4);
    expect(screen.queryByText('free')).toBeNull();
  });

  it('of a claim, on the page of claims', async () => {
    const claim = cluster.objects.resourceclaims[0];
    claim.status.devices = [
      {
        driver: 'gpu.example.com',
        pool: 'node-0',
        device: 'gpu-0',
        conditions: [{ type: 'Ready', status: 'True', message: 'link is up' }],
      },
    ];
    show(<Claim />, {
      path: '/c/main/dra/claims/web/train-0-gpu',
      route: '/c/main/dra/claims/:namespace/:name',
    });
    await screen.findByText('Ready=True: link is up');
    expect(screen.getByText('train-0')).toBeInTheDocument();
    expect(screen.getByText('gpu-0')).toBeInTheDocument();
  });

  it('of a claim that waits', async () => {
    const claim = { metadata: { namespace: 'ml', name: 'p-gpu' }, spec: {}, status: {} };
    cluster.objects.resourceclaims.push(claim);
    cluster.stamp(claim);
    cluster.objects.pods.push(
      pending('p', {
        status: {
          conditions: [{ type: 'PodScheduled', status: 'False', message: 'No node has it.' }],
        },
      })
    );
    show(<DetailsSection resource={asObject('ResourceClaim', claim)} />);
    await screen.findByText('No node has it.');
    expect(screen.getByText(/It is not allocated/)).toBeInTheDocument();
  });

  it('of other kinds: nothing', () => {
    const { container } = show(
      <DetailsSection resource={asObject('ConfigMap', { metadata: { name: 'x' } })} />
    );
    expect(container.textContent).toBe('');
    expect(K8s.ResourceClasses.Pod).toBeDefined();
  });
});
