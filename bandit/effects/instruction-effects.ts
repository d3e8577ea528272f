import { enlarged } from '../columns.ts';
import { savedArray } from '../learner-codec.ts';
import type { LearnerState } from '../policy.ts';

/** β, what a retrieval score of 1 is worth, before anything was learned. */
const FIRST_SLOPE = 0.1;
/** Bounds of β: instructions that nothing is known about keep the order of retrieval. */
const LEAST_SLOPE = 0.03;
const MOST_SLOPE = 1;
/**
 * n_a and n_b: how much evidence the priors are worth, in units of Σ(s − p)²: the variance of an outcome, at most .25, over that of what is
 * expected. A part that is the same for every query is 0 up to .016 (.25 / .016² = 1000), so that little of what is learned where S is high counts
 * where it is low; b is β up to .05 (.25 / .05² = 100). With n_b 25 the noise of fifty candidates is more than what tells them apart, and with 200
 * two instructions are not always told apart within 3,000 decisions.
 */
const OFFSET_EVIDENCE = 1000;
const RELEVANCE_EVIDENCE = 100;
/** n_β: the same evidence for β, .1 up to .03: with less, chance brings it down to its bound, and noise decides. */
const SLOPE_EVIDENCE = 250;
/** Most evidence that is kept: what is beyond it takes the place of older evidence, so that an effect can change with the model or the tools. */
const MOST_EVIDENCE = 1000;
const FIRST_SLOTS = 16;

/** Sums of one instruction, u being s − p and y what is left to explain: Σ u², Σ u²S, Σ u²S², Σ y·u and Σ y·u·S, one after the other. */
const SUMS = 5;
const UU = 0;
const UUS = 1;
const UUSS = 2;
const YU = 3;
const YUS = 4;

/** The instructions that a decision could have shown, and which of them it did: columns of one length. */
export interface DrawnInstructions {
  readonly slots: ArrayLike<number>;
  /** Probability of each to be shown, 0…1. Where it is 0 or 1 nothing can be learned. */
  readonly propensity: ArrayLike<number>;
  /** S: the retrieval score, 0…1. */
  readonly score: ArrayLike<number>;
  /** Whether each was shown: 1, or 0 if it was not. */
  readonly shown: ArrayLike<number>;
}

/** The effect of an instruction, as outcomes show it. */
export interface LearnedEffect {
  /** δ at the mean retrieval score of the queries that it was learned from, in reward: −1…1 as a rule. */
  readonly effect: number;
  /** Σ (s − p)², at most 1 a decision: with 100 what was learned counts about as much as what a retrieval score promises. */
  readonly evidence: number;
}

/**
 * Learns what each instruction adds to the outcome of a decision by being there. An instruction is never called, so outcomes credited to whatever
 * was shown would teach how good decisions are, not what the instruction does. What tells them apart is chance: an instruction was shown
 * with a known probability p, so u = s − p is independent of everything that else led to the outcome r, and the regression of r − r̂ on u
 * (Robinson 1988) is unbiased for any r̂ that does not depend on the draw.
 *
 * An instruction helps with some queries and not with others, so its effect depends on its retrieval score, δ(S) = a + b·S. A number that
 * counts for every query would drive out what is relevant: it is learned where the instruction is shown, which is where it helps. (a, b) are
 * the Bayesian ridge regression of y = r − r̂ − others on u·(1, S), around (0, β):
 *
 *   ⎡ n_a + Σ u²        Σ u²S  ⎤ ⎡ a ⎤   ⎡       Σ y·u      ⎤
 *   ⎣      Σ u²S   n_b + Σ u²S² ⎦ ⎣ b ⎦ = ⎣ n_b·β + Σ y·u·S  ⎦
 *
 * `others` is what the other instructions of the decision explain so far, Σ δ·u: only one of those that compete for a place is shown,
 * so without it each would also be credited with the absence of the others. β·S, the effect that is expected of an instruction with
 * retrieval score S, counts until there is evidence; β is the same regression over all instructions at once.
 *
 * Instructions are rows by their slot. Deterministic: the same calls in the same order give the same bits. The sums are linear in r, so an
 * outcome can be corrected later; what one unit contributed cannot be taken out of them.
 */
export class InstructionEffects {
  /** `SUMS` of each slot. */
  private sums = new Float64Array(FIRST_SLOTS * SUMS);
  /** Slots in use are below this. */
  private slots = 0;
  private slopeCovariance = 0;
  private slopeEvidence = 0;

