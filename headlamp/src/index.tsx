// A plugin of Headlamp: pages Fleet and Waiting, and a section in the details of Pods, Nodes and ResourceClaims.

import {
  registerDetailsViewSection,
  registerRoute,
  registerSidebarEntry,
} from '@kinvolk/headlamp-plugin/lib';
import Claim from './Claim';
import Fleet from './Fleet';
import { CLAIM_ROUTE } from './parts';
import { DetailsSection } from './sections';
import Waiting from './Waiting';

const PARENT = 'dra-devices';

registerSidebarEntry({
  parent: null,
  name: PARENT,
  label: 'Devices',
  icon: 'mdi:expansion-card-variant',
  url: '/dra/fleet',
});
registerSidebarEntry({ parent: PARENT, name: 'dra-fleet', label: 'Fleet', url: '/dra/fleet' });
registerSidebarEntry({
  parent: PARENT,
  name: 'dra-waiting',
  label: 'Waiting',
  url: '/dra/waiting',
});

registerRoute({
  path: '/dra/fleet',
  sidebar: 'dra-fleet',
  name: 'dra-fleet',
  exact: true,
  component: () => <Fleet />,
});
registerRoute({
  path: '/dra/waiting',
  sidebar: 'dra-waiting',
  name: 'dra-waiting',
  exact: true,
  component: () => <Waiting />,
});
registerRoute({
  path: '/dra/claims/:namespace/:name',
  sidebar: 'dra-fleet',
  name: CLAIM_ROUTE,
  exact: true,
  component: () => <Claim />,
});

registerDetailsViewSection(DetailsSection);
