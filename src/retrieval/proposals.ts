import { BestSlots } from './best-slots.ts';

export interface ProposalRequest {
  /** How many slots are wanted. */
  readonly limit: number;
  /** Slots that must not be proposed. */
  readonly exclude?: ReadonlySet<number>;
}

/** The slots with the largest scores, best first. @param scores one for each slot of `found`. */
export function proposals(
  found: Int32Array,
  scores: Float64Array,
  { limit, exclude = NOTHING }: ProposalRequest,
): Int32Array {
  const best = new BestSlots(limit);
  let { bar } = best;
  for (let i = 0; i < found.length; i++) {
    if (scores[i] < bar || exclude.has(found[i])) continue;
    best.offer(found[i], scores[i]);
    bar = best.bar;
  }
  return best.list();
}

const NOTHING: ReadonlySet<number> = new Set();

/**
 * The best slots of several scores in turns: the best of each, then the second of each, and so on, so that none
 * of them is crowded out by the others.
 * @param scores lists with one for each slot of `found`.
 */
export function proposalsInTurns(
  found: Int32Array,
  scores: readonly Float64Array[],
  request: ProposalRequest,
): Iterable<number> {
  const { limit } = request;
  const lists = scores.map((list) => proposals(found, list, request));
  const chosen = new Set<number>();
  for (let place = 0; place < limit; place++) {
    for (const list of lists) {
      if (chosen.size < limit && place < list.length) chosen.add(list[place]);
    }
  }
  return chosen;
}
