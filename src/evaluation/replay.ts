import { reportOffPolicy } from '../../bandit/off-policy/off-policy-estimate.ts';
import { OffPolicyTally } from '../../bandit/off-policy/off-policy-tally.ts';
import type { ObservationEntry, SettlementEntry } from '../ledger/entry.ts';
import type { PositionedEntry } from '../ledger/ledger.ts';
import type { Decision } from '../routing/decision.ts';
import { CatalogState } from '../state/catalog-state.ts';
import { addReport, type Credit, creditTotals, EMPTY_CREDIT } from '../state/decision-credit.ts';
import { fold } from '../state/fold.ts';
import type { LearnerContext } from '../state/learners.ts';
import { evaluatedSlate } from './evaluated-slate.ts';
import type { Candidate, EvaluationResult, SkippedDecisions } from './evaluation.ts';
import { BASELINES, candidateTarget, type Target } from './target.ts';

interface Evaluated {
  readonly name: string;
  readonly policy: Candidate['policy'] | null;
  readonly target: Target;
  readonly tally: OffPolicyTally;
}

/** A decision that is still open for more rewards. */
interface OpenDecision {
  readonly decision: Decision;
  readonly targets: readonly Float64Array[];
  readonly expected: Float64Array;
  credit: Credit;
}

const MAX_OPEN = 10_000;
/** Clipped here, so that a slate of ten good tools cannot count more than rewards can be. */
const REWARDS = { lower: 0, upper: 1 };

/**
 * Policies that never ran, judged by decisions that were made. Each candidate starts from nothing and learns along from
 * the rewards in the ledger, exactly as it would in the fold; each decision is put to it before it has learned that
 * decision's own rewards. Tools are as they are now.
 */
export class Replay {
  readonly skipped: SkippedDecisions = {
    unexplored: 0,
    fallback: 0,
    otherEmbedder: 0,
    toolGone: 0,
    decisionGone: 0,
  };
  decisions = 0;
  readonly #state: CatalogState;
  readonly #evaluated: Evaluated[] = [];
  readonly #open = new Map<string, OpenDecision>();
  readonly #alpha: number;

  /** @param live state of the catalog, of which tools and settings are taken; it is not changed. */
  constructor(
    live: CatalogState,
    candidates: readonly Candidate[],
    context: LearnerContext,
    { alpha }: { readonly alpha: number },
  ) {
    this.#alpha = alpha;
    const state = toolsOf(live, context);
    this.#state = state;
    const versions: string[] = [];
    for (const { name, policy } of candidates) {
      const learner = state.learners.own(policy, 'all', null, state.tools.vectors, state.slots());
      versions.push(learner.version);
      const target = candidateTarget(learner, policy);
      this.#evaluated.push({ name, policy, target, tally: new OffPolicyTally() });
    }
    state.learners.keepOnly(versions);
    for (const [name, target] of Object.entries(BASELINES)) {
      this.#evaluated.push({ name, policy: null, target, tally: new OffPolicyTally() });
    }
  }

  /** Whether an entry needs its decision to be read before it is put to `add`. */
  wants({ entry }: PositionedEntry): string | null {
    return entry.kind === 'observation' && !this.#open.has(entry.decision.id) ? entry.decision.id : null;
  }

  /** @param decision of the entry as it was logged; null if it has expired (or was asked for before). */
  add(positioned: PositionedEntry, decision: Decision | null): void {
    const { entry } = positioned;
    if (entry.kind === 'observation') this.#observe(entry, decision);
    if (entry.kind === 'observation' || entry.kind === 'settlement') this.#learn(positioned, entry);
  }

  /** Closes what is open, and says what can be said. */
  results(): EvaluationResult[] {
    for (const id of [...this.#open.keys()]) this.#close(id);
    return this.#evaluated.map(({ name, policy, tally }) => ({
      name,
      kind: policy === null ? 'baseline' : 'candidate',
      policy,
      ...reportOffPolicy(tally, { alpha: this.#alpha, rewards: REWARDS }),
    }));
  }

  free(): void {
    this.#state.free();
  }

  #learn(positioned: PositionedEntry, entry: ObservationEntry | SettlementEntry): void {
    // Assignments would count in experiments of this state, of which there are none.
    fold(this.#state, { ...positioned, entry });
  }

  #observe(entry: ObservationEntry, decision: Decision | null): void {
    const { id } = entry.decision;
    const known = this.#open.get(id) ?? this.#begin(id, decision);
    if (known === null) return;
    known.credit = entry.reports.reduce(addReport, known.credit);
    if (entry.closes || this.#open.size > MAX_OPEN) {
      this.#close(entry.closes ? id : this.#open.keys().next().value!);
    }
  }

  #begin(id: string, decision: Decision | null): OpenDecision | null {
    if (decision === null) {
      this.skipped.decisionGone++;
      return null;
    }
    const slate = evaluatedSlate(decision, this.#state);
    if (typeof slate === 'string') {
      this.skipped[slate]++;
      return null;
    }
    const open: OpenDecision = {
      decision,
      targets: this.#evaluated.map(({ target }) => target(slate)),
      // What the logging policy expected; it may be wrong, but it did not know the rewards.
      expected: Float64Array.from(decision.columns.mean, clipped),
      credit: EMPTY_CREDIT,
    };
    this.#open.set(id, open);
    return open;
  }

  #close(id: string): void {
    const { decision, targets, expected, credit } = this.#open.get(id)!;
    this.#open.delete(id);
    if (credit.tools.length === 0) return; // nothing but time-outs and refusals
    const { aggregation } = this.#state.settings.rewards;
    const rewards = decision.slate.map((index) => {
      const ofTool = credit.tools.filter(({ tool }) => tool === decision.candidates[index]);
      return clipped(creditTotals({ ...credit, tools: ofTool }, aggregation).reward);
    });
    const unit = decision.userId ?? decision.unitId ?? decision.sessionId ?? null;
    for (const [i, { tally }] of this.#evaluated.entries()) {
      const { columns, slate } = decision;
      tally.add({ propensities: columns.propensity, target: targets[i], expected, slate, rewards }, unit);
    }
    this.decisions++;
  }
}

/** A state of its own with the tools of another. */
function toolsOf(live: CatalogState, context: LearnerContext): CatalogState {
  const state = new CatalogState(live.catalog, context, live.tools.vectors.dimensions);
  state.settings = live.settings;
  state.fingerprint = live.fingerprint;
  for (const record of live.tools.records()) {
    state.tools.restore(
      { ...record, statistics: { ...record.statistics } },
      live.tools.vectors.get(record.slot),
    );
  }
  return state;
}

function clipped(reward: number): number {
  return Math.min(REWARDS.upper, Math.max(REWARDS.lower, reward));
}
