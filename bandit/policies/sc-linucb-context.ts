import { checkContext } from '../chosen-context.ts';
import { float64Columns } from '../columns.ts';
import { type ToolCounts, UserHabits } from '../memory/user-habits.ts';
import {
  type Candidates,
  type ChosenContext,
  CONTEXT_NUMBERS,
  type Example,
  type LearnerSize,
  type LearnerState,
  type QueryFeatures,
  type Recall,
} from '../policy.ts';
import { formOf, SharedQuery } from '../shared-query.ts';
import { TaughtVectors } from '../taught/taught-vectors.ts';
import { MEMORY_FEATURES, type MemoryFeatures } from './memory-features.ts';
import type { PolicyContext, PolicyKind } from './policy-kind.ts';
import {
  KEPT_OF_ANOTHER_TOOL,
  MEMORY_PARAMETERS,
  SAME_TOOL_FROM,
  ScLinUcbMemory,
} from './sc-linucb-memory.ts';

const NAME = 'sc-linucb-context';
/**
 * Features beyond those of `sc-linucb-memory`: contextFit, what other choices like this one say for the tool, of all users; habit, what this
 * user's outcomes say for it; itemHabit, what they say for it when these items were chosen.
 */
const FEATURES = ['contextFit', 'habit', 'itemHabit'] as const;
const [HABIT, ITEM_HABIT] = [1, 2];
/** θ₀ of each of `FEATURES`; chosen on the validation part of bench/context-policy.ts. */
const PRIOR = [0, 0.4, 1];
const NO_TERMS = { terms: new Uint32Array(0), weights: new Float32Array(0) };

export const SC_LINUCB_CONTEXT: PolicyKind = {
  name: NAME,
  sentence:
    'The default policy, which also learns what each user calls when which items of their context matter.',
  parameters: [
    ...MEMORY_PARAMETERS,
    {
      name: 'contextRate',
      default: 0.1,
      minimum: 0,
      maximum: 0.5,
      sentence: 'How far one success moves the vector of choices that call a tool; 0: there are none.',
    },
    {
      name: 'users',
      default: 10_000,
      minimum: 1,
      maximum: 1_000_000,
      integer: true,
      sentence:
        'Users whose habits are kept; the one who was quiet longest makes room. Each takes up to 2 KB.',
    },
  ],
  learns: true,
  defaultExploration: 'plackett-luce',
  create: (context) => new ScLinUcbContext(context),
  load: (context, state) => new ScLinUcbContext(context, state),
};

/**
 * The policy `sc-linucb-memory` with three features more, which are 0 for a query without a chosen context: there it ranks and learns as
 * that one does. `contextFit` is a taught vector over what is known of the choice in place of the query; the habits are votes
 * P/(n + 1) of `UserHabits`. So what one user taught reaches other users through `contextFit` and the rest of the policy, and
 * never through habits.
 */
class ScLinUcbContext extends ScLinUcbMemory {
  readonly #fits: TaughtVectors;
  readonly #habits: UserHabits;

  constructor(context: PolicyContext, state?: LearnerState) {
    super(context, state, { name: NAME, features: FEATURES, prior: PRIOR });
    const { users, contextRate: rate, taughtFailures: failures } = context.parameters;
    const options = { dimensions: CONTEXT_NUMBERS, buckets: 0, rate, failures };
    if (state === undefined) {
      this.#fits = new TaughtVectors(context.kernels, options);
      this.#habits = new UserHabits(users);
    } else {
      this.#fits = TaughtVectors.load(context.kernels, options, renamed(state.arrays, 'fits.', 'taught.'));
      this.#habits = UserHabits.load(users, state.arrays);
    }
  }

