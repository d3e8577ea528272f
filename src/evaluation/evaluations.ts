import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Kernels } from '../../bandit/kernels/kernels.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Catalogs } from '../catalog/catalogs.ts';
import { firstPosition } from '../ledger/find-position.ts';
import { LedgerTrimmedError } from '../ledger/ledger.ts';
import { Problem } from '../problem.ts';
import type { DecisionLogs } from '../routing/decision-log.ts';
import type { Candidate, Evaluation } from './evaluation.ts';
import { candidatesOf, type EvaluationDraft } from './evaluation-draft.ts';
import { Replay } from './replay.ts';

export interface EvaluationParts {
  readonly catalogs: Pick<Catalogs, 'get'>;
  readonly decisionLogs: DecisionLogs;
  readonly kernels: Kernels;
  now(): number;
  /** ms of a clock that never jumps. */
  steadyNow(): number;
  trouble(message: string, error: unknown): void;
}

interface Job {
  view: Evaluation;
  readonly stop: AbortController;
}

/** Works so long at a time, then leaves the event loop to requests for as long. */
const SLICE_MS = 4;
const PAUSE_MS = 4;
const READ_BATCH = 128;
const KEPT_JOBS = 100;

/** Evaluations as jobs in the background of this process, one after the other. They end with it. */
export class Evaluations {
  readonly #parts: EvaluationParts;
  readonly #jobs = new Map<string, Job>();
  #running: Promise<void> = Promise.resolve();

  constructor(parts: EvaluationParts) {
    this.#parts = parts;
  }

