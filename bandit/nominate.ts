import type { Recall } from './policy.ts';

/** How many tools memory may add to what retrieval found, and taught vectors after it. */
const NOMINATIONS = 10;

/**
 * Returns the tools that outcomes nominate among those that are `eligible` (live, and not found by retrieval already): the ten
 * with the largest votes, ties by larger mx, then lower slot; after them, of the rest, the ten with the largest scores of their
 * taught vectors, ties by lower slot. Only votes and scores above 0 count.
 */
export function nominate(recall: Recall, eligible: (slot: number) => boolean): number[] {
  const { taught, votes, nearest, slots } = recall;
  const remembered = best(slots, votes, eligible, (a, b) => nearest[b] - nearest[a]);
  return [
    ...remembered,
    ...best(taught.slots, taught.values, (slot) => eligible(slot) && !remembered.includes(slot)),
  ];
}

/**
 * Returns the slots of the ten largest values. One pass with the ten best so far: there may be thousands of rows, and most of
 * them are below the tenth.
 * @param slots −1 for a row that no tool has.
 * @param between negative where row a is better than row b, of the same value.
 */
function best(
  slots: Int32Array,
  values: Float64Array,
  eligible: (slot: number) => boolean,
  between: (a: number, b: number) => number = () => 0,
): number[] {
  const rows: number[] = [];
  let bar = 0;
  for (let row = 0; row < values.length; row++) {
    const value = values[row];
    if (!(value >= bar && value > 0) || slots[row] < 0) continue;
    let at = rows.length;
    while (at > 0 && isBetter(row, rows[at - 1])) at--;
    if (at === NOMINATIONS || !eligible(slots[row])) continue;
    rows.splice(at, 0, row);
    if (rows.length > NOMINATIONS) rows.pop();
    if (rows.length === NOMINATIONS) bar = values[rows[NOMINATIONS - 1]];
  }
  return rows.map((row) => slots[row]);

  function isBetter(a: number, b: number): boolean {
    return (values[b] - values[a] || between(a, b) || slots[a] - slots[b]) < 0;
  }
}
