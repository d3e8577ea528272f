import type { Example, LearnerSize, LearnerState, Ranking, RankingRequest } from '../policy.ts';
import { checkExample } from './checks.ts';
import type { PolicyContext, PolicyKind } from './policy-kind.ts';
import { WithoutMemory } from './without-memory.ts';

type Score = (request: RankingRequest, parameters: PolicyContext['parameters']) => Float64Array;

/** The registry's entry for a policy that ranks by one score of each candidate and never learns. */
export function fixedRanking(
  kind: Pick<PolicyKind, 'name' | 'sentence' | 'defaultExploration'> &
    Partial<Pick<PolicyKind, 'parameters'>>,
  score: Score,
): PolicyKind {
  const create = ({ parameters }: PolicyContext) =>
    new FixedRanking(kind.name, (request) => score(request, parameters));
  return { parameters: [], ...kind, learns: false, create, load: create };
}

class FixedRanking extends WithoutMemory {
  readonly name: string;
  private readonly score: (request: RankingRequest) => Float64Array;

  constructor(name: string, score: (request: RankingRequest) => Float64Array) {
    super();
    this.name = name;
    this.score = score;
  }

  rank(request: RankingRequest): Ranking {
    const score = this.score(request);
    const nothing = new Float64Array(score.length);
    return {
      score,
      mean: score,
      base: score,
      gain: nothing,
      uncertainty: nothing,
      bonus: nothing,
      trials: nothing,
      features: new Float32Array(0),
    };
  }

  learn(example: Example, reward: number, weight: number): void {
    checkExample(example, 0, reward, weight);
  }

  correct(example: Example, from: number, to: number, weight: number): void {
    checkExample(example, 0, from, weight);
    checkExample(example, 0, to, weight);
  }

  save(): LearnerState {
    return { policy: this.name, numbers: {}, arrays: {} };
  }

  sizeInBytes(): LearnerSize {
    return { matrices: 0, perTool: 0, memory: 0, cases: 0, updates: 0 };
  }

  free(): void {}
}

export const COSINE = fixedRanking(
  {
    name: 'cosine',
    sentence: 'Ranks by the cosine between query and description alone; learns nothing.',
    defaultExploration: 'greedy',
  },
  ({ candidates }) => candidates.similarity.slice(),
);

export const HYBRID = fixedRanking(
  {
    name: 'hybrid',
    sentence: 'Keeps the retrieval order, BM25 and cosine together; learns nothing.',
    defaultExploration: 'greedy',
  },
  ({ candidates }) => candidates.base.slice(),
);

/** All scores are equal, so that Plackett–Luce draws every slate with the same probability. */
export const UNIFORM = fixedRanking(
  {
    name: 'uniform',
    sentence: 'Draws among the candidates with equal probability; learns nothing.',
    defaultExploration: 'plackett-luce',
  },
  ({ candidates }) => new Float64Array(candidates.slots.length),
);
