import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { providerName } from '../../src/ledger/provider-name.ts';

const golden: Record<string, string> = JSON.parse(
  readFileSync(new URL('../golden/provider-names.json', import.meta.url), 'utf8'),
);

it.each(Object.entries(golden))('of %j is %s, for ever', (name, expected) => {
  expect(providerName(name)).toBe(expected);
});

it('is one that every provider takes, and different for different names', () => {
  const names = fc.oneof(
    fc.string({ minLength: 1, maxLength: 256, unit: 'grapheme' }),
    fc.string({ minLength: 1, maxLength: 8, unit: fc.constantFrom('a', '.', '_', '-', 'x') }),
    fc.string({ minLength: 1, maxLength: 8 }).map(providerName),
  );
  fc.assert(
    fc.property(names, names, (one, other) => {
      expect(providerName(one)).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
      expect(providerName(one) === providerName(other)).toBe(one === other);
    }),
  );
});
