// Quantities of Kubernetes as exact numbers of nano units (BigInt), as pkg/inventory/amount.h has them.

const SUFFIXES = {
  n: [1n, 0], u: [1000n, 0], m: [1000000n, 0], '': [1000000000n, 0],
  k: [10n ** 12n, 0], M: [10n ** 15n, 0], G: [10n ** 18n, 0], T: [10n ** 21n, 0], P: [10n ** 24n, 0], E: [10n ** 27n, 0],
  Ki: [1n << 10n, 1], Mi: [1n << 20n, 1], Gi: [1n << 30n, 1], Ti: [1n << 40n, 1], Pi: [1n << 50n, 1], Ei: [1n << 60n, 1],
};
const NANOS = 1000000000n;
const MOST = ((1n << 63n) - 1n) * NANOS;
const MAX_EXPONENT = 64;  // beyond, the value is 0 or MOST
const SHAPE = /^([+-]?)(\d*)(?:\.(\d*))?(?:([eE])([+-]?\d{1,9})|([numkMGTPE]|[KMGTPE]i)?)$/;
const MAX_REMEMBERED = 10000;
const remembered = new Map();

// The amount that a text names; null if it is not a quantity.
export function amountOf(text) {
  if (typeof text !== 'string') return typeof text === 'number' ? amountOf(String(text)) : null;
  let amount = remembered.get(text);
  if (amount !== undefined) return amount;
  amount = readAmount(text);
  if (remembered.size >= MAX_REMEMBERED) remembered.clear();
  if (text.length < 64) remembered.set(text, amount);
  return amount;
}

function readAmount(text) {
  const found = text.length > 1024 ? null : SHAPE.exec(text);
  if (!found || (found[2] === '' && (found[3] ?? '') === '')) return null;
  const digits = found[2] + (found[3] ?? '');
  let scale = -(found[3] ?? '').length, times = NANOS;
  if (found[4]) {
    const exponent = Number(found[5]);
    scale += Math.max(-MAX_EXPONENT - digits.length, Math.min(MAX_EXPONENT, exponent));
  } else {
    times = SUFFIXES[found[6] ?? ''][1] ? SUFFIXES[found[6]][0] * NANOS : SUFFIXES[found[6] ?? ''][0];
  }
  let amount = BigInt(digits || '0') * times;
  if (scale >= 0) {
    amount *= 10n ** BigInt(scale);
  } else {
    const by = 10n ** BigInt(-scale);
    amount = (amount + by - 1n) / by;  // away from zero
  }
  if (amount > MOST) amount = MOST;
  return found[1] === '-' ? -amount : amount;
}

// "1.5", "80": for messages and names of shapes.
export function amountText(amount) {
  const negative = amount < 0n, all = negative ? -amount : amount;
  const rest = all % NANOS;
  const fraction = rest === 0n ? '' : '.' + String(rest).padStart(9, '0').replace(/0+$/, '');
  return (negative ? '-' : '') + String(all / NANOS) + fraction;
}

function withSuffix(whole, base, suffixes) {
  let at = 0;
  while (at + 1 < suffixes.length && whole % base === 0n) {
    whole /= base;
    ++at;
  }
  return String(whole) + suffixes[at];
}

// Large whole amounts with the suffix that makes them short: "80Gi", "60G" (pkg/inventory/amount.h).
export function shortAmountText(amount) {
  const whole = amount / NANOS;
  if (whole < 1000000n || whole * NANOS !== amount) return amountText(amount);
  const binary = withSuffix(whole, 1024n, ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']);
  const decimal = withSuffix(whole, 1000n, ['', 'k', 'M', 'G', 'T', 'P', 'E']);
  return decimal.length < binary.length ? decimal : binary;
}

// Whole amounts with a binary suffix where that is exact and short: "40Gi".
export function amountForPeople(amount) {
  let whole = amount / NANOS, at = 0;
  if (whole * NANOS !== amount) return amountText(amount);
  const suffixes = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi'];
  while (at + 1 < suffixes.length && whole !== 0n && whole % 1024n === 0n) {
    whole /= 1024n;
    ++at;
  }
  return String(whole) + suffixes[at];
}
