import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Kernels } from '../../bandit/kernels/kernels.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Catalogs } from '../catalog/catalogs.ts';
import { Problem } from '../errors/problem.ts';
import { isStoreAway } from '../errors/store-errors.ts';
import { LedgerRemovedError } from '../ledger/ledger.ts';
import { AUTOMATIC, mergeDigest, type ProposedMerge } from '../ledger/merge-definition.ts';
import type { LookAlike, MergeRunOpen } from '../ledger/merge-run.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import type { JobQueue } from '../queue/job-queue.ts';
import { every } from '../scheduling/every.ts';
import type { MergeRun } from '../state/merge-runs.ts';
import type { MergeTable } from '../state/merge-table.ts';
import type { ToolTable } from '../state/tool-table.ts';
import { approveMerge } from './decide-merge.ts';
import type { Judge, JudgeName, JudgeSpending } from './judge.ts';
import { LookAlikes } from './look-alikes.ts';
import type { MergeCounts, MergeFindings } from './merge-findings.ts';
import { type MergePass, type MergeProgress, proposeMerges } from './propose-merges.ts';
import { submitRun } from './request-runs.ts';
import { thresholdOf } from './threshold.ts';

export interface MergeRunParts {
  readonly queue: JobQueue;
  readonly catalogs: Pick<Catalogs, 'all' | 'find' | 'serves'>;
  readonly kernels: Kernels;
  /** A judge for one run; null: it is not configured here. */
  judgeOf(name: JudgeName): Judge | null;
  tokensOf(tool: ToolDefinition): number;
  onError(message: string, error: unknown): void;
}

/** How often the ledger is told how far a run is. */
const PROGRESS_EVERY_MS = 1_000;

/** Proposals of one entry at most. */
const PROPOSED_AT_ONCE = 50;

/** Thrown when the run was cancelled, or another process has taken it. */
class RunOverError extends Error {
  override readonly name = 'RunOverError';
}

/** Thrown when all vectors were replaced meanwhile: what was compared with them has to be compared again. */
class VectorsReplacedError extends Error {
  override readonly name = 'VectorsReplacedError';
}

/** A pass, and what its judge has asked for it. */
interface JudgedPass extends MergePass {
  readonly spent: JudgeSpending | undefined;
}

/** One process that works at the run of a catalog, always from its beginning. */
export class Run {
  readonly #catalog: Catalog;
  readonly #parts: MergeRunParts;
  readonly #stop: AbortSignal;
  readonly #known: WeakMap<Catalog, MergeFindings>;
  readonly #over = new AbortController();
  #run!: MergeRun;
  #lookAlikes = new LookAlikes();
  #progress: MergeProgress = { done: 0, pairs: 0, judged: 0 };
  #told: MergeProgress = this.#progress;

  constructor(
    catalog: Catalog,
    parts: MergeRunParts,
    stop: AbortSignal,
    known: WeakMap<Catalog, MergeFindings>,
  ) {
    this.#catalog = catalog;
    this.#parts = parts;
    this.#stop = stop;
    this.#known = known;
  }

  /** Runs it to its end. @throws an error that makes the job run again: the queue closes, or a store is away */
  async run(): Promise<void> {
    const catalog = this.#catalog;
    const { run } = catalog.state.mergeRuns;
    if (run === null || run.endedAt !== null) return;
    const begun = await submitRun(catalog, { action: 'begin', run: run.id });
    if (begun.kind === 'merge-run-refused' || begun.run.endedAt !== null) return;
    this.#run = begun.run;
    const reports = every(PROGRESS_EVERY_MS, () => this.#tell(), { onError: () => {} });
    // A catalog that is deleted ends it as well.
    const watched = this.#watch().catch(() => this.#over.abort(new RunOverError()));
    try {
      const { proposals, undecided, counts, spent } = await this.#pass();
      await this.#tell();
      await this.#propose(proposals, undecided);
      await this.#approve(proposals);
      const { mergeRuns, tools } = this.#catalog.state;
      const lookAlikes = this.#lookAlikes.after(mergeRuns.lookAlikes, tools);
      const open = openOf(counts, spent);
      const end = { proposals: proposals.length, lookAlikes, ...(open !== null && { open }) };
      await this.#say({ action: 'end', status: 'succeeded', ...end });
    } catch (error) {
      await this.#fail(error);
    } finally {
      this.#over.abort(new RunOverError());
      await reports.close();
      await watched;
    }
  }

  async #fail(error: unknown): Promise<void> {
    const { closed } = this.#catalog;
    if (closed.aborted || error instanceof LedgerRemovedError || error instanceof RunOverError) return;
    const runsAgain = this.#stop.aborted || isStoreAway(error);
    // While the store is away the run stays as it is, and counts as interrupted.
    if (runsAgain) await this.#say({ action: 'leave' }).catch(() => {});
    if (runsAgain) throw this.#stop.aborted ? this.#stop.reason : error;
    this.#parts.onError(`looking for merges in catalog "${this.#catalog.name}" failed`, error);
    await this.#say({ action: 'end', status: 'failed', error: (error as Error).message }).catch(() => {});
  }

