import type { LearnerState } from '../../bandit/policy.ts';
import type { LearnerVersion, SavedVersion } from './learner-version.ts';
import { part, type SnapshotPart, SnapshotUnreadableError } from './snapshot-parts.ts';

/** An array of a learner is written in blocks of so many elements: a quarter of a megabyte at the most. */
const BLOCK = 32_768;

type Saved = LearnerState['arrays'][string];

/** The first part of a learner: everything but its arrays, which follow in this order. */
type Head = Omit<SavedVersion, 'state'> &
  Pick<LearnerState, 'numbers'> & {
    readonly learner: string;
    readonly arrays: readonly (readonly [name: string, length: number])[];
  };

/** Yields the parts of one version of the policy, and null for pauses. */
export function* learnerParts({ policy, ...version }: LearnerVersion): Generator<SnapshotPart | null> {
  const steps = policy.saveInSteps();
  let step = steps.next();
  for (; !step.done; step = steps.next()) yield null;
  const { policy: learner, numbers, arrays } = step.value;
  const all = Object.entries(arrays);
  const lengths = all.map(([name, { length }]) => [name, length] as const);
  const head: Head = { ...version, learner, numbers, arrays: lengths };
  yield part('learner', head);
  for (const [name, array] of all) {
    // An empty one has a block, too, so that its kind is known.
    for (let from = 0; from === 0 || from < array.length; from += BLOCK) {
      yield part('numbers', name, [array.subarray(from, from + BLOCK)]);
    }
  }
}

/** Builds the versions of the policy from their parts, in the order in which they were written. */
export class LearnerParts {
  readonly #heads: Head[] = [];
  readonly #arrays: Record<string, { readonly array: Saved; filled: number }>[] = [];

  /** Adds a part; returns false if it is no part of a learner. */
  take({ part, json, arrays }: SnapshotPart): boolean {
    if (part === 'learner') {
      this.#heads.push(json as Head);
      this.#arrays.push({});
    } else if (part === 'numbers') this.#add(json as string, arrays[0] as Saved);
    else return false;
    return true;
  }

  /** @throws SnapshotUnreadableError when a block is missing */
  complete(): SavedVersion[] {
    return this.#heads.map(({ learner, numbers, arrays: lengths, ...version }, index) => {
      const arrays: Record<string, Saved> = {};
      for (const [name, length] of lengths) {
        const known = this.#arrays[index][name];
        if (known?.filled !== length) throw missing(name, version.version);
        arrays[name] = known.array;
      }
      return { ...version, state: { policy: learner, numbers, arrays } };
    });
  }

  #add(name: string, block: Saved): void {
    const head = this.#heads.at(-1);
    const length = head?.arrays.find(([known]) => known === name)?.[1];
    if (head === undefined || length === undefined) throw missing(name, head?.version ?? 'none');
    const arrays = this.#arrays[this.#arrays.length - 1];
    const kind = block.constructor as new (length: number) => Saved;
    arrays[name] ??= { array: new kind(length), filled: 0 };
    arrays[name].array.set(block, arrays[name].filled);
    arrays[name].filled += block.length;
  }
}

function missing(name: string, version: string): SnapshotUnreadableError {
  return new SnapshotUnreadableError(
    `In this snapshot the numbers "${name}" of ${version} are not complete.`,
  );
}