  override learn(example: Example, reward: number, weight: number): void {
    const { context } = example.query;
    if (context !== undefined) checkContext(context);
    super.learn(example, reward, weight);
    if (context === undefined) return;
    const choice = formOf(example.query, this.#fits, () => choiceOf(context));
    this.#fits.learn(example.slot, choice, reward, weight, example.extras[example.extras.length - 1]);
    this.#habits.note(context, example.slot, reward, weight);
  }

  override correct(example: Example, from: number, to: number, weight: number): void {
    const { context } = example.query;
    if (context !== undefined) checkContext(context);
    super.correct(example, from, to, weight);
    if (context === undefined) return;
    const choice = formOf(example.query, this.#fits, () => choiceOf(context));
    this.#fits.correct(example.slot, choice, from, to, weight);
    this.#habits.correct(context, example.slot, from, to, weight);
  }

  override addTool(slot: number): void {
    super.addTool(slot);
    this.#scale(slot, 0);
  }

  override changeTool(slot: number, similarity: number): void {
    super.changeTool(slot, similarity);
    if (similarity < SAME_TOOL_FROM) this.#scale(slot, KEPT_OF_ANOTHER_TOOL);
  }

  override forgetTool(slot: number): void {
    super.forgetTool(slot);
    this.#scale(slot, 0);
  }

  override forgetUnit(unit: number): number {
    return super.forgetUnit(unit) + (this.#habits.forget(unit) ? 1 : 0);
  }

  override *saveInSteps(): Generator<void, LearnerState> {
    const state = yield* super.saveInSteps();
    const fits = yield* this.#fits.saveInSteps();
    const habits = yield* this.#habits.saveInSteps();
    return { ...state, arrays: { ...state.arrays, ...renamed(fits, 'taught.', 'fits.'), ...habits } };
  }

  override sizeInBytes(): LearnerSize {
    const size = super.sizeInBytes();
    return {
      ...size,
      perTool: size.perTool + this.#fits.bytes,
      memory: size.memory + this.#habits.bytes,
    };
  }

  override free(): void {
    super.free();
    this.#fits.free();
  }

  protected override featuresOf(
    query: QueryFeatures,
    candidates: Candidates,
    recall: Recall,
  ): MemoryFeatures {
    const known = super.featuresOf(query, candidates, recall);
    const { slots } = candidates;
    const { features } = known;
    const { context } = query;
    if (context === undefined) return known;
    const { own, withItems } = this.#habits.recall(context);
    const fits = this.#fits.score(choiceOf(context));
    const [base] = float64Columns(slots.length, 1);
    for (let i = 0; i < slots.length; i++) {
      const members = candidates.pools?.membersOf(slots[i]) ?? [];
      const pooled = members.length === 0 ? [slots[i]] : members;
      const row = i * this.extras.length + MEMORY_FEATURES.length;
      let fit = 0;
      for (const slot of pooled) {
        const at = this.#fits.rowOf(slot);
        if (at >= 0) fit += fits.values[at];
      }
      features[row] = Math.min(1, Math.max(-1, fit));
      const habit = vote(own, pooled);
      const itemHabit = vote(withItems, pooled);
      features[row + HABIT] = habit;
      features[row + ITEM_HABIT] = itemHabit;
      base[i] = known.base[i] + PRIOR[HABIT] * habit + PRIOR[ITEM_HABIT] * itemHabit;
    }
    return { ...known, base };
  }

  #scale(slot: number, factor: number): void {
    this.#fits.scale(slot, factor);
    this.#habits.scaleTool(slot, factor);
  }
}

/** Returns P/(n + 1) of these slots together. */
function vote(counts: ToolCounts, slots: readonly number[]): number {
  let [positives, trials] = [0, 0];
  for (const slot of slots) {
    const known = counts.get(slot);
    positives += known?.positives ?? 0;
    trials += known?.trials ?? 0;
  }
  return positives / (trials + 1);
}

/** Returns what is known of a choice in the form of a query, as a vector of length 1 at the most. */
function choiceOf({ features }: ChosenContext): QueryFeatures {
  const embedding = new Float32Array(CONTEXT_NUMBERS);
  embedding.set(features);
  const length = Math.hypot(...embedding);
  if (length > 1) for (let i = 0; i < embedding.length; i++) embedding[i] /= length;
  return new SharedQuery({ embedding, terms: NO_TERMS });
}

function renamed(arrays: LearnerState['arrays'], from: string, to: string): LearnerState['arrays'] {
  const own = Object.entries(arrays).filter(([name]) => name.startsWith(from));
  return Object.fromEntries(own.map(([name, array]) => [to + name.slice(from.length), array]));
}
