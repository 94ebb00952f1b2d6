// The page Fleet: nodes with their cards, and what is free by driver and shape. The figures of `kubectl dra top`.

import { SectionBox, SimpleTable } from '@kinvolk/headlamp-plugin/lib/CommonComponents';
import { TextField } from '@mui/material';
import { useMemo, useState } from 'react';
import { fleetNodes, naturalOrder, shapesText, SHARED_ROW, sumsOf } from '../../web/model/model.js';
import { nodeMatches } from '../../web/page/fleet_view.js';
import { Cards } from './cards';
import { HiddenNotes, NodeLink, Text } from './parts';
import { useOneCluster, WithWorld } from './world';

const KINDS = [
  'nodes',
  'pods',
  'resourceslices',
  'resourceclaims',
  'deviceclasses',
  'devicetaintrules',
];
const NOT_VISIBLE = 'not visible';
const NARROW = 'minmax(70px, 0.4fr)';

interface FleetRow {
  node: any;
  row: any;
  first: boolean; // of its node
}

function columnsOf(cluster: string, hidden: boolean) {
  // What nobody may see the holders of is in use, or not: nobody knows here.
  const unlessHidden = (text: (row: any) => string | number) => (one: FleetRow) =>
    one.row ? (hidden ? NOT_VISIBLE : text(one.row)) : '';
  const sorted = (value: (row: any) => number) => (a: FleetRow, b: FleetRow) =>
    hidden ? 0 : (b.row ? value(b.row) : -1) - (a.row ? value(a.row) : -1);
  return [
    {
      label: 'Node',
      gridTemplate: 'minmax(120px, 1fr)',
      getter: ({ node }: FleetRow) =>
        node.name === SHARED_ROW ? (
          'of several nodes'
        ) : node.known ? (
          <NodeLink name={node.name} cluster={cluster} />
        ) : (
          <Text text={node.name} />
        ),
      sort: (a: FleetRow, b: FleetRow) => naturalOrder(a.node.name, b.node.name),
    },
    {
      label: 'Driver',
      gridTemplate: 'minmax(150px, 1.2fr)',
      getter: ({ row }: FleetRow) => (row ? <Text text={row.driver} /> : 'no devices'),
    },
    {
      label: 'Cards',
      gridTemplate: 'minmax(220px, 2fr)',
      getter: ({ row }: FleetRow) => row && <Cards row={row} hidden={hidden} />,
    },
    {
      label: 'Total',
      gridTemplate: NARROW,
      getter: ({ row }: FleetRow) => row?.total,
      sort: (a: FleetRow, b: FleetRow) => (b.row?.total ?? -1) - (a.row?.total ?? -1),
    },
    {
      label: 'In use',
      gridTemplate: NARROW,
      getter: ({ row }: FleetRow) => row?.whole,
      sort: (a: FleetRow, b: FleetRow) => (b.row?.whole ?? -1) - (a.row?.whole ?? -1),
    },
    {
      label: 'In part',
      gridTemplate: NARROW,
      getter: ({ row }: FleetRow) => row?.cut,
      sort: (a: FleetRow, b: FleetRow) => (b.row?.cut ?? -1) - (a.row?.cut ?? -1),
    },
    {
      label: 'Free',
      gridTemplate: NARROW,
      getter: unlessHidden(row => row.free),
      sort: sorted(row => row.free),
    },
    {
      label: 'Cannot be had',
      gridTemplate: 'minmax(110px, 0.6fr)',
      getter: ({ row }: FleetRow) => row?.bad,
      sort: (a: FleetRow, b: FleetRow) => (b.row?.bad ?? -1) - (a.row?.bad ?? -1),
    },
    {
      label: 'Can be cut',
      gridTemplate: 'minmax(240px, 2.5fr)',
      getter: (one: FleetRow) => <Text text={unlessHidden(row => shapesText(row.shapes))(one)} />,
    },
    {
      label: 'Left to share',
      getter: (one: FleetRow) => <Text text={unlessHidden(row => row.sharedLeft)(one)} />,
    },
    {
      label: 'Trouble',
      getter: ({ row, node }: FleetRow) => (
        <Text
          text={[...(row?.troubles ?? []), node.cordoned ? 'cordoned' : '']
            .filter(Boolean)
            .join('; ')}
        />
      ),
    },
  ];
}

function Sums({ nodes, hidden }: { nodes: any[]; hidden: boolean }) {
  return (
    <ul aria-label="By driver">
      {sumsOf(nodes).map((sum: any) => (
        <li key={sum.driver}>
          <strong>
            <Text text={sum.driver} />
          </strong>
          :{' '}
          {hidden
            ? `${sum.total} cards: ${
                sum.whole + sum.cut
              } are seen in use; who holds the others is not visible`
            : `${sum.free} of ${sum.total} cards free, ${sum.whole} in use, ${sum.cut} in part${
                sum.bad ? `, ${sum.bad} cannot be had` : ''
              }`}
          {!hidden && sum.shapes.length > 0 && (
            <>
              {'; can be cut: '}
              <Text text={shapesText(sum.shapes) || 'nothing'} />
            </>
          )}
        </li>
      ))}
    </ul>
  );
}

export function FleetOfWorld(props: {
  world: any;
  version: number;
  cluster: string;
  others?: string[];
}) {
  const { world, version, cluster, others } = props;
  const [words, setWords] = useState('');
  const hidden = world.hides('resourceclaims');
  // The world changes in place: its version says that it did.
  // eslint-disable-next-line react-hooks/exhaustive-deps
  const nodes = useMemo(() => fleetNodes(world), [world, version]);
  const chosen = useMemo(() => {
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    return wanted.length ? nodes.filter((node: any) => nodeMatches(node, wanted, hidden)) : nodes;
  }, [nodes, words, hidden]);
  const rows = useMemo<FleetRow[]>(
    () =>
      chosen.flatMap((node: any) =>
        node.rows.length
          ? node.rows.map((row: any, at: number) => ({ node, row, first: at === 0 }))
          : [{ node, row: null, first: true }]
      ),
    [chosen]
  );
  const columns = useMemo(() => columnsOf(cluster, hidden), [cluster, hidden]);
  return (
    <SectionBox title="Fleet">
      <HiddenNotes hidden={world.header.hidden} others={others} />
      {world.hides('resourceslices') ? null : <Sums nodes={chosen} hidden={hidden} />}
      <TextField
        size="small"
        value={words}
        onChange={event => setWords(event.target.value.slice(0, 500))}
        label="Search"
        helperText="A node, a label (zone=a), a device, a claim, a pod; free, whole, cut, bad: cards of that state"
      />
      <SimpleTable
        data={rows}
        columns={columns}
        rowsPerPage={[25, 50, 100]}
        emptyMessage="No node has all of these words"
      />
    </SectionBox>
  );
}

export default function Fleet() {
  const { cluster, others } = useOneCluster();
  return (
    <WithWorld cluster={cluster} kinds={KINDS}>
      {(world, version) => <FleetOfWorld {...{ world, version, cluster, others }} />}
    </WithWorld>
  );
}