  /** Says something of this run. @throws RunOverError when it is over, or another process has taken it */
  async #say(
    change:
      | { readonly action: 'leave' }
      | {
          readonly action: 'progress';
          readonly progress: number;
          readonly pairs: number;
          readonly judged: number;
        }
      | {
          readonly action: 'end';
          readonly status: 'succeeded' | 'failed';
          readonly error?: string;
          readonly proposals?: number;
          readonly open?: MergeRunOpen;
          readonly lookAlikes?: readonly LookAlike[];
        },
  ): Promise<void> {
    const { id: run, attempt } = this.#run;
    const outcome = await submitRun(this.#catalog, { ...change, run, attempt: attempt! });
    if (outcome.kind === 'merge-run-refused') throw new RunOverError();
  }

  async #tell(): Promise<void> {
    const now = this.#progress;
    if (now === this.#told || this.#over.signal.aborted) return;
    this.#told = now;
    const { done, pairs, judged } = now;
    await this.#say({ action: 'progress', progress: done, pairs, judged });
  }

  /** Ends the work when the run is cancelled or taken, or its catalog goes. */
  async #watch(): Promise<void> {
    const signal = AbortSignal.any([this.#over.signal, this.#stop, this.#catalog.closed]);
    while (!signal.aborted) {
      const { run } = this.#catalog.state.mergeRuns;
      const isOurs = run?.id === this.#run.id && run.attempt === this.#run.attempt && run.endedAt === null;
      if (!isOurs) return this.#over.abort(new RunOverError());
      await this.#catalog.replica.reached(this.#catalog.state.position + 1, signal);
    }
  }

  async #pass(): Promise<JudgedPass> {
    for (;;) {
      try {
        return await this.#passOnce();
      } catch (error) {
        if (!(error instanceof VectorsReplacedError)) throw error;
      }
    }
  }

  /** @throws VectorsReplacedError */
  async #passOnce(): Promise<JudgedPass> {
    const { judgeOf, kernels, tokensOf } = this.#parts;
    const catalog = this.#catalog;
    const { request } = this.#run;
    const judge = judgeOf(request.judge);
    if (judge === null) throw new Error('No chat model is configured in the process that runs it.');
    const read = await catalog.replica.readConsistent(({ tools, merges, fingerprint, confusable }) => ({
      served: merges.revision,
      own: fingerprint === null ? new Map() : ownVectors(tools, merges),
      tools: Array.from(tools.live(), ({ slot, tool, hash }) => ({ slot, tool, hash })),
      vectors: fingerprint === null ? null : tools.vectors,
      threshold: request.threshold ?? thresholdOf(fingerprint),
      confusable: confusable.pairs(),
      merged: [...merges.all()]
        .filter(({ status }) => status === 'approved')
        .map(({ members }) => members.map(({ name }) => name)),
    }));
    const replaced = new AbortController();
    const { vectors } = catalog.state.tools;
    const check = (): void => {
      if (catalog.state.tools.vectors !== vectors) replaced.abort(new VectorsReplacedError());
    };
    const previous = this.#known.get(catalog) ?? null;
    const pass = await proposeMerges({
      ...read,
      ...{
        kernels,
        judge: this.#lookAlikes.listenTo(judge),
        tokensOf,
        previous: request.touched === 'all' ? null : previous,
      },
      signal: AbortSignal.any([this.#stop, catalog.closed, this.#over.signal, replaced.signal]),
      onProgress: (progress) => {
        this.#progress = progress;
        check();
      },
    });
    check();
    replaced.signal.throwIfAborted();
    // What was compared while somebody approved or undid a merge may have been compared with what is served, not with what was put.
    if (catalog.state.merges.revision === read.served) this.#known.set(catalog, pass.findings);
    else this.#known.delete(catalog);
    return { ...pass, spent: judge.spent };
  }

  /**
   * Proposes what is new, and withdraws what is no proposal any more.
   * @param undecided names of tools about which the judge left something open: earlier proposals with one of them stay
   */
  async #propose(found: readonly ProposedMerge[], undecided: ReadonlySet<string>): Promise<void> {
    const { merges } = this.#catalog.state;
    const ids = new Set(found.map(({ id }) => id));
    const fresh = found.filter((merge) => {
      const record = merges.get(merge.id);
      if (record === undefined || record.status === 'dissolved') return true;
      return !isOwn(record) && differs(record, merge);
    });
    const withdraw = [...merges.all()]
      .filter((record) => record.status === 'proposed' && !ids.has(record.id) && !isOwn(record))
      .filter(({ members }) => !members.some(({ name }) => undecided.has(name)))
      .map(({ id }) => id);
    for (let from = 0; from < fresh.length || (from === 0 && withdraw.length > 0); from += PROPOSED_AT_ONCE) {
      this.#over.signal.throwIfAborted();
      const propose = fresh.slice(from, from + PROPOSED_AT_ONCE);
      const change = { action: 'propose', propose, withdraw: from === 0 ? withdraw : [] } as const;
      const { now, replica } = this.#catalog;
      await replica.submit({ kind: 'merges', key: `merges/${randomUUID()}`, at: now(), change });
    }
  }

  /** Approves what is sure enough and not guarded, if the run was asked to. */
  async #approve(found: readonly ProposedMerge[]): Promise<void> {
    const { autoApprove } = this.#run.request;
    if (autoApprove === null) return;
    for (const merge of found) {
      const { id, confidence } = merge;
      const { merges } = this.#catalog.state;
      if (confidence < autoApprove || merges.guardOf(merge) !== null || merges.get(id)?.status !== 'proposed')
        continue;
      this.#over.signal.throwIfAborted();
      const options = { actor: AUTOMATIC, digest: mergeDigest(merge) };
      await approveMerge(this.#catalog, id, options).catch((error) => {
        // One of its tools changed meanwhile, or somebody has decided.
        if (!(error instanceof Problem) || !NOT_APPROVED.has(error.code)) throw error;
      });
    }
  }
}

