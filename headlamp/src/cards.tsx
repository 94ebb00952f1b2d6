// The cards of a node as boxes, partitions to scale: the figures, words and states of web/page/cards.js.

import { useTheme } from '@mui/material';
import { siliconOf } from '../../web/model/model.js';
import { heldParts, labelOf, stateShown } from '../../web/page/cards.js';

const MAX_CARDS = 64; // of one row

// Contrast with the page of at least 3, light and dark.
function coloursOf(dark: boolean): Record<string, string> {
  return dark
    ? {
        whole: '#5b93f5',
        cut: '#b388eb',
        free: '#173a22',
        line: '#5dbb78',
        bad: '#f2756b',
        unknown: '#9aa0a6',
        lost: '#555b61',
      }
    : {
        whole: '#2f6fde',
        cut: '#8250c4',
        free: '#e3f4e6',
        line: '#2e7d46',
        bad: '#c5352c',
        unknown: '#6f757b',
        lost: '#a8adb3',
      };
}

function CardBox({ card, part, hidden }: { card: any; part: any; hidden: boolean }) {
  const colours = coloursOf(useTheme().palette.mode === 'dark');
  const state = stateShown(card, hidden);
  const label = labelOf(card, part, hidden);
  const parts = heldParts(card) as { share: number }[];
  const taken = Math.min(
    1,
    parts.reduce((sum, one) => sum + one.share, 0)
  );
  const left =
    !hidden && card.devices.some((one: any) => one.canBeHad) ? colours.free : 'transparent';
  const edge =
    state === 'free'
      ? colours.line
      : state === 'cut' || state === 'whole'
      ? colours.unknown
      : colours[state];
  return (
    <span
      role="img"
      aria-label={label}
      title={label}
      data-state={state}
      style={{
        display: 'inline-flex',
        width: 26,
        height: 20,
        marginRight: 3,
        borderRadius: 3,
        overflow: 'hidden',
        border: `${state === 'bad' ? 2 : 1}px ${
          state === 'unknown' || state === 'bad' ? 'dashed' : 'solid'
        } ${edge}`,
        background: state === 'free' ? colours.free : state === 'cut' ? left : 'transparent',
      }}
    >
      {parts.map((one, at) => (
        <span
          key={at}
          style={{
            flex: `${Math.max(0.04, one.share)} 0 0`,
            background: colours[state === 'cut' ? 'cut' : 'whole'],
            marginRight: 1,
          }}
        />
      ))}
      {state === 'cut' && taken < 1 && <span style={{ flex: `${1 - taken} 0 0` }} />}
    </span>
  );
}

export function Cards({ row, hidden }: { row: any; hidden: boolean }) {
  const cards = row.parts.flatMap((part: any) =>
    siliconOf(part).cards.map((card: any) => ({ card, part }))
  );
  return (
    <span style={{ display: 'inline-flex', flexWrap: 'wrap', rowGap: 3, alignItems: 'center' }}>
      {cards.slice(0, MAX_CARDS).map((one: any, at: number) => (
        <CardBox key={at} {...one} hidden={hidden} />
      ))}
      {cards.length > MAX_CARDS && `and ${cards.length - MAX_CARDS} more`}
    </span>
  );
}
