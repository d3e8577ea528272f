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
 */
export function proposalsInTurns(
  found: Int32Array,
  scores: readonly ((slot: number) => number)[],
  request: ProposalRequest,
): Iterable<number> {
  const lists = scores.map((score) => proposals(found, score, request));
  const chosen = new Set<number>();
  for (let place = 0; place < request.limit; place++) {
    for (const list of lists) {
      if (chosen.size < request.limit && place < list.length) chosen.add(list[place]);
    }
  }
  return chosen;
}