const NOT_APPROVED: ReadonlySet<string> = new Set(['merge-conflict', 'merge-not-found']);

/** Longer reasons are cut: an endpoint may have worded them. */
const REASON_LENGTH = 300;

/** Returns what a pass left open; null: nothing. */
function openOf(
  { undecided, unaudited }: MergeCounts,
  spent: JudgeSpending | undefined,
): MergeRunOpen | null {
  if (undecided + unaudited === 0) return null;
  const { requests = 0, tokens = 0, failure } = spent ?? {};
  const reason = failure ?? 'the judge contradicted itself, or one of the tools gives orders to it';
  return {
    undecided: undecided + unaudited,
    reason: reason.slice(0, REASON_LENGTH),
    ...(spent !== undefined && { spent: { requests, tokens } }),
  };
}

/** The vectors of the tools that a merged one is served in place of, by slot. */
function ownVectors(tools: ToolTable, merges: MergeTable): Map<number, Float32Array> {
  const own = new Map<number, Float32Array>();
  for (const { status, representative } of merges.all()) {
    const record = status === 'approved' ? tools.get(representative) : undefined;
    if (record !== undefined) own.set(record.slot, tools.vectorOf(record).slice());
  }
  return own;
}

/** Whether somebody has proposed it: no run changes it or takes it back. */
function isOwn({ evidence }: ProposedMerge): boolean {
  return evidence.judge === 'person';
}

/** Whether a run came to something else about a merge that is proposed already. */
function differs(record: ProposedMerge & { readonly status: string }, merge: ProposedMerge): boolean {
  if (record.status !== 'proposed') return false;
  const { definition, mappings, confidence, evidence, tokensSaved, guarded } = merge;
  const found = { definition, mappings, confidence, evidence, tokensSaved, guarded };
  const members = Object.keys(found) as (keyof typeof found)[];
  return members.some((member) => !isDeepStrictEqual(record[member], found[member]));
}
