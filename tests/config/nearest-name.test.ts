import fc from 'fast-check';
import { expect, it } from 'vitest';
import { editDistance, nearestName } from '../../config/nearest-name.ts';

/** The textbook recursion, exponential and obviously right. */
function naive(a: string, b: string): number {
  if (a === '' || b === '') return a.length + b.length;
  const replaced = naive(a.slice(1), b.slice(1)) + (a[0] === b[0] ? 0 : 1);
  return Math.min(replaced, naive(a.slice(1), b) + 1, naive(a, b.slice(1)) + 1);
}

it('counts edits as the textbook does', () => {
  const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 5 });
  fc.assert(fc.property(word, word, (a, b) => editDistance(a, b) === naive(a, b)));
});

it('finds the nearest name, and none among none', () => {
  expect(nearestName('PROT', ['host', 'port'])).toBe('port');
  expect(nearestName('x', [])).toBeUndefined();
});