  /** Returns β: the effect that is expected of an instruction with retrieval score 1 of which nothing is known. */
  get slope(): number {
    const { slopeCovariance, slopeEvidence } = this;
    const slope = (SLOPE_EVIDENCE * FIRST_SLOPE + slopeCovariance) / (SLOPE_EVIDENCE + slopeEvidence);
    return Math.min(MOST_SLOPE, Math.max(LEAST_SLOPE, slope));
  }

  /**
   * Returns the effect of each instruction, in reward: −1…1 as a rule.
   * @param scores S of each, 0…1
   */
  gains(slots: ArrayLike<number>, scores: ArrayLike<number>): Float64Array {
    const { slope } = this;
    const gains = new Float64Array(slots.length);
    for (let i = 0; i < gains.length; i++) gains[i] = this.#gain(slots[i], scores[i], slope);
    return gains;
  }

  /** Returns what was learned of an instruction; null: chance had no part yet in whether it was there. */
  learned(slot: number): LearnedEffect | null {
    const evidence = this.evidence(slot);
    if (evidence === 0) return null;
    const score = this.sums[slot * SUMS + UUS] / evidence;
    return { effect: this.#gain(slot, score, this.slope), evidence };
  }

  /** Returns how much is known about an instruction: Σ (s − p)², of which a decision adds at most 1. */
  evidence(slot: number): number {
    return slot < this.slots ? this.sums[slot * SUMS + UU] : 0;
  }

  /**
   * Learns from a decision.
   * @param reward r: what it came to, 0…1
   * @param baseline r̂: what was expected before the draw, 0…1
   * @throws RangeError when a number is none, or out of its range; nothing is learned then
   */
  learn(drawn: DrawnInstructions, reward: number, baseline: number): void {
    if (!(reward >= 0 && reward <= 1)) throw new RangeError(`A reward is learned as 0 to 1, not ${reward}.`);
    if (!(baseline >= 0 && baseline <= 1)) {
      throw new RangeError(`What was expected is 0 to 1, not ${baseline}.`);
    }
    check(drawn);
    const { slots, score } = drawn;
    const surprises = surprisesOf(drawn);
    const gains = this.gains(slots, score);
    let explained = 0;
    let slopeInput = 0;
    for (let i = 0; i < surprises.length; i++) {
      explained += gains[i] * surprises[i];
      slopeInput += score[i] * surprises[i];
    }
    const residual = reward - baseline;
    for (let i = 0; i < surprises.length; i++) {
      const surprise = surprises[i];
      if (surprise === 0) continue;
      this.#reserve(slots[i]);
      const others = explained - gains[i] * surprise;
      const at = slots[i] * SUMS;
      const evidence = surprise * surprise;
      this.sums[at + UU] += evidence;
      this.sums[at + UUS] += evidence * score[i];
      this.sums[at + UUSS] += evidence * score[i] ** 2;
      this.#explain(slots[i], score[i], (residual - others) * surprise);
      this.#keepWithin(slots[i]);
    }
    this.slopeCovariance += residual * slopeInput;
    this.slopeEvidence += slopeInput * slopeInput;
    if (this.slopeEvidence <= MOST_EVIDENCE) return;
    this.slopeCovariance *= MOST_EVIDENCE / this.slopeEvidence;
    this.slopeEvidence = MOST_EVIDENCE;
  }

  /** Corrects the reward of a decision that was learned, by `delta`. @throws RangeError as `learn` */
  correct(drawn: DrawnInstructions, delta: number): void {
    if (!Number.isFinite(delta))
      throw new RangeError(`A reward changes by a finite amount, not by ${delta}.`);
    check(drawn);
    let slopeInput = 0;
    for (const [i, surprise] of surprisesOf(drawn).entries()) {
      if (surprise === 0) continue;
      this.#reserve(drawn.slots[i]);
      this.#explain(drawn.slots[i], drawn.score[i], delta * surprise);
      slopeInput += drawn.score[i] * surprise;
    }
    this.slopeCovariance += delta * slopeInput;
  }

  /** Keeps this share of what is known about an instruction, 0…1: after its text changed, or 0 when its slot is another one's. */
  scale(slot: number, factor: number): void {
    if (slot >= this.slots) return;
    for (let at = slot * SUMS; at < (slot + 1) * SUMS; at++) this.sums[at] *= factor;
  }

  /** Forgets how much a retrieval score is worth, since scores are other ones from now on. */
  resetSlope(): void {
    this.slopeCovariance = 0;
    this.slopeEvidence = 0;
  }

  save(): LearnerState['arrays'] {
    return {
      sums: this.sums.slice(0, this.slots * SUMS),
      slope: Float64Array.of(this.slopeCovariance, this.slopeEvidence),
    };
  }

  /** Rebuilds it from what `save` returned. @throws Error when an array is missing or of another length */
  static load(arrays: LearnerState['arrays']): InstructionEffects {
    const effects = new InstructionEffects();
    const sums = savedArray(arrays, 'sums', Float64Array);
    if (sums.length % SUMS !== 0) {
      throw new Error(`Sums of instructions are ${SUMS} for each, not ${sums.length} in all.`);
    }
    [effects.slopeCovariance, effects.slopeEvidence] = savedArray(arrays, 'slope', Float64Array, 2);
    if (sums.length > 0) effects.#reserve(sums.length / SUMS - 1);
    effects.sums.set(sums);
    return effects;
  }

  /** Returns δ(S) = a + b·S. */
  #gain(slot: number, score: number, slope: number): number {
    if (slot >= this.slots) return slope * score;
    const { sums } = this;
    const at = slot * SUMS;
    if (sums[at + UU] === 0) return slope * score;
    const aa = OFFSET_EVIDENCE + sums[at + UU];
    const ab = sums[at + UUS];
    const bb = RELEVANCE_EVIDENCE + sums[at + UUSS];
    const ya = sums[at + YU];
    const yb = RELEVANCE_EVIDENCE * slope + sums[at + YUS];
    // By Cauchy and Schwarz ab² ≤ Σ u²·Σ u²S², so that the determinant is at least the product of the priors.
    return (bb * ya - ab * yb + (aa * yb - ab * ya) * score) / (aa * bb - ab * ab);
  }

