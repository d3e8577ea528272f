import { drawSlate } from '../../bandit/exploration/draw-slate.ts';
import { inclusionPropensities } from '../../bandit/exploration/propensities.ts';
import { OffPolicyTally } from '../../bandit/off-policy/off-policy-tally.ts';
import { randomFor } from '../../bandit/random.ts';
import { loadKernels } from '../../src/stores/load-kernels.ts';
import { Draws } from '../experiments/draws.ts';

const KERNELS = await loadKernels();

export const CANDIDATES = 60;
export const SLATE = 5;

/** One query with its candidates, column by column. */
interface Situation {
  /** What retrieval and what memory say. */
  readonly retrieval: Float64Array;
  readonly memory: Float64Array;
  /** What the logging policy ranks by, and the propensities that follow. */
  readonly score: Float64Array;
  readonly propensities: Float64Array;
  /** What a (wrong) model expects, and how often the tool really succeeds. */
  readonly expected: Float64Array;
  readonly truth: Float64Array;
}

/** A policy to be evaluated: π of every candidate, in every situation, and what it is really worth. */
export interface CandidatePolicy {
  readonly kind: 'greedy' | 'plackett-luce';
  readonly target: readonly Float64Array[];
  readonly value: number;
}

/**
 * A finite population of situations, so that true values are sums and not estimates. One to three tools are right
 * for a query (and succeed in 93 % of their calls, the others in 2 %); retrieval and memory both see it dimly.
 */
export class LoggedWorld {
  readonly temperature: number | null;
  readonly #situations: readonly Situation[];

  /** @param temperature of Plackett–Luce exploration while logging; null: none, the best five are shown. */
  constructor(situations: number, temperature: number | null) {
    this.temperature = temperature;
    const draws = new Draws('logged world');
    this.#situations = Array.from({ length: situations }, () => situation(draws, temperature));
  }

  /** A policy near the logging one: other weights, some opinions of its own, with or without exploration. */
  candidatePolicy(number: number): CandidatePolicy {
    const draws = new Draws(`candidate policy ${number}`);
    const kind = number % 2 === 0 ? 'greedy' : 'plackett-luce';
    const weight = 0.2 + 0.6 * draws.uniform();
    const opinion = 0.06 * draws.uniform() ** 2;
    const temperature = 0.01 + 0.03 * draws.uniform();
    const target = this.#situations.map(({ retrieval, memory }) => {
      const score = retrieval.map((g, a) => weight * g + (1 - weight) * memory[a] + opinion * draws.normal());
      return kind === 'greedy'
        ? chosen(best(score))
        : inclusionPropensities(score, SLATE, temperature, KERNELS);
    });
    return { kind, target, value: this.#value(target) };
  }

  /** Reward per decision of the logging policy itself. */
  loggingValue(): number {
    return this.#value(this.#situations.map(({ propensities }) => propensities));
  }

  /** Runs the logging policy and tallies what it says about the candidate. */
  evaluate(policy: CandidatePolicy, decisions: number, log: string): OffPolicyTally {
    const tally = new OffPolicyTally();
    const draws = new Draws(`log ${log}`);
    for (let i = 0; i < decisions; i++) {
      const index = Math.floor(draws.uniform() * this.#situations.length);
      const { score, propensities, expected, truth } = this.#situations[index];
      const slate = this.#slate(score, `${log} ${i}`);
      const rewards = Float64Array.from(slate, (a) => draws.coin(truth[a]));
      tally.add({ propensities, target: policy.target[index], expected, slate, rewards }, null);
    }
    return tally;
  }

  #slate(score: Float64Array, decisionId: string): Int32Array {
    if (this.temperature === null) return best(score);
    const random = randomFor(decisionId);
    return drawSlate({ score, k: SLATE, temperature: this.temperature, mode: 'plackett-luce', random });
  }

  #value(target: readonly Float64Array[]): number {
    const total = this.#situations.reduce(
      (sum, { truth }, i) => sum + target[i].reduce((part, pi, a) => part + pi * truth[a], 0),
      0,
    );
    return total / this.#situations.length;
  }
}

function situation(draws: Draws, temperature: number | null): Situation {
  const right = 1 + Math.floor(3 * draws.uniform());
  const column = (value: (isRight: boolean) => number) =>
    Float64Array.from({ length: CANDIDATES }, (_, a) => Math.min(1, Math.max(0, value(a < right))));
  const retrieval = column((isRight) =>
    isRight ? 0.65 + 0.2 * draws.normal() : 0.3 + 0.15 * draws.normal(),
  );
  const memory = column((isRight) => (isRight ? 0.5 + 0.3 * draws.normal() : 0.1 + 0.12 * draws.normal()));
  const score = retrieval.map((g, a) => 0.5 * g + 0.5 * memory[a]);
  const propensities =
    temperature === null ? chosen(best(score)) : inclusionPropensities(score, SLATE, temperature, KERNELS);
  const expected = score.map((u) => Math.min(1, Math.max(0, 1.4 * u - 0.35)));
  return {
    retrieval,
    memory,
    score,
    propensities,
    expected,
    truth: column((isRight) => (isRight ? 0.93 : 0.02)),
  };
}

function best(score: Float64Array): Int32Array {
  return drawSlate({ score, k: SLATE, temperature: 1, mode: 'greedy', random: randomFor('unused') });
}

/** Probability 1 for these, 0 for all others. */
function chosen(slate: Int32Array): Float64Array {
  const target = new Float64Array(CANDIDATES);
  for (const a of slate) target[a] = 1;
  return target;
}
