import { type ChosenContext, CONTEXT_NUMBERS } from './policy.ts';

/** The part of a choice that is kept with its decision. */
export type KeptContext = Pick<ChosenContext, 'items' | 'features'>;

/**
 * Returns the choice that belongs to a decision of this unit; undefined: nothing was chosen, or nothing can be learned from it, because its
 * numbers are not within their ranges.
 * @param at ms since the epoch
 */
export function chosenContext(
  unit: number,
  at: number,
  kept: KeptContext | undefined,
): ChosenContext | undefined {
  if (kept === undefined) return undefined;
  const context = { unit, at, items: kept.items, features: kept.features };
  return isUsable(context) ? context : undefined;
}

/** Checks the numbers of a choice. @throws RangeError when one is not within its range */
export function checkContext(context: ChosenContext): void {
  if (isUsable(context)) return;
  throw new RangeError(
    `A chosen context has a unit, a time, items with numbers of 0 or more and at most ${CONTEXT_NUMBERS} features of 0 to 1.`,
  );
}

function isUsable({ unit, at, items, features }: ChosenContext): boolean {
  return (
    Number.isInteger(unit) &&
    unit > 0 &&
    unit < 2 ** 32 &&
    Number.isFinite(at) &&
    items.every(({ number }) => Number.isSafeInteger(number) && number >= 0) &&
    features.length <= CONTEXT_NUMBERS &&
    Array.from(features).every((feature) => feature >= 0 && feature <= 1)
  );
}
