// Sections in the details of Pods, Nodes and ResourceClaims.

import {
  NameValueTable,
  SectionBox,
  SimpleTable,
} from '@kinvolk/headlamp-plugin/lib/CommonComponents';
import { useEffect, useState } from 'react';
import {
  claimsOfPod,
  devicesOfPod,
  keyOf,
  nodeOfClaim,
  resultsOf,
  whoRows,
} from '../../web/model/model.js';
import { ageText } from '../../web/page/details.js';
import { ClaimLink, ClaimOfKey, HiddenNotes, NodeLink, PodsOf, SentenceText, Text } from './parts';
import {
  eventsOf,
  Sentence,
  sentenceOfConditions,
  sentenceOfEvents,
  unreadEvents,
} from './sentences';
import { WithWorld } from './world';

const GATE = 'dra-controller-manager/allocation';

export function asksForDevices(pod: any): boolean {
  return (
    (pod?.spec?.resourceClaims?.length ?? 0) > 0 ||
    Boolean(pod?.status?.extendedResourceClaimStatus) ||
    (pod?.spec?.schedulingGates ?? []).some((one: any) => one?.name === GATE)
  );
}

// The sentence of the object's newest warning, once it has come.
function useEventSentence(
  cluster: string,
  kind: string,
  object: any,
  wanted: boolean
): Sentence | string | null {
  const [said, setSaid] = useState<Sentence | string | null>(null);
  const { namespace, name, uid, resourceVersion } = object.metadata;
  useEffect(() => {
    if (!wanted) {
      setSaid(null);
      return;
    }
    let open = true;
    eventsOf(cluster, kind, namespace, name, uid).then(
      events => open && setSaid(sentenceOfEvents(events)),
      error => open && setSaid(unreadEvents(error))
    );
    return () => {
      open = false;
    };
  }, [cluster, kind, namespace, name, uid, resourceVersion, wanted]);
  return said;
}

function Said({ said }: { said: Sentence | string | null }) {
  if (!said) return null;
  if (typeof said === 'string')
    return (
      <p>
        <SentenceText text={said} />
      </p>
    );
  return (
    <p>
      <SentenceText text={said.text} />{' '}
      <small>
        (<Text text={said.from} />)
      </small>
    </p>
  );
}

const POD_KINDS = ['pods', 'resourceclaims'];

export function PodDevices({ pod, world, cluster }: { pod: any; world: any; cluster: string }) {
  const rows = devicesOfPod(world, pod);
  const known = claimsOfPod(world, pod);
  const waits = !pod.spec?.nodeName && rows.length === 0;
  const ofConditions = sentenceOfConditions(pod);
  const ofEvents = useEventSentence(cluster, 'Pod', pod, waits && !ofConditions);
  const hidden = world.hides('resourceclaims');
  return (
    <SectionBox title="Devices">
      <HiddenNotes hidden={world.header.hidden} />
      {waits && <Said said={ofConditions ?? ofEvents} />}
      <SimpleTable
        data={rows}
        columns={[
          { label: 'Device', getter: (one: any) => <Text text={one.device} /> },
          {
            label: 'Claim',
            getter: (one: any) => (
              <ClaimLink name={one.claim} namespace={pod.metadata.namespace} cluster={cluster} />
            ),
          },
          { label: 'Request', getter: (one: any) => <Text text={one.request} /> },
          {
            label: 'Node',
            getter: (one: any) => (one.node ? <NodeLink name={one.node} cluster={cluster} /> : ''),
          },
          { label: 'Driver', getter: (one: any) => <Text text={one.driver} /> },
          { label: 'Pool', getter: (one: any) => <Text text={one.pool} /> },
          {
            label: 'Pods',
            getter: (one: any) => (
              <PodsOf pods={one.pods} namespace={pod.metadata.namespace} cluster={cluster} />
            ),
          },
        ]}
        emptyMessage={
          hidden
            ? 'Not visible: its claims'
            : known.length
            ? 'None of its claims has devices yet'
            : 'It has no claims yet'
        }
      />
    </SectionBox>
  );
}

const NODE_KINDS = ['nodes', 'pods', 'resourceslices', 'resourceclaims', 'devicetaintrules'];

