// A card as a box: to scale, what is held, what is left, and by whom.

import { make, shown } from './dom.js';
import { shareOfCard } from '../model/model.js';

export const STATE_WORDS = { whole: 'in use as a whole', cut: 'in use in parts', free: 'free', bad: 'cannot be had', unknown: 'no holder is visible' };
const HUES = 12;
const hueNumbers = new Map();

// The number of a colour, the same for the same name while the page is open.
export function hueOf(name) {
  if (!hueNumbers.has(name)) hueNumbers.set(name, hueNumbers.size % HUES);
  return hueNumbers.get(name);
}

export function classOfHolder(holder, device, driver, pool) {
  const result = (holder.claim.status?.allocation?.devices?.results ?? []).find((one) => one.device === device && one.driver === driver && one.pool === pool);
  const name = (result?.request ?? '').split('/')[0];
  const request = (holder.claim.spec?.devices?.requests ?? []).find((one) => one.name === name);
  return request?.exactly?.deviceClassName ?? request?.firstAvailable?.[0]?.deviceClassName ?? request?.deviceClassName ?? '';
}

// What may be seen: with claims hidden, nothing is said to be free.
export function stateShown(card, hidden) {
  return hidden && (card.state === 'free' || card.state === 'cut') ? (card.state === 'free' ? 'unknown' : 'cut') : card.state;
}

function colourOf(holder, device, colour, part) {
  if (colour === 'team') return hueOf('team ' + (holder.claim.metadata?.namespace ?? ''));
  if (colour === 'class') return hueOf('class ' + classOfHolder(holder, device.name, part.pool.driver, part.pool.name));
  return null;
}

export function heldParts(card) {
  return card.devices.filter((one) => one.held).map((device) => ({ device, share: shareOfCard(device, card) }));
}

export function labelOf(card, part, hidden) {
  const name = card.whole?.name ?? card.devices[0].name, state = stateShown(card, hidden);
  const holders = card.devices.flatMap((device) => device.holders.map((holder) => `${holder.claim.metadata?.namespace}/${holder.claim.metadata?.name}`));
  const taint = card.devices.find((one) => one.keepsAway)?.keepsAway;
  return [name, STATE_WORDS[state], part.judged.state !== 'complete' ? `pool ${part.judged.state}` : '', taint ? `tainted ${taint.key}:${taint.effect}` : '',
    holders.length ? `held by ${holders.slice(0, 3).join(', ')}${holders.length > 3 ? ` and ${holders.length - 3} more` : ''}` : ''].filter(Boolean).join('; ');
}

// The box of a card: a button for the grid (rows.js), which moves the focus.
export function cardBox(card, part, { colour, hidden, id, chosen, onOpen }) {
  const state = stateShown(card, hidden), label = labelOf(card, part, hidden);
  const box = make('button', { type: 'button', class: `card ${state}`, tabindex: -1, 'data-card': id, 'aria-label': label, title: label, 'aria-pressed': chosen ? 'true' : 'false', onclick: onOpen });
  const parts = heldParts(card);
  let taken = 0;
  for (const { device, share } of parts) {
    const width = Math.max(0.04, Math.min(share, 1 - taken) || 0.04), hue = colourOf(device.holders[0], device, colour, part);
    taken = Math.min(1, taken + share);
    box.append(make('span', { class: hue === null ? 'held' : `held hue${hue}`, style: { 'flex-grow': String(width) } }));
  }
  if (state === 'cut' && taken < 1) {
    const can = !hidden && card.devices.some((one) => one.canBeHad);
    box.append(make('span', { class: can ? 'left' : 'lost', style: { 'flex-grow': String(1 - taken) } }));
  }
  return box;
}

// What the colours mean.
export function legend(colour, world) {
  const item = (kind, text) => make('li', {}, make('span', { class: `swatch ${kind}`, 'aria-hidden': 'true' }), make('bdi', {}, text));
  if (colour === 'state')
    return make('ul', { class: 'legend' }, item('whole', 'in use'), item('cut', 'in use in parts'), item('free', 'free'), item('lost', 'left over, of no use'), item('bad', 'cannot be had'), item('unknown', 'no holder visible'));
  const names = new Set();
  for (const claim of world.list('resourceclaims')) {
    if (!claim.status?.allocation) continue;
    if (colour === 'team') names.add(claim.metadata?.namespace ?? '');
    else for (const request of claim.spec?.devices?.requests ?? []) names.add(request.exactly?.deviceClassName ?? request.firstAvailable?.[0]?.deviceClassName ?? request.deviceClassName ?? '');
    if (names.size > 40) break;
  }
  const all = [...names].sort();
  return make('ul', { class: 'legend' }, all.slice(0, 12).map((name) => item(`hue${hueOf(colour + ' ' + name)}`, shown(name) || '(none)')),
    all.length > 12 ? make('li', {}, `and ${all.length - 12} more: colours repeat`) : null, item('free', 'free'), item('bad', 'cannot be had'));
}
