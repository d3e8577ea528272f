import { describe, expect, it } from 'vitest';
import { type ExplainedCandidate, sentenceFor } from '../../src/routing/explain-candidates.ts';

const CANDIDATE: Omit<ExplainedCandidate, 'sentence'> = {
  name: 'refund_payment',
  rank: 1,
  retrievalRank: 3,
  reason: 'retrieved',
  score: 0,
  mean: 0,
  base: 0,
  gain: 0,
  uncertainty: 0,
  bonus: 0,
  propensity: 1,
  trials: 0,
  features: {},
  taughtWords: [],
};
const TAUGHT = { taughtWords: ['parcel'], features: { taught: 0.2, vote: 0 } };

describe('the sentence about a candidate', () => {
  it.each<[string, Partial<ExplainedCandidate>, boolean, string]>([
    ['of which nothing is known', {}, false, 'The description alone would rank it 3rd.'],
    [
      'that moved for no reason that is said',
      {},
      true,
      'The description alone would rank it 3rd; what was learned moved it.',
    ],
    [
      'that moved and was pinned',
      { reason: 'pinned' },
      true,
      'The description alone would rank it 3rd; pinned.',
    ],
    ['that stayed among others that moved', { rank: 3 }, true, 'The description alone ranks it 3rd as well.'],
    [
      'that worked',
      { trials: 3, features: { vote: 0.75 } },
      true,
      'Worked 3 of 3 times for similar queries; the description alone would rank it 3rd.',
    ],
    [
      'that was taught words',
      TAUGHT,
      true,
      'It helped with other queries that say “parcel”; the description alone would rank it 3rd.',
    ],
    [
      'whose words are not kept',
      { features: { taught: 0.2 } },
      true,
      'It helped with queries like this; the description alone would rank it 3rd.',
    ],
    [
      'that failed here and helped elsewhere',
      { ...TAUGHT, trials: 1 },
      true,
      'Did not help with a similar query, but it helped with other queries that say “parcel”; the description alone would rank it 3rd.',
    ],
    [
      'that helped here and elsewhere',
      { ...TAUGHT, trials: 1, features: { taught: 0.2, vote: 0.5 } },
      true,
      'Worked for a similar query; it helped with other queries that say “parcel”; the description alone would rank it 3rd.',
    ],
  ])('%s', (_, more, isMoved, sentence) => {
    expect(sentenceFor({ ...CANDIDATE, ...more }, isMoved ? 'what was learned moved it' : null)).toBe(
      sentence,
    );
  });
});
