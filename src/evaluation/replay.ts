import { reportOffPolicy } from '../../bandit/off-policy/off-policy-estimate.ts';
import { OffPolicyTally } from '../../bandit/off-policy/off-policy-tally.ts';
import { policyKind } from '../../bandit/policies/registry.ts';
import type { Policy } from '../../bandit/policy.ts';
import { type Decision, withoutDiscoveries } from '../decisions/decision.ts';
import type { ObservationEntry, ObservedDecision, Position } from '../ledger/entry.ts';
import type { PositionedEntry } from '../ledger/ledger.ts';
import { CatalogState } from '../state/catalog-state.ts';
import {
  addReport,
  type Credit,
  creditTotals,
  EMPTY_CREDIT,
  type ToolCredit,
} from '../state/experiments/decision-credit.ts';
import { fold } from '../state/fold.ts';
import { whyNotApplied } from '../state/fold-observation.ts';
import type { LearnerContext } from '../state/learner-version.ts';
import { RECORD_GRACE_MS } from '../state/observed/observed-decisions.ts';
import { type EvaluatedSlate, evaluatedSlate, SlateCandidates } from './evaluated-slate.ts';
import type { Candidate, EvaluationResult, SkippedDecisions } from './evaluation.ts';
import { BASELINES, candidateTarget, type Target } from './target.ts';

interface Evaluated {
  readonly name: string;
  readonly policy: Candidate['policy'] | null;
  /** Null for baselines. */
  readonly learner: Policy | null;
  readonly target: Target;
  readonly tally: OffPolicyTally;
}

/** A decision that is still open for more rewards. */
interface OpenDecision {
  readonly slate: EvaluatedSlate;
  /** Probabilities of the candidates at the time of the first report; null if the candidates do not change any more. */
  readonly targets: readonly Float64Array[] | null;
  readonly deadline: number;
  /** Rewards that came, so that a repeated one counts once. */
  readonly rewardIds: Set<string>;
  credit: Credit;
}

const MAX_OPEN = 10_000;
/** Below this many ids of closed decisions none is looked for that can be forgotten. */
const FEW_CLOSED = 10_000;
/** Decisions that are evaluated together once the policies do not learn any more, so that a matrix is read once for all. */
const BATCH = 32;
/** Rewards are clipped to this range, so that a slate of ten good tools does not count tenfold. */
const REWARDS = { lower: 0, upper: 1 };

export interface ReplaySettings {
  /** Probability that an interval misses the true value. */
  readonly alpha: number;
  /** Candidates learn from entries up to this position and are judged by later decisions; absent: they learn and are judged all the time. */
  readonly learnUntil?: Position;
}

/**
 * Judges policies that never ran by decisions that were made. Each candidate starts without having learned anything and
 * learns from the rewards in the ledger, exactly as it would in the fold; it ranks each decision before it learns the rewards
 * of that decision. Tools are as they are now.
 *
 * A decision is in one of these states:
 * - *unseen*: no entry of it was added. Its first one opens it, or closes it at once if it cannot be judged.
 * - *open*: rewards that the fold would apply are credited to it, each once.
 * - *closed*: it was judged once, by its credit, and later entries change nothing. An open decision closes with an entry that
 *   closes it, when its window and the grace period of the fold are over, or when ten thousand newer ones are open. Its id is
 *   kept until that period is over; after that nothing of its time is opened.
 */
export class Replay {
  readonly skipped: SkippedDecisions = {
    unexplored: 0,
    fallback: 0,
    otherEmbedder: 0,
    toolGone: 0,
    decisionGone: 0,
    forLearning: 0,
  };
  decisions = 0;
  readonly #state: CatalogState;
  readonly #learnUntil: Position;
  /** Whether a candidate still learns. */
  #learning: boolean;
  /** Time of the last entry that is only learned from; ms since the epoch. */
  #learnedAt = Number.NEGATIVE_INFINITY;
  readonly #evaluated: Evaluated[] = [];
  readonly #open = new Map<string, OpenDecision>();
  /** Deadlines of closed decisions by id; ms since the epoch. */
  readonly #closed = new Map<string, number>();
  /** The latest deadline of a closed decision whose id was forgotten. */
  #forgottenThrough = Number.NEGATIVE_INFINITY;
  #forgetAbove = FEW_CLOSED;
  /** The largest `at` of an entry; ms since the epoch. */
  #clock = 0;
  readonly #candidates = new SlateCandidates();
  /** Closed decisions that are to be tallied together. */
  #untallied: OpenDecision[] = [];
  readonly #alpha: number;

