import { BestSlots } from './best-slots.ts';

export interface ProposalRequest {
  /** How many slots are wanted. */
  readonly limit: number;
  /** Slots that must not be proposed. */
  readonly exclude?: ReadonlySet<number>;
}

/** The slots with the largest scores, best first. */
export function proposals(
  found: Iterable<number>,
  score: (slot: number) => number,
  { limit, exclude }: ProposalRequest,
): Int32Array {
  const best = new BestSlots(limit);
  for (const slot of found) if (exclude?.has(slot) !== true) best.offer(slot, score(slot));
  return best.list();
}

/**
 * The best slots of several scores in turns: the best of each, then the second of each, and so on, so that none
 * of them is crowded out by the others.
 * @param count how many scores there are. @param scoresOf writes all of them for one slot to `out`.
 */
export function proposalsInTurns(
  found: Iterable<number>,
  count: number,
  scoresOf: (slot: number, out: Float64Array) => void,
  { limit, exclude }: ProposalRequest,
): Iterable<number> {
  const best = Array.from({ length: count }, () => new BestSlots(limit));
  const scores = new Float64Array(count);
  for (const slot of found) {
    if (exclude?.has(slot) === true) continue;
    scoresOf(slot, scores);
    for (let i = 0; i < count; i++) best[i].offer(slot, scores[i]);
  }
  const lists = best.map((slots) => slots.list());
  const chosen = new Set<number>();
  for (let place = 0; place < limit; place++) {
    for (const list of lists) {
      if (chosen.size < limit && place < list.length) chosen.add(list[place]);
    }
  }
  return chosen;
}
