import { expect, it } from 'vitest';
import { evaluationText } from '../../src/cli/evaluate.ts';
import type { Evaluation } from '../../src/evaluation/evaluation.ts';
import { experimentDraftSchema } from '../../src/http/wire/experiment.ts';

const EVALUATION: Evaluation = {
  id: '0b8f2c1e-5d1f-4c58-9a33-0d8e6c3a7f10',
  catalog: 'support',
  status: 'done',
  createdAt: '2026-11-22T10:00:00.000Z',
  endedAt: '2026-11-22T10:00:01.000Z',
  progress: 1,
  candidates: [],
  learnShare: 1,
  decisions: 100,
  skipped: { unexplored: 0, fallback: 0, otherEmbedder: 0, toolGone: 0, decisionGone: 0, forLearning: 0 },
  results: [],
  winner: 'soft',
  reason: null,
};

it('ends with a command that creates an experiment with the winner', () => {
  const text = evaluationText(EVALUATION);
  const [, draft] =
    /^Best: soft\. Try it live:\n {2}echo '(.*)' \| bandolier experiment create - --catalog support$/m.exec(
      text,
    )!;
  expect(experimentDraftSchema.parse(JSON.parse(draft))).toMatchObject({
    applyFromEvaluation: EVALUATION.id,
    variants: [{ share: 90 }, { share: 10 }],
  });
});

it('says so where nothing is better than what ran, and names no best', () => {
  const reason = 'No candidate is surely better than what ran.';
  const text = evaluationText({ ...EVALUATION, winner: null, reason });
  expect(text).toContain(reason);
  expect(text).not.toMatch(/Best|Try it live/);
});
