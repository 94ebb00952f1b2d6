// What the pages and sections share. Texts of the cluster go through Text: React never parses them, and what would turn
// the direction of writing is spelled out.

import { Link, SectionBox } from '@kinvolk/headlamp-plugin/lib/CommonComponents';
import { ReactNode } from 'react';
import { shown } from '../../web/page/dom.js';
import { Hidden } from './world';

export function Text({ text, most }: { text: unknown; most?: number }) {
  return (
    <bdi style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-line' }}>{shown(text, most)}</bdi>
  );
}

const MAX_SENTENCE = 4000;
export function SentenceText({ text }: { text: string }) {
  return <Text text={text} most={MAX_SENTENCE} />;
}

export function Problem({ text }: { text: string }) {
  return (
    <SectionBox title="Devices">
      <p role="alert">
        <SentenceText text={text} />
      </p>
    </SectionBox>
  );
}

// Names that are no names of objects lead nowhere: a link of them could be another address.
const NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;
const isName = (text: string) => text.length <= 253 && NAME.test(text);

export function ObjectLink(props: {
  route: string;
  name: string;
  namespace?: string;
  cluster: string;
  text?: string;
}) {
  const { route, name, namespace, cluster, text } = props;
  const words = <Text text={text ?? name} />;
  if (!isName(name) || (namespace !== undefined && !isName(namespace))) return words;
  return (
    <Link
      routeName={route}
      params={namespace === undefined ? { name, cluster } : { name, namespace, cluster }}
      activeCluster={cluster}
    >
      {words}
    </Link>
  );
}

export const NodeLink = (props: { name: string; cluster: string }) => (
  <ObjectLink route="node" {...props} />
);
export const PodLink = (props: {
  name: string;
  namespace: string;
  cluster: string;
  text?: string;
}) => <ObjectLink route="pod" {...props} />;
export const CLAIM_ROUTE = 'ResourceClaim';
export const ClaimLink = (props: {
  name: string;
  namespace: string;
  cluster: string;
  text?: string;
}) => <ObjectLink route={CLAIM_ROUTE} {...props} />;

// "ns/name" of a claim, as rows have it.
export function ClaimOfKey({ claim, cluster }: { claim: string; cluster: string }) {
  const slash = claim.indexOf('/');
  if (slash < 0) return <Text text={claim} />;
  return (
    <ClaimLink
      namespace={claim.slice(0, slash)}
      name={claim.slice(slash + 1)}
      text={claim}
      cluster={cluster}
    />
  );
}

// Pods of a claim as the model names them: "train-0", "train-0 (gone)", "jobs/x".
export function PodsOf({
  pods,
  namespace,
  cluster,
}: {
  pods: string[];
  namespace: string;
  cluster: string;
}) {
  const MOST = 20;
  return (
    <>
      {pods.slice(0, MOST).map((name, at) => (
        <span key={at}>
          {at > 0 && ', '}
          <PodLink name={name} namespace={namespace} cluster={cluster} />
        </span>
      ))}
      {pods.length > MOST && ` and ${pods.length - MOST} more`}
    </>
  );
}

// What may not be listed, and what follows from it.
export function HiddenNotes({ hidden, others }: { hidden: Hidden[]; others?: string[] }) {
  const notes: ReactNode[] = hidden.map(one => (
    <>
      Not visible: <Text text={one.what} /> (<Text text={one.why} />)
      {one.what.startsWith('resourceclaims') &&
        '. Who holds what is not known, so nothing is shown as free.'}
    </>
  ));
  if (others?.length)
    notes.push(
      <>
        Several clusters are chosen; this is one of them, without <Text text={others.join(', ')} />.
      </>
    );
  if (!notes.length) return null;
  return (
    <ul role="note" aria-label="What is not visible">
      {notes.map((note, at) => (
        <li key={at}>{note}</li>
      ))}
    </ul>
  );
}
