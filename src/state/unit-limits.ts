const HOUR_MS = 60 * 60 * 1000;
/** Above every slot. A unit is a number of 32 bits, so that unit and slot together are still an exact integer. */
const SLOTS = 2 ** 21;

/** Stands for the decision as a whole where the others are slots of tools. */
export const DECISION_SLOT = SLOTS - 1;

/**
 * The latest pairs of unit and tool that are remembered, at least; at most twice as many. A unit that reports on one tool so
 * often that the hourly limit matters appears again long before so many others, so forgetting older pairs does no harm.
 */
export const REMEMBERED_PAIRS = 65_536;

export interface UnitLimitsState {
  readonly hour: number;
  /** Weight by unit and slot as one number: the latest pairs, and those before them. */
  readonly recent: SpentWeights;
  readonly earlier: SpentWeights;
}

interface SpentWeights {
  readonly pairs: Float64Array;
  readonly weights: Float64Array;
}

/** Limits the learning weight of each unit on each tool in an hour. Unit 0 (none named) has no limit. */
export class UnitLimits {
  #hour = 0;
  #recent = new Map<number, number>();
  /** The pairs that were recent until that map was full; read when `#recent` does not have the pair. */
  #earlier = new Map<number, number>();

  /** Returns whether outcomes of the unit may still be learned for this tool; if so, the weight is used up. */
  spend(unit: number, slot: number, weight: number, at: number, limit: number): boolean {
    if (unit === 0) return true;
    const hour = Math.floor(at / HOUR_MS);
    if (hour > this.#hour) {
      this.#hour = hour;
      this.#recent.clear();
      this.#earlier.clear();
    }
    const pair = unit * SLOTS + slot;
    const spent = this.#recent.get(pair) ?? this.#earlier.get(pair) ?? 0;
    const isAllowed = spent + weight <= limit;
    this.#remember(pair, isAllowed ? spent + weight : spent);
    return isAllowed;
  }

  save(): UnitLimitsState {
    return { hour: this.#hour, recent: saved(this.#recent), earlier: saved(this.#earlier) };
  }

  restore({ hour, recent, earlier }: UnitLimitsState): void {
    this.#hour = hour;
    this.#recent = restored(recent);
    this.#earlier = restored(earlier);
  }

  #remember(pair: number, spent: number): void {
    this.#recent.set(pair, spent);
    if (this.#recent.size < REMEMBERED_PAIRS) return;
    this.#earlier = this.#recent;
    this.#recent = new Map();
  }
}

function saved(spent: ReadonlyMap<number, number>): SpentWeights {
  const pairs = new Float64Array(spent.size);
  const weights = new Float64Array(spent.size);
  // Not `Float64Array.from(spent.keys())`, which makes a list first: a snapshot holds the event loop meanwhile.
  let i = 0;
  for (const [pair, weight] of spent) {
    pairs[i] = pair;
    weights[i++] = weight;
  }
  return { pairs, weights };
}

function restored({ pairs, weights }: SpentWeights): Map<number, number> {
  const spent = new Map<number, number>();
  for (let i = 0; i < pairs.length; i++) spent.set(pairs[i], weights[i]);
  return spent;
}
