// The page Waiting: pods that ask for devices and have no node, oldest first, groups together, with the sentence of
// their condition or event.

import { SectionBox, SimpleTable } from '@kinvolk/headlamp-plugin/lib/CommonComponents';
import { useEffect, useMemo, useRef, useState } from 'react';
import { groupOfPod, keyOf, waitingPods } from '../../web/model/model.js';
import { ageText } from '../../web/page/details.js';
import { HiddenNotes, PodLink, SentenceText, Text } from './parts';
import {
  eventsOf,
  Sentence,
  sentenceOfConditions,
  sentenceOfEvents,
  unreadEvents,
} from './sentences';
import { useOneCluster, WithWorld } from './world';

const KINDS = ['pods', 'deviceclasses'];
// Pods without a condition whose events are asked for; each costs a request, four at a time.
const MAX_ASKED = 50;
const AT_ONCE = 4;
const ASK_AGAIN_MS = 30000;
const SHOWN_EVERY_MS = 250;
const UNSAID = `No condition says why. Its events may: open the pod.`;

// Of the pods without a sentence in their conditions: that of their events.
export function useEventSentences(cluster: string, pods: any[]): Map<string, Sentence | string> {
  const [known, setKnown] = useState(new Map<string, Sentence | string>());
  const silent = pods.filter(pod => !sentenceOfConditions(pod)).slice(0, MAX_ASKED);
  const names = silent.map(pod => `${keyOf(pod)} ${pod.metadata.uid}`).join('\n');
  const latest = useRef(silent);
  latest.current = silent;
  useEffect(() => {
    let wanted = true;
    // Answers are shown together: each that is shown alone draws the page anew.
    let found: [string, Sentence | string][] = [];
    const flush = () => {
      const news = found;
      found = [];
      if (wanted && news.length) setKnown(before => new Map([...before, ...news]));
    };
    const askAbout = async (pod: any) => {
      const { namespace, name, uid } = pod.metadata;
      try {
        const events = await eventsOf(cluster, 'Pod', namespace, name, uid);
        found.push([keyOf(pod), sentenceOfEvents(events) ?? 'Nobody has said why yet.']);
      } catch (error) {
        found.push([keyOf(pod), unreadEvents(error)]);
      }
    };
    const askAll = async () => {
      const queue = [...latest.current];
      const work = async () => {
        for (let pod = queue.shift(); pod && wanted; pod = queue.shift()) await askAbout(pod);
      };
      await Promise.all(Array.from({ length: AT_ONCE }, work));
      flush();
    };
    const shows = setInterval(flush, SHOWN_EVERY_MS);
    askAll();
    const again = setInterval(askAll, ASK_AGAIN_MS);
    return () => {
      wanted = false;
      clearInterval(again);
      clearInterval(shows);
    };
  }, [cluster, names]);
  return known;
}

export function WaitingOfWorld(props: {
  world: any;
  version: number;
  cluster: string;
  others?: string[];
}) {
  const { world, version, cluster, others } = props;
  // The world changes in place: its version says that it did.
  // eslint-disable-next-line react-hooks/exhaustive-deps
  const pods = useMemo<any[]>(() => waitingPods(world), [world, version]);
  const said = useEventSentences(cluster, pods);
  const groups = useMemo(() => {
    const sizes = new Map<string, any[]>();
    for (const pod of pods) {
      const group = groupOfPod(pod);
      if (!group) continue;
      const key = `${pod.metadata.namespace}/${group}`;
      sizes.set(key, [...(sizes.get(key) ?? []), pod]);
    }
    return [...sizes];
  }, [pods]);
  const sentence = (pod: any): { text: string; from: string } => {
    const ofConditions = sentenceOfConditions(pod);
    if (ofConditions) return ofConditions;
    const ofEvents = said.get(keyOf(pod));
    if (ofEvents === undefined) return { text: pods.length > MAX_ASKED ? UNSAID : '', from: '' };
    return typeof ofEvents === 'string' ? { text: ofEvents, from: '' } : ofEvents;
  };
  const now = Date.now();
  const columns = [
    {
      label: 'Pod',
      getter: (pod: any) => (
        <PodLink name={pod.metadata.name} namespace={pod.metadata.namespace} cluster={cluster} />
      ),
    },
    { label: 'Namespace', getter: (pod: any) => <Text text={pod.metadata.namespace} /> },
    { label: 'Group', getter: (pod: any) => <Text text={groupOfPod(pod)} /> },
    { label: 'Waits for', getter: (pod: any) => ageText(pod.metadata.creationTimestamp, now) },
    {
      label: 'Why',
      gridTemplate: 'minmax(300px, 4fr)',
      getter: (pod: any) => <SentenceText text={sentence(pod).text} />,
    },
    { label: 'Said by', getter: (pod: any) => <Text text={sentence(pod).from} /> },
  ];
  return (
    <SectionBox title="Waiting for devices">
      <HiddenNotes hidden={world.header.hidden} others={others} />
      {groups.length > 0 && (
        <ul aria-label="Groups">
          {groups.slice(0, 200).map(([key, own]) => (
            <li key={key}>
              <Text text={key} />: {own.length} {own.length === 1 ? 'pod waits' : 'pods wait'} for{' '}
              {ageText(own[0].metadata.creationTimestamp, now)}
            </li>
          ))}
        </ul>
      )}
      <SimpleTable
        data={pods}
        columns={columns}
        rowsPerPage={[25, 50, 100]}
        emptyMessage={
          world.hides('pods') ? 'Whether pods wait is not visible' : 'No pod waits for devices'
        }
      />
    </SectionBox>
  );
}

export default function Waiting() {
  const { cluster, others } = useOneCluster();
  return (
    <WithWorld cluster={cluster} kinds={KINDS}>
      {(world, version) => <WaitingOfWorld {...{ world, version, cluster, others }} />}
    </WithWorld>
  );
}
