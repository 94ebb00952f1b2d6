// The model of web/model, kept from Headlamp's own lists: one list and watch a kind, which Headlamp shares between
// pages. What is wrong with a list makes its kind hidden: a device whose holders are not seen is never called free.

import { K8s } from '@kinvolk/headlamp-plugin/lib';
import { Loader } from '@kinvolk/headlamp-plugin/lib/CommonComponents';
import { ReactNode, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { keyOf, World } from '../../web/model/model.js';
import { Problem } from './parts';
import { ObjectClass, useServed } from './served';

export interface Hidden {
  what: string;
  why: string;
}

// Brings a table of the world to what a list has. Objects stay Headlamp's: the model gets a copy of what it changes.
export function updateTable(world: any, plural: string, items: any[]): boolean {
  const table = world.table(plural);
  const there = new Set<string>();
  let changed = false;
  for (const item of items) {
    const object = item?.jsonData ?? item;
    if (!object?.metadata) continue;
    const key = keyOf(object);
    there.add(key);
    const before = table.get(key);
    const same =
      before?.metadata?.uid === object.metadata.uid &&
      before?.metadata?.resourceVersion === object.metadata.resourceVersion;
    if (before && same && object.metadata.resourceVersion !== undefined) continue;
    world.put(plural, { ...object, metadata: { ...object.metadata } });
    changed = true;
  }
  for (const key of [...table.keys()])
    if (!there.has(key)) {
      world.remove(plural, key);
      changed = true;
    }
  return changed;
}

// Of one list: what is hidden of it. `allowed`: the namespaces that Headlamp is set to read.
export function hiddenOf(plural: string, errors: any[] | null, allowed: string[]): Hidden | null {
  if (errors?.length) {
    const first = errors[0];
    const why =
      first?.status === 403 ? `you may not list ${plural}` : String(first?.message ?? first);
    return { what: plural, why };
  }
  if (allowed.length)
    return {
      what: plural,
      why: `Headlamp is set to read ${plural} of the namespaces ${allowed.join(', ')} alone`,
    };
  return null;
}

function allowedNamespaces(cluster: string): string[] {
  // Headlamps before this function have no such setting in lists of plugins.
  return K8s.cluster.getAllowedNamespaces?.(cluster) ?? [];
}

type OnList = (
  plural: string,
  items: any[] | null,
  errors: any[] | null,
  namespaced: boolean
) => void;

function Listing(props: {
  of: ObjectClass;
  plural: string;
  cluster: string;
  namespace?: string;
  onList: OnList;
}) {
  const { of, plural, cluster, namespace, onList } = props;
  const { items, errors } = of.useList({ cluster, namespace });
  const said = errors?.length ? errors.map(one => `${one?.status} ${one?.message}`).join('\n') : '';
  useEffect(() => {
    onList(plural, items, said ? errors : null, of.isNamespaced);
    // Headlamp makes the array of errors anew each time: its text says whether it has changed.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [items, said, of, plural, onList]);
  return null;
}

const CORE: Record<string, ObjectClass> = {
  nodes: K8s.ResourceClasses.Node as unknown as ObjectClass,
  pods: K8s.ResourceClasses.Pod as unknown as ObjectClass,
};

interface WorldProps {
  cluster: string;
  kinds: string[];
  // Only this one's objects of namespaced kinds.
  namespace?: string;
  // `version` grows with each change of the world.
  children: (world: any, version: number) => ReactNode;
  // A section of a page that is about something else says nothing while it waits, and nothing where there is no DRA.
  quiet?: boolean;
}

export function WithWorld({ cluster, kinds, namespace, children, quiet }: WorldProps) {
  const served = useServed(cluster);
  if (!served) return quiet ? null : <Loader title="Reading what the cluster serves" />;
  if (served.problem) return quiet ? null : <Problem text={served.problem} />;
  return (
    <Lists
      key={`${cluster}\n${namespace ?? ''}`}
      classes={{ ...CORE, ...served.classes }}
      {...{ cluster, kinds, namespace, children, quiet }}
    />
  );
}

function Lists(props: WorldProps & { classes: Record<string, ObjectClass> }) {
  const { cluster, kinds, namespace, children, quiet, classes } = props;
  const world = useRef<any>(null);
  world.current ??= new World();
  const seen = useRef(new Map<string, Hidden | null>());
  const [version, setVersion] = useState(0);
  const read = useMemo(() => kinds.filter(plural => classes[plural]), [kinds, classes]);
  const onList = useCallback<OnList>(
    (plural, items, errors, namespaced) => {
      if (items === null && !errors) return;
      const first = !seen.current.has(plural);
      const allowed = namespaced && !namespace ? allowedNamespaces(cluster) : [];
      const hidden = hiddenOf(plural, errors, allowed);
      const before = seen.current.get(plural);
      seen.current.set(plural, hidden);
      const moved = first || before?.why !== hidden?.why;
      if (moved) world.current.setHeader({ hidden: [...seen.current.values()].filter(Boolean) });
      // With an error the list is empty or stands still: what was known stays.
      const changed = updateTable(
        world.current,
        plural,
        errors && !items?.length ? world.current.list(plural) : items ?? []
      );
      if (moved || changed) setVersion(one => one + 1);
    },
    [cluster, namespace]
  );
  const waits = read.filter(plural => !seen.current.has(plural));
  return (
    <>
      {read.map(plural => (
        <Listing key={plural} of={classes[plural]} {...{ plural, cluster, namespace, onList }} />
      ))}
      {waits.length === 0 ? (
        children(world.current, version)
      ) : quiet ? null : (
        <Loader title={`Reading ${waits.join(', ')}`} />
      )}
    </>
  );
}

// The cluster of this page. Of several that are chosen one is shown: devices of two clusters are never one fleet.
export function useOneCluster(): { cluster: string; others: string[] } {
  const cluster = K8s.useCluster() ?? '';
  const chosen = K8s.useSelectedClusters?.() ?? [];
  return { cluster, others: chosen.filter(one => one !== cluster) };
}
