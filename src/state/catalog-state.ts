import { Sufficiency } from '../../bandit/calibration/sufficiency.ts';
import { InstructionEffects } from '../../bandit/effects/instruction-effects.ts';
import { type CatalogSettings, DEFAULT_CATALOG_SETTINGS } from '../ledger/catalog-settings.ts';
import type { BoundEmbedder, DomainRules, Position } from '../ledger/entry.ts';
import { ConfusablePairs } from './confusable-pairs.ts';
import { ExperimentTable } from './experiments/experiment-table.ts';
import type { FoldResult } from './fold-result.ts';
import { ForgottenUnits } from './forgotten-units.ts';
import { InstructionTable } from './instruction-table.ts';
import type { LearnerContext } from './learner-version.ts';
import { Learners } from './learners.ts';
import { MergeRuns } from './merge-runs.ts';
import { MergeTable } from './merge-table.ts';
import { ObservedDecisions, RECORD_GRACE_MS, RefusedRewards } from './observed/observed-decisions.ts';
import { TasksWithCalls } from './observed/task-calls.ts';
import { RewardStatistics } from './reward-statistics.ts';
import { SourceTable } from './source-table.ts';
import { ToolTable } from './tool-table.ts';
import { UnitLimits } from './unit-limits.ts';

/** The answer of a command, and when it was given. */
export interface Answer {
  readonly at: number;
  readonly outcome: FoldResult;
  /** Digest of the command, where its sender chose the key. */
  readonly content?: string;
}

/** Answers to commands are remembered this long, for their idempotency keys. */
const ANSWER_LIFETIME_MS = 24 * 60 * 60 * 1000;
const MAX_ANSWERS = 10_000;

/** The embedder of a catalog for which no model was chosen yet. */
const UNBOUND: BoundEmbedder = { model: null, fingerprint: null, dimensions: 0 };

const NO_DOMAINS = { of: '', terms: [], weights: new Float32Array(0) };

/**
 * Everything that is known about one catalog: the result of folding its ledger. Only the fold changes it;
 * everything else reads it. Its canonical part is what `encodeSnapshot` writes.
 */
export class CatalogState {
  readonly catalog: string;
  /** The newest entry that was folded. */
  position: Position = 0;
  /** The newest entry that may have changed what was learned. */
  taught: Position = 0;
  /** The largest `at` of an entry: the only time that the state knows, ms since the epoch. */
  clock = 0;
  /** Changes whenever a tool changes; instructions have a revision of their own. */
  revision = 'r0';
  settings: CatalogSettings = DEFAULT_CATALOG_SETTINGS;
  /** What tells the domains of the settings apart, and the key of the entry that put them. */
  domains: DomainRules & { readonly of: string } = NO_DOMAINS;
  readonly tools: ToolTable;
  /** The merges of tools, and what is served for those that are approved. */
  readonly merges: MergeTable;
  readonly instructions: InstructionTable;
  /** What instructions add by being there, by their slots. */
  effects = new InstructionEffects();
  /** How probable it is that a slate suffices. */
  sufficiency = new Sufficiency();
  readonly sources = new SourceTable();
  readonly mergeRuns = new MergeRuns();
  readonly confusable = new ConfusablePairs();
  readonly learners: Learners;
  readonly decisions: ObservedDecisions;
  readonly tasks = new TasksWithCalls();
  readonly refused = new RefusedRewards();
  readonly limits = new UnitLimits();
  readonly forgotten = new ForgottenUnits();
  readonly experiments = new ExperimentTable();
  readonly rewards = new RewardStatistics();
  /** Ids of the cases that were taught from transcripts, oldest first. */
  readonly taughtCases = new Set<string>();
  /** Results of commands by key: a command that is sent twice is applied once and gets the same answer twice. */
  readonly answers = new Map<string, Answer>();

  constructor(catalog: string, context: LearnerContext, embedder: BoundEmbedder = UNBOUND) {
    this.catalog = catalog;
    this.decisions = new ObservedDecisions(catalog);
    this.tools = new ToolTable(context.kernels, embedder.dimensions);
    this.merges = new MergeTable(this.tools);
    this.instructions = new InstructionTable(context.kernels, embedder.dimensions);
    this.learners = new Learners(context, embedder);
    this.learners.activate(this.settings.policy, this.tools.vectors, []);
  }

  /** The embedder that made the vectors of the tools, about which everything is learned. */
  get embedder(): BoundEmbedder {
    return this.learners.embedder;
  }

  get fingerprint(): string | null {
    return this.embedder.fingerprint;
  }

  /** Returns the slots of all tools, live or not, which a new learner needs. */
  slots(): number[] {
    return Array.from(this.tools.records(), ({ slot }) => slot);
  }

  remember(key: string, answer: Omit<Answer, 'at'>): void {
    this.answers.set(key, { at: this.clock, ...answer });
  }

  /** Drops records, tasks, units and answers that have expired at `clock`. @param at of the entry that is folded next */
  expire(at: number): void {
    this.forgotten.expire(at);
    const graceMs = RECORD_GRACE_MS[this.settings.rewards.onLate];
    this.decisions.expire(this.clock, graceMs);
    this.tasks.expire(this.clock, graceMs);
    this.experiments.expire(this.clock);
    for (const [key, { at }] of this.answers) {
      if (this.answers.size <= MAX_ANSWERS && at + ANSWER_LIFETIME_MS >= this.clock) break;
      this.answers.delete(key);
    }
  }

  /** Frees the memory of matrices and vectors. */
  free(): void {
    this.learners.free();
    this.tools.free();
    this.instructions.free();
  }
}
