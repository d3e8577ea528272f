/** k of the paper, which it found good for many collections. */
const PATIENCE = 60;

/** One ranking of items by their numbers, the best first. */
export interface RankedList {
  readonly items: ArrayLike<number>;
  /** How much this list counts, above 0. */
  readonly weight: number;
}

/**
 * Joins rankings of the same items, or of parts of them, by the sum of weight/(k + rank), rank from 1 (Cormack, Clarke & Büttcher
 * 2009, with weights; there k = 60). Scores of different lists need not be comparable. An item that a list does not have gets
 * nothing from it; one that a list has twice counts at its better place.
 * @returns the items that any list has, the best first; of equal sums the item with the smaller number
 */
export function reciprocalRankFusion(
  lists: readonly RankedList[],
  k: number = PATIENCE,
): { readonly item: number; readonly score: number }[] {
  const sums = new Map<number, number>();
  for (const { items, weight } of lists) {
    const seen = new Set<number>();
    for (let at = 0; at < items.length; at++) {
      const item = items[at];
      if (seen.has(item)) continue;
      seen.add(item);
      sums.set(item, (sums.get(item) ?? 0) + weight / (k + at + 1));
    }
  }
  return Array.from(sums, ([item, score]) => ({ item, score })).sort(
    (a, b) => b.score - a.score || a.item - b.item,
  );
}

/** Rows with values above 0, in order, and the place of each among them, the largest value at 0; of equals the first row comes first. */
export interface BestRows {
  readonly rows: Uint32Array;
  readonly places: Uint32Array;
}

/** Returns the rows of the largest values above 0, at most so many; O(n + m log m) for m of n. */
export function bestRows(values: Float64Array, most: number): BestRows {
  const sorted = largest(values, most);
  const m = sorted.length;
  const least = m < most ? 0 : sorted[0];
  const rows = new Uint32Array(m);
  const places = new Uint32Array(m);
  /** By the place of the first of equals: how many of them had their place. */
  const equals = new Uint32Array(m);
  let count = 0;
  for (let row = 0; row < values.length && count < m; row++) {
    const value = values[row];
    if (!(value > 0 && value >= least)) continue;
    const first = m - upperBound(sorted, value);
    const place = first + equals[first]++;
    if (place >= m) continue;
    rows[count] = row;
    places[count++] = place;
  }
  return { rows, places };
}

/** The largest values above 0, at most so many, the smallest of them first. */
function largest(values: Float64Array, most: number): Float64Array {
  const found = new Float64Array(values.length);
  let count = 0;
  for (let row = 0; row < values.length; row++) if (values[row] > 0) found[count++] = values[row];
  if (count <= most) return found.subarray(0, count).sort();
  // Quickselect (Hoare 1961): afterwards no number before `from` is larger than any from there on.
  const from = count - most;
  let [begin, end] = [0, count - 1];
  while (begin < end) {
    const middle = found[(begin + end) >>> 1];
    let [left, right] = [begin, end];
    while (left <= right) {
      while (found[left] < middle) left++;
      while (found[right] > middle) right--;
      if (left > right) break;
      const value = found[left];
      found[left++] = found[right];
      found[right--] = value;
    }
    if (from <= right) end = right;
    else if (from >= left) begin = left;
    else break;
  }
  return found.subarray(from, count).sort();
}

/** How many are not larger. */
function upperBound(sorted: Float64Array, value: number): number {
  let [begin, end] = [0, sorted.length];
  while (begin < end) {
    const middle = (begin + end) >>> 1;
    if (sorted[middle] <= value) begin = middle + 1;
    else end = middle;
  }
  return begin;
}
