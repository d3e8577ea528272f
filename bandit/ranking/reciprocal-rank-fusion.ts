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
