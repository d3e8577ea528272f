import fc from 'fast-check';
import { expect, it } from 'vitest';
import { decisionIdFor } from '../../src/decisions/decision-id.ts';
import { isRewardId, rewardIdFor } from '../../src/rewards/reward-report.ts';

it('tells ids that were given out from others', () => {
  const decision = fc.string({ minLength: 1 }).map((key) => decisionIdFor('shop', 1e12, key));
  fc.assert(
    fc.property(decision, fc.option(fc.string(), { nil: undefined }), (decisionId, key) => {
      const id = rewardIdFor(decisionId, key);
      expect(isRewardId(id)).toBe(true);
      expect(id).toMatch(/\.[0-9a-f]{16}$/);
      if (key !== undefined) expect(rewardIdFor(decisionId, key)).toBe(id);
      expect(isRewardId(id.replace('shop', 'shoe'))).toBe(false);
      expect(isRewardId(`${id}0`)).toBe(false);
      expect(isRewardId(id.slice(0, -1))).toBe(false);
      expect(isRewardId(`${decisionId}.0123456789abcdef`)).toBe(false);
    }),
    { seed: 3 },
  );
  expect(isRewardId('')).toBe(false);
  expect(isRewardId('nobody')).toBe(false);
});