  create(catalog: string, draft: EvaluationDraft): Evaluation {
    const candidates = candidatesOf(draft, this.#parts.catalogs.get(catalog));
    const view: Evaluation = {
      id: randomUUID(),
      catalog,
      status: 'queued',
      createdAt: new Date(this.#parts.now()).toISOString(),
      endedAt: null,
      progress: 0,
      candidates,
      learnShare: draft.learnShare ?? 1,
      decisions: 0,
      skipped: { unexplored: 0, fallback: 0, otherEmbedder: 0, toolGone: 0, decisionGone: 0, forLearning: 0 },
      results: [],
      winner: null,
      reason: null,
    };
    const job = { view, stop: new AbortController() };
    this.#jobs.set(view.id, job);
    for (const [id, old] of this.#jobs) {
      if (this.#jobs.size <= KEPT_JOBS) break;
      if (old.view.endedAt !== null) this.#jobs.delete(id);
    }
    this.#running = this.#running.then(() => this.#run(job, candidates, draft.alpha ?? 0.05));
    return view;
  }

  /** Newest first. */
  list(catalog: string): Evaluation[] {
    this.#parts.catalogs.get(catalog);
    const views = [...this.#jobs.values()].map(({ view }) => view);
    return views.filter((view) => view.catalog === catalog).reverse();
  }

  get(catalog: string, id: string): Evaluation {
    return this.#find(catalog, id).view;
  }

  /** Stops it where it is. @throws Problem evaluation-conflict when it has ended. */
  cancel(catalog: string, id: string): Evaluation {
    const job = this.#find(catalog, id);
    if (job.view.endedAt !== null) {
      throw new Problem(
        'evaluation-conflict',
        `Evaluation "${id}" has ended (${job.view.status}).`,
        'Only evaluations that are queued or running can be cancelled.',
      );
    }
    job.stop.abort();
    this.#end(job, { status: 'cancelled' });
    return job.view;
  }

  /** The policy to start an experiment with. @throws Problem evaluation-conflict when there is none. */
  winnerOf(catalog: string, id: string): Candidate {
    const { view } = this.#find(catalog, id);
    const winner = view.candidates.find(({ name }) => name === view.winner);
    if (winner !== undefined) return winner;
    throw new Problem(
      'evaluation-conflict',
      `Evaluation "${id}" has no winner: it is ${view.status}${view.reason === null ? '' : ` (${view.reason})`}.`,
      'Wait until it is done, or name a policy yourself.',
    );
  }

  async close(): Promise<void> {
    for (const job of this.#jobs.values()) job.stop.abort();
    await this.#running;
  }

  #find(catalog: string, id: string): Job {
    this.#parts.catalogs.get(catalog);
    const job = this.#jobs.get(id);
    if (job?.view.catalog === catalog) return job;
    throw new Problem(
      'evaluation-not-found',
      `Catalog "${catalog}" has no evaluation "${id}".`,
      'Evaluations are kept until the process ends, the newest hundred of them.',
    );
  }

  #end(job: Job, how: Partial<Evaluation>): void {
    if (job.view.endedAt !== null) return;
    job.view = { ...job.view, ...how, endedAt: new Date(this.#parts.now()).toISOString() };
  }

  async #run(job: Job, candidates: readonly Candidate[], alpha: number): Promise<void> {
    if (job.stop.signal.aborted) return;
    job.view = { ...job.view, status: 'running' };
    try {
      const catalog = this.#parts.catalogs.get(job.view.catalog);
      const context = { kernels: this.#parts.kernels, derived: true };
      const replay = new Replay(catalog.state, candidates, context, { alpha });
      try {
        await this.#replay(job, replay, catalog);
        if (!job.stop.signal.aborted) this.#end(job, outcomeOf(replay));
      } finally {
        replay.free();
      }
    } catch (error) {
      if (!(error instanceof Problem)) this.#parts.trouble(`evaluation ${job.view.id} failed`, error);
      this.#end(job, { status: 'failed', reason: (error as Error).message });
    }
  }

  async #replay(job: Job, replay: Replay, { ledger, name }: Catalog): Promise<void> {
    const { decisionLogs, steadyNow } = this.#parts;
    const log = await decisionLogs.open(name);
    const head = await ledger.head();
    let after = await firstPosition(ledger, head);
    const length = Math.max(1, head - after);
    const start = after;
    let sliceStart = steadyNow();
    while (after < head && !job.stop.signal.aborted) {
      const entries = await ledger.read(after, READ_BATCH).catch((error) => {
        if (error instanceof LedgerTrimmedError) return [];
        throw error;
      });
      if (entries.length === 0) {
        after = await firstPosition(ledger, head);
        continue;
      }
      for (const positioned of entries) {
        after = positioned.position;
        if (after > head || job.stop.signal.aborted) break;
        const id = replay.wants(positioned);
        replay.add(positioned, id === null ? null : await log.get(id));
        if (steadyNow() - sliceStart < SLICE_MS) continue;
        job.view = { ...job.view, progress: (after - start) / length, ...countsOf(replay) };
        await wait(PAUSE_MS);
        sliceStart = steadyNow();
      }
    }
  }
}

function countsOf(replay: Replay): Pick<Evaluation, 'decisions' | 'skipped'> {
  return { decisions: replay.decisions, skipped: { ...replay.skipped } };
}

function outcomeOf(replay: Replay): Partial<Evaluation> {
  const results = replay.results();
  const counts = { ...countsOf(replay), progress: 1 };
  if (replay.decisions === 0) return { status: 'refused', reason: whyNothing(replay), ...counts };
  const value = (name: string) =>
    results.find((result) => result.name === name)?.estimates.find(({ estimator }) => estimator === 'dr')
      ?.value;
  const judged = results.filter(({ kind, refusal }) => kind === 'candidate' && refusal === null);
  const [winner] = judged.sort((a, b) => (value(b.name) ?? 0) - (value(a.name) ?? 0));
  if (winner !== undefined) return { status: 'done', results, winner: winner.name, ...counts };
  const reason = results.find(({ kind }) => kind === 'candidate')?.refusal ?? null;
  return { status: 'refused', results, reason, ...counts };
}

const REASONS: readonly [keyof Replay['skipped'], string][] = [
  ['otherEmbedder', 'were logged with another embedding model, and what it learned cannot be compared'],
  ['unexplored', 'were served without drawing, so they have no propensities: log with exploration'],
  ['fallback', 'were fallbacks'],
  ['toolGone', 'had candidates that are forgotten by now'],
  ['decisionGone', 'have expired'],
];

function whyNothing({ skipped }: Replay): string {
  const parts = REASONS.filter(([kind]) => skipped[kind] > 0).map(([kind, why]) => `${skipped[kind]} ${why}`);
  if (parts.length === 0) return 'No decision with a reward has been logged.';
  return `Of the decisions with rewards, ${parts.join('; ')}.`;
}
