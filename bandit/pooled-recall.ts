import type { Recall, SlotPools } from './policy.ts';

/** The largest taught score: taught vectors say by how much a reward in 0…1 will differ. */
const MOST_TAUGHT = 1;

/**
 * Returns the recall in which each representative has what all members of its pool have, and they have nothing: positives, trials
 * and taught scores are added, the last within −1…1, and of the nearest cases the nearest counts.
 */
export function pooledRecall(recall: Recall, pools: SlotPools): Recall {
  if (pools.size === 0) return recall;
  const rows = new Map<number, { positives: number; trials: number; nearest: number }>();
  for (const [row, slot] of recall.slots.entries()) {
    const at = pools.representativeOf(slot);
    const sum = rows.get(at) ?? { positives: 0, trials: 0, nearest: 0 };
    sum.positives += recall.positives[row];
    sum.trials += recall.trials[row];
    sum.nearest = Math.max(sum.nearest, recall.nearest[row]);
    rows.set(at, sum);
  }
  const sums = [...rows.values()];
  const taught = new Map<number, number>();
  for (const [row, slot] of recall.taught.slots.entries()) {
    if (slot < 0) continue;
    const at = pools.representativeOf(slot);
    taught.set(at, (taught.get(at) ?? 0) + recall.taught.values[row]);
  }
  const bounded = ([slot, sum]: readonly [number, number]): number =>
    pools.membersOf(slot).length === 0 ? sum : Math.min(MOST_TAUGHT, Math.max(-MOST_TAUGHT, sum));
  return {
    slots: Int32Array.from(rows.keys()),
    positives: Float64Array.from(sums, ({ positives }) => positives),
    trials: Float64Array.from(sums, ({ trials }) => trials),
    nearest: Float64Array.from(sums, ({ nearest }) => nearest),
    votes: Float64Array.from(sums, ({ positives, trials }) => positives / (trials + 1)),
    cases: recall.cases,
    taught: { slots: Int32Array.from(taught.keys()), values: Float64Array.from(taught, bounded) },
  };
}
