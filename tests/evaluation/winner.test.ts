import { expect, it } from 'vitest';
import { winnerOf } from '../../src/evaluation/run-evaluation.ts';
import type { PolicySettings } from '../../src/ledger/catalog-settings.ts';
import { DEFAULT_CATALOG_SETTINGS } from '../../src/ledger/catalog-settings.ts';

const ACTIVE = DEFAULT_CATALOG_SETTINGS.policy;
const COSINE: PolicySettings = { name: 'cosine', parameters: {}, exploration: 'greedy', temperature: 0.03 };

/** A candidate with its dr estimate, and by how much it is better than what ran, at least. */
function judged(name: string, value: number, atLeast: number, policy = COSINE) {
  const interval = { standardError: 0.1, lower: atLeast, upper: value };
  return {
    name,
    policy,
    estimates: [{ estimator: 'dr', value, ...interval } as const],
    difference: { value, ...interval },
  };
}

it('is the best of those that are surely better than what ran', () => {
  const candidates = [judged('a', 0.5, 0.1), judged('lucky', 0.9, -0.2), judged('b', 0.6, 0.05)];
  expect(winnerOf(candidates, ACTIVE)).toEqual({ winner: 'b', reason: null });
});

it('is none of those that may be worse than what ran', () => {
  const candidates = [judged('a', 0.5, -0.1), judged('b', 0.6, 0)];
  expect(winnerOf(candidates, ACTIVE)).toEqual({
    winner: null,
    reason: 'No candidate is surely better than what ran.',
  });
});

it('is not the policy of the catalog, however it is spelled, nor one that is worse than it', () => {
  const spelled = { ...ACTIVE, parameters: { projection: 32 } };
  expect(winnerOf([judged('now', 0.9, 0.2, spelled), judged('b', 0.6, 0.1)], ACTIVE)).toEqual({
    winner: null,
    reason: '"now" did best, and it is the policy of the catalog already.',
  });
});