  #explain(slot: number, score: number, covariance: number): void {
    this.sums[slot * SUMS + YU] += covariance;
    this.sums[slot * SUMS + YUS] += covariance * score;
  }

  #keepWithin(slot: number): void {
    const evidence = this.evidence(slot);
    if (evidence > MOST_EVIDENCE) this.scale(slot, MOST_EVIDENCE / evidence);
  }

  #reserve(slot: number): void {
    this.slots = Math.max(this.slots, slot + 1);
    if (this.slots * SUMS <= this.sums.length) return;
    this.sums = enlarged(this.sums, new Float64Array(2 * this.slots * SUMS));
  }
}

/**
 * The gain that counts for as much as a score of 1 where exploration draws by softmax(score/T). T is meant for scores of 0 to 1, and gains are
 * about β·S: drawn by themselves, fifty instructions would be nearly alike. Chosen on the tasks of bench/itr for choosing and on pairs of
 * which one helps: with .1 the worse one of a pair is seldom drawn, and with .3 and more fewer of those are served that matter.
 */
const GAIN_OF_ONE = 0.2;

/** Returns what exploration draws instructions by: their gains in units of a score, which are those of the temperature. */
export function explorationScores(gains: Float64Array): Float64Array {
  return gains.map((gain) => gain / GAIN_OF_ONE);
}

/** Returns s − p of each; 0 where chance had no part in it. */
function surprisesOf({ propensity, shown }: DrawnInstructions): Float64Array {
  const surprises = new Float64Array(propensity.length);
  for (let i = 0; i < surprises.length; i++) {
    if (propensity[i] > 0 && propensity[i] < 1) surprises[i] = shown[i] - propensity[i];
  }
  return surprises;
}

function check({ slots, propensity, score, shown }: DrawnInstructions): void {
  const { length } = slots;
  if (propensity.length !== length || score.length !== length || shown.length !== length) {
    throw new RangeError('Instructions are learned from columns of one length.');
  }
  for (let i = 0; i < length; i++) {
    if (!(propensity[i] >= 0 && propensity[i] <= 1)) {
      throw new RangeError(`A propensity is 0 to 1, not ${propensity[i]}.`);
    }
    if (!Number.isFinite(score[i])) throw new RangeError(`A retrieval score is finite, not ${score[i]}.`);
    if (shown[i] !== 0 && shown[i] !== 1) {
      throw new RangeError(`An instruction was shown (1) or not (0), not ${shown[i]}.`);
    }
  }
}
