// The model of the fleet page: API objects in, nodes, devices, holders and figures out. No DOM, no library.
//
//   const world = new World();
//   for (const line of lines) world.line(line);   // of a snapshot, or of /api/stream
//   topRows(world); whoRows(world, 'node-a'); waitingPods(world);
//
// Its figures are those of `kubectl dra top`, `who` and `explain -o json` (web/test/model_test.mjs compares them).

export { World, keyOf, resultsOf, nodeOfClaim, podDone } from './world.js';
export { amountOf, amountText, amountForPeople } from './quantity.js';
export { siliconOf, shareOfCard, shapesText } from './silicon.js';
export { topRows, fleetNodes, sumsOf, waitingPods, groupOfPod, claimsOfPod, devicesOfPod, naturalOrder, SHARED_ROW } from './fleet.js';
export { whoRows } from './who.js';