export function NodeDevices({
  node,
  world,
  cluster,
}: {
  node: string;
  world: any;
  cluster: string;
}) {
  const rows = whoRows(world, node);
  const hides = world.hides('resourceslices');
  if (rows.length === 0 && !hides) return null;
  return (
    <SectionBox title="Devices">
      <HiddenNotes hidden={world.header.hidden} />
      <SimpleTable
        data={rows}
        rowsPerPage={[25, 50, 100]}
        columns={[
          {
            label: 'Device',
            gridTemplate: 'minmax(220px, 1.6fr)',
            getter: (one: any) => (
              <span style={{ display: 'inline-block', paddingLeft: one.partition ? 16 : 0 }}>
                <Text text={one.device} />
              </span>
            ),
          },
          { label: 'State', getter: (one: any) => <Text text={one.state} /> },
          {
            label: 'Claim',
            getter: (one: any) => one.claim && <ClaimOfKey claim={one.claim} cluster={cluster} />,
          },
          {
            label: 'Pods',
            getter: (one: any) => (
              <PodsOf pods={one.pods} namespace={one.claim.split('/')[0]} cluster={cluster} />
            ),
          },
          { label: 'Driver', getter: (one: any) => <Text text={one.driver} /> },
          { label: 'Pool', getter: (one: any) => <Text text={one.pool} /> },
        ]}
        emptyMessage={hides ? 'Not visible: its devices' : 'No devices'}
      />
    </SectionBox>
  );
}

// What drivers say of a device: conditions of the claim's status.
function wordsOfDriver(claim: any, result: any): string {
  const own = (claim.status?.devices ?? []).find(
    (one: any) =>
      one?.driver === result.driver &&
      one.pool === result.pool &&
      one.device === result.device &&
      (one.shareID ?? '') === (result.shareID ?? '')
  );
  return (own?.conditions ?? [])
    .map((one: any) => `${one?.type}=${one?.status}${one?.message ? `: ${one.message}` : ''}`)
    .join('; ');
}

export function ClaimDevices({
  claim,
  world,
  cluster,
}: {
  claim: any;
  world: any;
  cluster: string;
}) {
  const results = resultsOf(claim);
  const allocated = Boolean(claim.status?.allocation);
  const said = useEventSentence(cluster, 'ResourceClaim', claim, !allocated);
  const since = claim.status?.allocation?.allocationTimestamp;
  const node = nodeOfClaim(claim);
  const waiting = allocated
    ? []
    : world
        .list('pods')
        .filter((pod: any) =>
          claimsOfPod(world, pod).some((one: any) => keyOf(one) === keyOf(claim))
        );
  const namespace = claim.metadata.namespace;
  return (
    <SectionBox title="Devices">
      <HiddenNotes hidden={world.header.hidden} />
      {!allocated && (
        <p>
          It is not allocated{claim.metadata.deletionTimestamp ? ', and is being deleted' : ''}.
        </p>
      )}
      {!allocated && <Said said={said} />}
      {waiting.slice(0, 20).map((pod: any) => (
        <Said key={keyOf(pod)} said={sentenceOfConditions(pod)} />
      ))}
      <NameValueTable
        rows={[
          { name: 'Node', value: node && <NodeLink name={node} cluster={cluster} />, hide: !node },
          { name: 'Since', value: since && ageText(since, Date.now()), hide: !since },
          {
            name: 'Reserved for',
            value: (
              <PodsOf pods={world.consumersOf(claim)} namespace={namespace} cluster={cluster} />
            ),
            hide: !allocated,
          },
          {
            name: 'Waited for by',
            value: (
              <PodsOf
                pods={waiting.map((pod: any) => pod.metadata.name)}
                namespace={namespace}
                cluster={cluster}
              />
            ),
            hide: waiting.length === 0,
          },
        ]}
      />
      <SimpleTable
        data={[...results]}
        columns={[
          { label: 'Device', getter: (one: any) => <Text text={one.device} /> },
          { label: 'Request', getter: (one: any) => <Text text={one.request} /> },
          { label: 'Driver', getter: (one: any) => <Text text={one.driver} /> },
          { label: 'Pool', getter: (one: any) => <Text text={one.pool} /> },
          { label: 'Share', getter: (one: any) => <Text text={one.shareID ?? ''} /> },
          { label: 'Driver says', getter: (one: any) => <Text text={wordsOfDriver(claim, one)} /> },
        ]}
        emptyMessage="No devices"
      />
    </SectionBox>
  );
}

// What Headlamp calls for every object whose details it shows.
export function DetailsSection({ resource }: { resource: any }) {
  const object = resource?.jsonData;
  if (!object?.metadata) return null;
  const cluster = resource.cluster ?? '';
  const inside = { cluster, quiet: true };
  const key = object.metadata.uid;
  if (resource.kind === 'Pod' && asksForDevices(object))
    return (
      <WithWorld key={key} {...inside} kinds={POD_KINDS} namespace={object.metadata.namespace}>
        {world => <PodDevices pod={object} world={world} cluster={cluster} />}
      </WithWorld>
    );
  if (resource.kind === 'Node')
    return (
      <WithWorld key={key} {...inside} kinds={NODE_KINDS}>
        {world => <NodeDevices node={object.metadata.name} world={world} cluster={cluster} />}
      </WithWorld>
    );
  if (resource.kind === 'ResourceClaim')
    return (
      <WithWorld key={key} {...inside} kinds={POD_KINDS} namespace={object.metadata.namespace}>
        {world => <ClaimDevices claim={object} world={world} cluster={cluster} />}
      </WithWorld>
    );
  return null;
}
