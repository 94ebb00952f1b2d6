// What was clicked: a node, a card with its devices and holders, a claim, a pod.

import { make, named, commandLine, shown } from './dom.js';
import { answerPlace } from './answers.js';
import { classOfHolder, STATE_WORDS, stateShown } from './cards.js';
import { siliconOf, claimsOfPod, devicesOfPod, nodeOfClaim, resultsOf, keyOf, groupOfPod, shapesText, SHARED_ROW } from '../model/model.js';

export function ageText(since, now) {
  const seconds = Math.max(0, Math.floor((now - Date.parse(since)) / 1000));
  if (!Number.isFinite(seconds)) return 'unknown';
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 3600 * 3) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 86400 * 2) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86400)}d`;
}

const facts = (pairs) => make('dl', {}, pairs.filter(([, value]) => value !== '' && value !== null && value !== undefined).map(([name, value]) => [make('dt', {}, name), make('dd', {}, value instanceof Node ? value : named(value))]));

// `page`: {world, ask(verb, words, ns), canAsk, now(), open(target), findCard(id), hidden}
export function detailsOf(target, page) {
  const show = { node: nodeDetails, card: cardDetails, claim: claimDetails, pod: podDetails }[target.kind];
  return show ? show(target, page) : [make('p', {}, 'Nothing of this name is known.')];
}

const link = (page, target, text) => make('button', { type: 'button', class: 'link', onclick: () => page.open(target) }, named(text));

function explained(page, words, ns) {
  return [make('h3', {}, 'What kubectl dra explain says'), answerPlace(page.ask('explain', words, ns), 'Asking\u2026')];
}

function eventsOf(page, kind, object) {
  if (!page.canAsk) return [];
  const place = make('div', { 'aria-live': 'polite' });
  const ask = async () => {
    place.replaceChildren(make('p', { class: 'note' }, 'Asking\u2026'));
    try {
      const { events, note } = await page.ask('history', [kind, object.metadata.name], object.metadata.namespace ?? '');
      const time = (one) => one.lastTimestamp ?? one.eventTime ?? one.firstTimestamp ?? '';
      const rows = events.sort((a, b) => (time(a) < time(b) ? 1 : -1)).map((one) => make('li', {}, make('time', {}, ageText(time(one), page.now())), ' ', make('b', {}, one.reason), one.count > 1 ? ` (${one.count} times)` : '', ': ', named(one.message)));
      place.replaceChildren(rows.length ? make('ul', { class: 'events' }, rows) : make('p', {}, note ?? 'no events are kept'));
    } catch (error) {
      place.replaceChildren(make('p', { class: 'problem' }, error.message));
    }
  };
  return [make('h3', {}, 'History'), make('button', { type: 'button', onclick: ask }, 'Show its events'), place];
}

function whatIf(page, title, words, ns) {
  if (!page.canAsk) return null;
  const place = make('div', {});
  return make('div', {}, make('button', { type: 'button', onclick: () => place.replaceChildren(answerPlace(page.ask('whatif', words, ns), 'Asking\u2026')) }, title), place);
}

function nodeDetails({ name }, page) {
  const node = page.findNode(name);
  if (!node) return [make('h2', {}, named(name)), make('p', {}, 'This node is gone.')];
  const shared = name === SHARED_ROW;
  const labels = Object.entries(node.labels).sort().slice(0, 100);
  return [
    make('h2', {}, shared ? 'Devices that several nodes can use' : named(name)),
    ...node.rows.map((row) => facts([['driver', row.driver],
      ['cards', page.hidden ? `${row.total}, ${row.whole} in use, ${row.cut} in part; which others are free is not visible` : `${row.total}: ${row.whole} in use, ${row.cut} in part, ${row.free} free, ${row.bad} that cannot be had`],
      ['can be cut', page.hidden ? '' : shapesText(row.shapes)], ['shared left', page.hidden ? '' : row.sharedLeft], ['trouble', row.troubles.join('; ')]])),
    shared ? null : make('h3', {}, 'Commands'), ...(shared ? [] : [commandLine('kubectl', 'dra', 'who', name), commandLine('kubectl', 'dra', 'top', 'nodes', name), commandLine('kubectl', 'dra', 'whatif', 'drain', name), commandLine('kubectl', 'describe', 'node', name)]),
    shared ? null : whatIf(page, 'What if this node is drained', ['drain', name], ''),
    labels.length ? make('details', {}, make('summary', {}, `${labels.length} labels`), facts(labels)) : null,
  ];
}

function holderRows(device, part, page) {
  return device.holders.map((holder) => {
    const claim = holder.claim, since = claim.status?.allocation?.allocationTimestamp ?? claim.metadata?.creationTimestamp;
    const pods = podsOfClaim(page.world, claim);
    return facts([['claim', link(page, { kind: 'claim', key: keyOf(claim) }, keyOf(claim))], ['since', ageText(since, page.now()) + (since ? ` (${since})` : '')],
      ['class', classOfHolder(holder, device.name, part.pool.driver, part.pool.name)], ['share', holder.share],
      ['pods', pods.length ? make('span', {}, pods.map((pod) => [pod.key ? link(page, { kind: 'pod', key: pod.key }, pod.name) : named(pod.name), ' '])) : 'none']]);
  });
}

function podsOfClaim(world, claim) {
  const ns = claim.metadata?.namespace ?? '';
  return world.consumersOf(claim).map((name) => ({ name, key: world.table('pods').has(`${ns}/${name}`) ? `${ns}/${name}` : '' }));
}

function cardDetails({ id }, page) {
  const found = page.findCard(id);
  if (!found) return [make('h2', {}, 'This device is gone.')];
  const { card, part, node } = found, state = stateShown(card, page.hidden), whole = card.whole ?? card.devices[0];
  const held = card.devices.filter((one) => one.held), others = card.devices.filter((one) => !one.held && one !== whole);
  const about = (device) => [device.held ? (device.shared ? 'shared' : 'held') : device.keepsAway ? `tainted ${device.keepsAway.key}:${device.keepsAway.effect}` : device.canBeHad ? (page.hidden ? 'no holder is visible' : 'free') : 'cannot be had now'];
  const attributes = Object.entries(whole.object.attributes ?? {}).map(([name, value]) => [name, Object.values(value ?? {}).flat().join(', ')]);
  const capacity = Object.entries(whole.object.capacity ?? {}).map(([name, value]) => [name, value?.value ?? '']);
  return [
    make('h2', {}, named(whole.name)), make('p', { class: `pill ${state}` }, STATE_WORDS[state]),
    facts([['node', node === SHARED_ROW ? 'several' : link(page, { kind: 'node', name: node }, node)], ['driver', part.pool.driver], ['pool', `${part.pool.name}${part.judged.state === 'complete' ? '' : ` is ${part.judged.state}: ${part.judged.reason}`}`],
      ['taint', whole.keepsAway ? `${whole.keepsAway.key}${whole.keepsAway.value ? '=' + whole.keepsAway.value : ''}:${whole.keepsAway.effect}` : ''], ...capacity]),
    held.length ? make('h3', {}, 'Holders') : null, ...held.flatMap((device) => [make('h4', {}, named(device.name)), ...holderRows(device, part, page)]),
    others.length ? make('details', {}, make('summary', {}, `${others.length} partitions that nobody holds`), make('ul', {}, others.slice(0, 200).map((one) => make('li', {}, named(one.name), `: ${about(one)}`)))) : null,
    make('h3', {}, 'Commands'), node === SHARED_ROW ? null : commandLine('kubectl', 'dra', 'who', `${node}/${whole.name}`), commandLine('kubectl', 'get', 'resourceslice', whole.slice.name, '-o', 'yaml'),
    attributes.length ? make('details', {}, make('summary', {}, `${attributes.length} attributes`), facts(attributes.sort())) : null,
  ];
}

function claimDetails({ key }, page) {
  const claim = page.world.table('resourceclaims').get(key);
  if (!claim) return [make('h2', {}, named(key)), make('p', {}, 'This claim is gone, or not visible.')];
  const { name, namespace } = claim.metadata, results = resultsOf(claim), since = claim.status?.allocation?.allocationTimestamp;
  const drivers = (claim.status?.devices ?? []).flatMap((one) => (one.conditions ?? []).map((condition) => `${one.device}: ${condition.type}=${condition.status} ${condition.message ?? ''}`));
  return [
    make('h2', {}, 'Claim ', named(key)),
    facts([['state', claim.metadata.deletionTimestamp ? 'deleting' : results.length ? 'allocated' : 'pending'], ['node', nodeOfClaim(claim)], ['since', since ? `${ageText(since, page.now())} (${since})` : ''], ['created', claim.metadata.creationTimestamp],
      ['pods', make('span', {}, podsOfClaim(page.world, claim).map((pod) => [pod.key ? link(page, { kind: 'pod', key: pod.key }, pod.name) : named(pod.name), ' ']))], ['driver says', drivers.join('; ')]]),
    results.length ? make('ul', {}, results.slice(0, 64).map((one) => make('li', {}, named(`${one.driver}/${one.pool}/${one.device}`), ` for ${shown(one.request)}`))) : null,
    make('h3', {}, 'Commands'), commandLine('kubectl', 'get', 'resourceclaim', name, '-n', namespace, '-o', 'yaml'), commandLine('kubectl', 'dra', 'explain', `claim/${name}`, '-n', namespace),
    ...explained(page, [`claim/${name}`], namespace), ...eventsOf(page, 'ResourceClaim', claim),
  ];
}

function podDetails({ key }, page) {
  const pod = page.world.table('pods').get(key);
  if (!pod) return [make('h2', {}, named(key)), make('p', {}, 'This pod is gone, or not visible.')];
  const { name, namespace } = pod.metadata, group = groupOfPod(pod), rows = devicesOfPod(page.world, pod);
  return [
    make('h2', {}, 'Pod ', named(key)),
    facts([['phase', pod.status?.phase], ['node', pod.spec?.nodeName], ['group', group], ['created', `${ageText(pod.metadata.creationTimestamp, page.now())} ago`],
      ['claims', make('span', {}, claimsOfPod(page.world, pod).map((claim) => [link(page, { kind: 'claim', key: keyOf(claim) }, claim.metadata.name), ' ']))],
      ['devices', rows.map((row) => row.device).slice(0, 64).join(', ')]]),
    make('h3', {}, 'Commands'), commandLine('kubectl', 'dra', 'explain', `pod/${name}`, '-n', namespace), commandLine('kubectl', 'describe', 'pod', name, '-n', namespace), commandLine('kubectl', 'dra', 'whatif', 'delete', `pod/${name}`, '-n', namespace),
    whatIf(page, 'What if this pod is deleted', ['delete', `pod/${name}`], namespace),
    ...explained(page, [`pod/${name}`], namespace), ...eventsOf(page, 'Pod', pod),
  ];
}
