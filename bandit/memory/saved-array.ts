import type { LearnerState } from '../policy.ts';

type Arrays = LearnerState['arrays'];
type ArrayType<T> = { readonly name: string; new (length: number): T };

/**
 * The named array of a saved learner.
 * @throws Error when it is missing, of another type, or not of this length.
 */
export function savedArray<T extends Arrays[string]>(
  arrays: Arrays,
  name: string,
  type: ArrayType<T>,
  length?: number,
): T {
  const array = arrays[name];
  if (!(array instanceof type)) {
    throw new Error(
      `The saved learner has no ${type.name} “${name}”: it was written by another version or policy.`,
    );
  }
  if (length !== undefined && array.length !== length) {
    throw new Error(
      `The saved learner is damaged: “${name}” has ${array.length} values instead of ${length}.`,
    );
  }
  return array;
}
