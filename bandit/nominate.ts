import type { Recall, TaughtScores } from './policy.ts';

/** How many tools memory may add to what retrieval found, and taught vectors after it. */
const NOMINATIONS = 10;

/**
 * Returns the tools that outcomes nominate among those that are `eligible` (live, and not found by retrieval already): the ten
 * with the largest votes, ties by larger mx, then lower slot; after them, of the rest, the ten with the largest scores of their
 * taught vectors, ties by lower slot. Only votes and scores above 0 count.
 */
export function nominate(recall: Recall, eligible: (slot: number) => boolean): number[] {
  const remembered = byVotes(recall, eligible);
  return [...remembered, ...byTaught(recall.taught, (slot) => eligible(slot) && !remembered.includes(slot))];
}

function byVotes(recall: Recall, eligible: (slot: number) => boolean): number[] {
  const rows: number[] = [];
  for (let row = 0; row < recall.slots.length; row++) {
    if (recall.votes[row] > 0 && eligible(recall.slots[row])) rows.push(row);
  }
  const { votes, nearest, slots } = recall;
  rows.sort((a, b) => votes[b] - votes[a] || nearest[b] - nearest[a] || slots[a] - slots[b]);
  return rows.slice(0, NOMINATIONS).map((row) => slots[row]);
}

/** One pass with the ten best so far: there may be thousands of rows, and most of them are below the tenth. */
function byTaught({ slots, values }: TaughtScores, eligible: (slot: number) => boolean): number[] {
  const best: number[] = [];
  let bar = 0;
  for (let row = 0; row < values.length; row++) {
    const value = values[row];
    if (!(value >= bar && value > 0) || slots[row] < 0) continue;
    let at = best.length;
    while (at > 0 && isBetter(row, best[at - 1])) at--;
    if (at === NOMINATIONS || !eligible(slots[row])) continue;
    best.splice(at, 0, row);
    if (best.length > NOMINATIONS) best.pop();
    if (best.length === NOMINATIONS) bar = values[best[NOMINATIONS - 1]];
  }
  return best.map((row) => slots[row]);

  function isBetter(a: number, b: number): boolean {
    return values[a] > values[b] || (values[a] === values[b] && slots[a] < slots[b]);
  }
}