  /** @param live state of the catalog, from which tools and settings are copied */
  constructor(
    live: CatalogState,
    candidates: readonly Candidate[],
    context: LearnerContext,
    { alpha, learnUntil = Number.POSITIVE_INFINITY }: ReplaySettings,
  ) {
    this.#alpha = alpha;
    this.#learnUntil = learnUntil;
    this.#learning = candidates.some(({ policy }) => policyKind(policy.name).learns);
    const state = toolsOf(live, context);
    this.#state = state;
    const versions: string[] = [];
    for (const { name, policy } of candidates) {
      const learner = state.learners.own(policy, 'all', null, state.tools.vectors, state.slots());
      versions.push(learner.version);
      const target = candidateTarget(learner, policy, context.kernels);
      this.#evaluated.push({ name, policy, learner: learner.policy, target, tally: new OffPolicyTally() });
    }
    state.learners.keepOnly(versions);
    for (const [name, target] of Object.entries(BASELINES)) {
      this.#evaluated.push({ name, policy: null, learner: null, target, tally: new OffPolicyTally() });
    }
  }

  /** Returns the id of the decision that `add` needs for an entry; null: none. */
  wants({ position, entry }: PositionedEntry): string | null {
    if (entry.kind !== 'observation' || this.#isForLearning(position, entry)) return null;
    return this.#open.has(entry.decision.id) || this.#isClosed(entry.decision) ? null : entry.decision.id;
  }

  /** Replays one entry. @param decision of the entry as it was logged; null if it has expired, or `wants` returned null. */
  add(positioned: PositionedEntry, decision: Decision | null): void {
    const { position, entry } = positioned;
    if (this.#learning && position > this.#learnUntil) this.#freeze();
    if (this.#hasEnd && position <= this.#learnUntil) this.#learnedAt = Math.max(this.#learnedAt, entry.at);
    if (entry.kind !== 'observation' && entry.kind !== 'settlement') return;
    this.#clock = Math.max(this.#clock, entry.at);
    this.#expire();
    if (entry.kind === 'observation') {
      if (!this.#isForLearning(position, entry)) this.#observe(entry, decision);
      else if (!this.#isClosed(entry.decision)) this.#skip(entry.decision, 'forLearning');
    }
    // Assignments would count in experiments of this state, of which there are none.
    if (this.#learning) fold(this.#state, positioned);
  }

  /** Closes the decisions that are open, and returns the estimates. */
  results(): EvaluationResult[] {
    for (const id of [...this.#open.keys()]) this.#close(id);
    this.#tallyClosed();
    const comparisons = this.#evaluated.filter(({ policy }) => policy !== null).length;
    return this.#evaluated.map(({ name, policy, tally }) => ({
      name,
      kind: policy === null ? 'baseline' : 'candidate',
      policy,
      ...reportOffPolicy(tally, { alpha: this.#alpha, rewards: REWARDS, comparisons }),
    }));
  }

  free(): void {
    this.#state.free();
  }

  get #hasEnd(): boolean {
    return this.#learnUntil !== Number.POSITIVE_INFINITY;
  }

  #freeze(): void {
    this.#learning = false;
    for (const { policy } of this.#state.learners.all()) policy.freeze();
  }

  /** Returns whether a decision is only learned from: an earlier one may have been learned from in part. */
  #isForLearning(position: Position, { decision }: ObservationEntry): boolean {
    return this.#hasEnd && (position <= this.#learnUntil || decision.at <= this.#learnedAt);
  }

  #observe(entry: ObservationEntry, decision: Decision | null): void {
    const { id } = entry.decision;
    const known = this.#open.get(id) ?? this.#begin(entry.decision, decision);
    if (known === null) return;
    const applied = entry.reports.filter((report) => {
      if (known.rewardIds.has(report.rewardId)) return false;
      known.rewardIds.add(report.rewardId);
      return whyNotApplied(this.#state, entry.decision, report) === null;
    });
    for (const report of applied) known.credit = addReport(known.credit, report);
    // As in the fold; but one of which nothing is known yet except time-outs and refusals waits for more.
    const { task } = entry.decision;
    const judged = applied.some(({ tool, value }) => (tool === null ? value <= 0 : task === undefined));
    if (entry.closes && judged && known.credit.tools.length > 0) this.#close(id);
    else if (this.#open.size > MAX_OPEN) this.#close(this.#open.keys().next().value!);
  }

  #begin(observed: ObservedDecision, logged: Decision | null): OpenDecision | null {
    if (this.#isClosed(observed)) return null;
    // Policies are compared by the slates that they draw: what was discovered later was drawn given that they did not suffice.
    const decision = logged === null ? null : withoutDiscoveries(logged);
    const slate = decision === null ? 'decisionGone' : evaluatedSlate(decision, this.#state);
    if (typeof slate === 'string') {
      this.#skip(observed, slate);
      return null;
    }
    const targets = this.#learning ? this.#targetsOf(slate) : null;
    const { id, deadline } = observed;
    const open: OpenDecision = { slate, targets, deadline, rewardIds: new Set(), credit: EMPTY_CREDIT };
    this.#open.set(id, open);
    return open;
  }

  #skip({ id, deadline }: ObservedDecision, why: keyof SkippedDecisions): void {
    this.skipped[why]++;
    this.#closed.set(id, deadline);
  }

  #isClosed({ id, deadline }: ObservedDecision): boolean {
    return this.#closed.has(id) || (deadline <= this.#forgottenThrough && !this.#open.has(id));
  }

  #close(id: string): void {
    const open = this.#open.get(id)!;
    this.#open.delete(id);
    this.#closed.set(id, open.deadline);
    if (open.credit.tools.length === 0) return; // nothing was applied except time-outs and refusals
    this.decisions++;
    this.#untallied.push(open);
    if (open.targets !== null || this.#untallied.length === BATCH) this.#tallyClosed();
  }

  /** Closes decisions, and forgets closed ones, that the fold would not apply anything to any more. */
  #expire(): void {
    const over = this.#clock - RECORD_GRACE_MS[this.#state.settings.rewards.onLate];
    for (const [id, { deadline }] of this.#open) {
      if (deadline >= over) break;
      this.#close(id);
    }
    if (this.#closed.size <= this.#forgetAbove) return;
    for (const [id, deadline] of this.#closed) {
      if (deadline >= over) continue;
      this.#closed.delete(id);
      this.#forgottenThrough = Math.max(this.#forgottenThrough, deadline);
    }
    this.#forgetAbove = Math.max(FEW_CLOSED, 2 * this.#closed.size);
  }

  #tallyClosed(): void {
    const closed = this.#untallied;
    this.#untallied = [];
    const queries = closed.filter(({ targets }) => targets === null).map(({ slate }) => slate.decision.query);
    if (queries.length > 0) for (const { learner } of this.#evaluated) learner?.prepare(queries);
    for (const open of closed) this.#tally(open);
  }

  #tally({ slate, targets, credit }: OpenDecision): void {
    const { decision } = slate;
    const { aggregation } = this.#state.settings.rewards;
    const rewards = decision.slate.map((index) => {
      const name = decision.candidates[index];
      const merge = decision.merged?.[name];
      const isOf = ({ tool }: ToolCredit): boolean =>
        tool === name || (merge !== undefined && tool !== null && this.#state.merges.has(merge, tool));
      return clipped(creditTotals({ ...credit, tools: credit.tools.filter(isOf) }, aggregation).reward);
    });
    const unit = decision.unit ?? null;
    const logged = {
      propensities: decision.columns.propensity,
      // The mean that the logging policy expected: it was computed without knowing the rewards.
      expected: clippedAll(decision.columns.mean),
      slate: decision.slate,
      rewards,
    };
    const now = targets ?? this.#targetsOf(slate);
    for (let i = 0; i < now.length; i++) this.#evaluated[i].tally.add({ ...logged, target: now[i] }, unit);
  }

  #targetsOf(slate: EvaluatedSlate): Float64Array[] {
    const candidates = this.#candidates.of(slate, this.#state.merges);
    return this.#evaluated.map(({ target }) => target(slate, candidates));
  }
}

/** Returns a new state with the tools of another one. */
function toolsOf(live: CatalogState, context: LearnerContext): CatalogState {
  const state = new CatalogState(live.catalog, context, live.embedder);
  state.settings = live.settings;
  for (const record of live.tools.records()) {
    state.tools.restore({ ...record, statistics: { ...record.statistics } }, live.tools.vectorOf(record));
  }
  for (const merge of live.merges.all()) {
    state.merges.restore(merge, merge.status === 'approved' ? live.merges.vectorOf(merge) : null);
  }
  return state;
}

function clipped(reward: number): number {
  return Math.min(REWARDS.upper, Math.max(REWARDS.lower, reward));
}

function clippedAll(rewards: Float32Array): Float64Array {
  const all = new Float64Array(rewards);
  for (let i = 0; i < all.length; i++) all[i] = clipped(all[i]);
  return all;
}
