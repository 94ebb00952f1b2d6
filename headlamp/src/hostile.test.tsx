// Texts that try to be something else stay text: web/test/hostile.mjs has them, in every field that is shown.

import { cleanup, configure, screen, waitFor } from '@testing-library/react';
import { HOSTILE, hostileWorld, MARK } from '../../web/test/hostile.mjs';
import Fleet from './Fleet';
import { DetailsSection } from './sections';
import { FakeCluster, show } from './test/cluster';
import Waiting from './Waiting';

// A machine that does other things takes its time.
configure({ asyncUtilTimeout: 60000 });
vi.setConfig({ testTimeout: 120000 });

function hostileCluster(): FakeCluster {
  const objects: any = { events: [], devicetaintrules: [] };
  for (const line of (hostileWorld() as string[]).slice(1)) {
    const tab = line.indexOf('\t');
    objects[line.slice(0, tab)] = JSON.parse(line.slice(tab + 1)).items;
  }
  return new FakeCluster(objects);
}

// Nothing of the page is an element that only markup of others could have made, and no link leads out.
function checkPage(cluster: FakeCluster) {
  expect((globalThis as any)[MARK]).toBeUndefined();
  expect(
    document.querySelectorAll(
      'script, iframe, img, base, object, embed, link, meta, [onerror], [onload], [onmouseover]'
    ).length
  ).toBe(0);
  for (const link of document.querySelectorAll('a[href]'))
    expect(link.getAttribute('href')).toMatch(/^\/(?!\/)[\w/.%+-]*$/);
  expect(document.body.textContent).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u001b\u0000\u200f]/);
  expect(cluster.elsewhere).toEqual([]);
}

let cluster: FakeCluster;
beforeEach(() => {
  cluster = hostileCluster();
  cluster.install();
});
afterEach(cleanup);

it('on the page Fleet', async () => {
  show(<Fleet />);
  expect((await screen.findAllByText(HOSTILE[0])).length).toBeGreaterThan(0);
  checkPage(cluster);
});

it('on the page Waiting', async () => {
  show(<Waiting />);
  await waitFor(() => expect(document.querySelectorAll('tbody tr').length).toBeGreaterThan(3));
  checkPage(cluster);
});

it('in every section', async () => {
  for (const [kind, plural] of [
    ['Pod', 'pods'],
    ['Node', 'nodes'],
    ['ResourceClaim', 'resourceclaims'],
  ])
    for (const object of cluster.objects[plural].slice(0, 12)) {
      show(<DetailsSection resource={{ kind, cluster: 'main', jsonData: object }} />);
      await screen.findAllByText('Devices');
      checkPage(cluster);
      cleanup();
    }
});
