import type {
  CaseCount,
  Example,
  LearnerSize,
  LearnerState,
  Policy,
  QueryFeatures,
  Ranking,
  RankingRequest,
  Recall,
  TermShare,
} from '../policy.ts';
import type { Ridge } from '../ridge/ridge.ts';

export const EMPTY_RECALL: Recall = {
  slots: new Int32Array(0),
  positives: new Float64Array(0),
  trials: new Float64Array(0),
  nearest: new Float64Array(0),
  votes: new Float64Array(0),
  cases: [],
  taught: { slots: new Int32Array(0), values: new Float64Array(0) },
};

/** The methods of policies that remember neither cases nor calls, which do nothing. */
export abstract class WithoutMemory implements Policy {
  abstract readonly name: string;
  readonly extras: readonly string[] = [];

  abstract rank(request: RankingRequest): Ranking;
  abstract learn(example: Example, reward: number, weight: number): void;
  abstract correct(example: Example, from: number, to: number, weight: number): void;
  abstract save(): LearnerState;
  abstract sizeInBytes(): LearnerSize;
  abstract free(): void;

  // biome-ignore lint/correctness/useYield: what these policies know is saved in a few milliseconds
  *saveInSteps(): Generator<void, LearnerState> {
    return this.save();
  }

  recall(): Recall {
    return EMPTY_RECALL;
  }

  ridges(): readonly Ridge[] {
    return [];
  }

  caseCounts(): readonly CaseCount[] {
    return [];
  }

  taughtTerms(): readonly TermShare[] {
    return [];
  }

  features(): Float32Array {
    return new Float32Array(0);
  }

  remember(): number {
    return -1;
  }

  forgetUnit(): number {
    return 0;
  }

  amend(_caseId: number, _slot: number, _positives: number, _negatives: number, _unit: number): void {}
  countCall(_slot: number, _reward: number, _weight: number): void {}
  recountCall(_slot: number, _delta: number): void {}
  addTool(_slot: number): void {}
  changeTool(_slot: number, _similarity: number): void {}
  forgetTool(_slot: number): void {}
  freeze(): void {}
  prepare(_queries: readonly QueryFeatures[]): void {}
}
