import type { Recall } from '../policy.ts';

/** How many tools memory may add to what retrieval found. */
export const NOMINATIONS = 10;

/**
 * The tools that memory puts forward: those with the largest votes among the ones that are `eligible` (live, and
 * not found by retrieval already) and have a vote at all. Ties: larger mx first, then lower slot.
 */
export function nominate(recall: Recall, eligible: (slot: number) => boolean, limit = NOMINATIONS): number[] {
  const rows: number[] = [];
  for (let row = 0; row < recall.slots.length; row++) {
    if (recall.votes[row] > 0 && eligible(recall.slots[row])) rows.push(row);
  }
  const { votes, nearest, slots } = recall;
  rows.sort((a, b) => votes[b] - votes[a] || nearest[b] - nearest[a] || slots[a] - slots[b]);
  return rows.slice(0, limit).map((row) => slots[row]);
}
