// The world that lists keep is the world that one would read anew.

import { topRows, whoRows, World } from '../../web/model/model.js';
import { randomOf, randomWorld } from '../../web/test/worlds.mjs';
import { hiddenOf, updateTable } from './world';

const WORLDS = Number(process.env.DRA_HEADLAMP_WORLDS ?? 60);
const plain = (value: any) =>
  JSON.stringify(value, (key, one) =>
    key === 'parts' || key === 'shapes'
      ? undefined
      : typeof one === 'bigint'
      ? String(one)
      : one instanceof Map
      ? [...one].map(([name, amount]) => [name, String(amount)])
      : one
  );

function listsOf(lines: string[]): Record<string, any[]> {
  return Object.fromEntries(
    lines
      .slice(1)
      .map(line => [line.split('\t')[0], JSON.parse(line.slice(line.indexOf('\t') + 1)).items])
  );
}

it(`follows lists of ${WORLDS} random worlds, each after the other`, () => {
  const world = new World();
  for (let seed = 1; seed <= WORLDS; ++seed) {
    const { lines, nodes } = randomWorld(seed) as any;
    const lists = listsOf(lines);
    const random = randomOf(seed + 1000000) as any;
    let revision = seed * 1000;
    for (const list of Object.values(lists))
      for (const one of list) one.metadata.resourceVersion = String(++revision);
    // Kinds come one by one, in any order, some twice.
    const plurals = Object.keys(lists).sort(() => random.below(3) - 1);
    for (const plural of [...plurals, ...plurals.filter(() => random.chance(0.3))])
      updateTable(
        world,
        plural,
        lists[plural].map(jsonData => ({ jsonData }))
      );
    const anew = new World();
    for (const line of [JSON.stringify({ hidden: [] }), ...lines.slice(1)]) anew.line(line);
    expect([seed, plain(topRows(world))]).toEqual([seed, plain(topRows(anew))]);
    for (const node of nodes)
      expect([seed, plain(whoRows(world, node))]).toEqual([seed, plain(whoRows(anew, node))]);
    const again = world.version;
    for (const plural of plurals) expect(updateTable(world, plural, lists[plural])).toBe(false);
    expect(world.version).toBe(again);
  }
});

it('changes no object of others', () => {
  const world = new World();
  const object = {
    metadata: { name: 'n', resourceVersion: '1', managedFields: [{ manager: 'x' }] },
  };
  updateTable(world, 'nodes', [{ jsonData: object }]);
  expect(object.metadata.managedFields.length).toBe(1);
});

it('takes no list with an error for a whole one', () => {
  expect(hiddenOf('resourceclaims', null, [])).toBeNull();
  expect(hiddenOf('resourceclaims', [], [])).toBeNull();
  expect(hiddenOf('resourceclaims', [{ status: 403, message: 'x' }], [])).toEqual({
    what: 'resourceclaims',
    why: 'you may not list resourceclaims',
  });
  expect(hiddenOf('pods', [{ status: 500, message: 'etcd is slow' }], [])).toEqual({
    what: 'pods',
    why: 'etcd is slow',
  });
  expect(hiddenOf('pods', null, ['a'])?.what).toBe('pods');
});
