import { expect, it } from 'vitest';
import { labelledPairs } from '../../bench/merge-judge/labelled-pairs.ts';
import { RuleJudge } from '../../src/merging/rule-judge.ts';

const pairs = labelledPairs();

it.each(['for choosing', 'kept aside'] as const)(
  'the rules are right about the labelled pairs (%s)',
  async (part) => {
    const judged = pairs.filter((pair) => pair.part === part);
    const verdicts = await new RuleJudge().judgePairs(judged.map(({ tools }) => tools));
    const said = judged.filter((_, at) => verdicts[at].relation === 'same');
    const right = said.filter(({ relation }) => relation === 'same').length;
    expect(judged.length).toBeGreaterThan(150);
    expect(right / said.length).toBeGreaterThanOrEqual(0.97);
    expect(right / judged.filter(({ relation }) => relation === 'same').length).toBeGreaterThanOrEqual(0.6);
  },
);

it('the order of two tools says nothing', async () => {
  const forwards = await new RuleJudge().judgePairs(pairs.map(({ tools }) => tools));
  const backwards = await new RuleJudge().judgePairs(pairs.map(({ tools: [a, b] }) => [b, a]));
  expect(backwards).toEqual(forwards);
});
