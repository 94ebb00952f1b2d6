// What is chosen on the page - search, filters, what is open - in the address, so that it can be bookmarked and sent.
// The key is never in it.

const DEFAULTS = { view: 'fleet', q: '', group: '', colour: 'state', show: '', open: '' };

export function readAddress() {
  const parameters = new URLSearchParams(location.hash.slice(1));
  return Object.fromEntries(Object.entries(DEFAULTS).map(([name, usual]) => [name, parameters.get(name) ?? usual]));
}

export function writeAddress(chosen) {
  const parameters = new URLSearchParams();
  for (const [name, usual] of Object.entries(DEFAULTS)) if (chosen[name] && chosen[name] !== usual) parameters.set(name, chosen[name]);
  const text = parameters.toString();
  if (location.hash.slice(1) === text) return;
  // A browser lets a file change its fragment alone.
  if (location.protocol === 'file:') location.replace('#' + text);
  else history.replaceState(null, '', location.pathname + location.search + (text ? '#' + text : ''));
}
