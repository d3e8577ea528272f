import type { Catalog } from '../catalog/catalog.ts';
import type { Catalogs } from '../catalog/catalogs.ts';
import type { ContextOutcome } from '../context/route-contexts.ts';
import { type DecisionHead, rewardDeadline } from '../decisions/decision.ts';
import { Problem } from '../errors/problem.ts';
import { isStoreAway, type RetryableError } from '../errors/store-errors.ts';
import type { RefusedReports } from './refused-reports.ts';
import { joinedNotes, noteOnContext, noteOnTool, toolOf } from './report-notes.ts';
import type { RewardsJob } from './reward-job.ts';
import {
  completeOutcome,
  type DecisionReport,
  type RewardReceipt,
  type RewardResult,
  rewardIdFor,
} from './reward-report.ts';

/** The time of the store, and how far it is ahead of right clocks; ms. */
interface RewardClock {
  readonly now: () => number;
  readonly lead: number;
}

/** How far the clock of an agent may be wrong. */
const CLOCKS_DIFFER_MS = 60_000;

/** Checked reports of one decision. If they do not close it, it closes at its deadline with what is known then. */
export interface TakenReports<Found extends DecisionHead = DecisionHead> {
  readonly catalog: Catalog;
  readonly decision: Found;
  readonly reported: RewardsJob['decisions'][number];
}

interface CheckedReports<Found extends DecisionHead> extends TakenReports<Found> {
  /** What they say about the items of the user's context. */
  readonly uses: readonly ContextOutcome[];
}

/** The results of the reports of one decision, in order, and what is new among them; null: nothing. */
interface Checked<Found extends DecisionHead> {
  readonly results: readonly RewardResult[];
  readonly taken: CheckedReports<Found> | null;
}

/** Where checked reports go; one adapter per mode. */
export interface RewardSink<Found extends DecisionHead> {
  /**
   * Makes reports of one catalog durable, all or none, in such a way that they will be folded.
   * @throws StoreUnavailableError when none of them was accepted; OutcomeUnknownError
   */
  send(taken: readonly TakenReports<Found>[]): Promise<void>;
}

export interface RewardIntakeParts<Found extends DecisionHead> {
  /** Returns a decision with what the sink needs of it. @throws Problem decision-not-found, unavailable */
  readonly find: (decisionId: string) => Promise<Found>;
  readonly sink: RewardSink<Found>;
  readonly refused: RefusedReports;
  /** Notes how items of a decision's user were used. Returns what was named in vain, as sentences by reward id. Does not reject. */
  noteUses(decision: Found, uses: readonly ContextOutcome[]): Promise<ReadonlyMap<string, string>>;
}

/** Accepts reports of rewards: checks them, makes them durable, and says for each what will become of it. */
export class RewardIntake<Found extends DecisionHead = DecisionHead> {
  readonly #catalogs: Catalogs;
  readonly #find: RewardIntakeParts<Found>['find'];
  readonly #sink: RewardSink<Found>;
  readonly #refused: RefusedReports;
  readonly #noteUses: RewardIntakeParts<Found>['noteUses'];
  readonly #clock: RewardClock;

  constructor(
    catalogs: Catalogs,
    { clock }: { readonly clock: RewardClock },
    { find, sink, refused, noteUses }: RewardIntakeParts<Found>,
  ) {
    this.#catalogs = catalogs;
    this.#clock = clock;
    this.#find = find;
    this.#sink = sink;
    this.#refused = refused;
    this.#noteUses = noteUses;
  }

  /**
   * Returns one result per report, in order. A report that is `queued` is durable. Reports of one decision in one call are
   * taken together: the decision closes unless one of them says `more`.
   * @throws StoreUnavailableError when none of them was accepted; OutcomeUnknownError
   */
  async report(reports: readonly DecisionReport[]): Promise<RewardResult[]> {
    if (reports.length === 1) return [await this.#reportOne(reports[0])];
    const results = new Array<RewardResult>(reports.length);
    const byDecision = new Map<string, number[]>();
    for (const [index, { decisionId }] of reports.entries()) {
      byDecision.set(decisionId, [...(byDecision.get(decisionId) ?? []), index]);
    }
    const taken = await Promise.all(
      [...byDecision].map(async ([decisionId, indices]) => {
        const own = await this.#take(
          decisionId,
          indices.map((index) => reports[index]),
        );
        for (const [at, index] of indices.entries()) results[index] = own.results[at];
        return own.taken;
      }),
    );
    const sent = taken.filter((one) => one !== null);
    const failed = await this.#send(sent);
    const noted = sent.filter(({ decision, uses }) => uses.length > 0 && !failed.has(decision.id));
    const remarks = await Promise.all(noted.map(({ decision, uses }) => this.#noteUses(decision, uses)));
    const remarkOn = new Map(remarks.flatMap((some) => [...some]));
    return results.map((result, index) => {
      const { decisionId } = reports[index];
      const problem = isNew(result) ? failed.get(decisionId) : undefined;
      return problem === undefined ? this.#counted(decisionId, remarked(result, remarkOn)) : { problem };
    });
  }

  /** The same for one report, which is all that most requests bring. */
  async #reportOne(report: DecisionReport): Promise<RewardResult> {
    const { decisionId } = report;
    const { results, taken } = await this.#take(decisionId, [report]);
    const [result] = results;
    if (taken === null) return this.#counted(decisionId, result);
    await this.#catalogs.holding(taken.catalog.name, () => this.#sink.send([taken]));
    if (taken.uses.length === 0) return result;
    return remarked(result, await this.#noteUses(taken.decision, taken.uses));
  }

  /** Counts the report if it was refused. */
  #counted(decisionId: string, result: RewardResult): RewardResult {
    if ('problem' in result) this.#refused.count(decisionId, result.problem.code);
    else if (result.status === 'duplicate') this.#refused.count(decisionId, 'duplicate');
    return result;
  }

  /**
   * Sends what was taken, by catalog. Returns the decisions whose reports were not accepted, while others were.
   * @throws why nothing was accepted
   */
  async #send(taken: readonly TakenReports<Found>[]): Promise<ReadonlyMap<string, Problem>> {
    const names = [...new Set(taken.map(({ catalog }) => catalog.name))];
    const groups = names.map((name) => taken.filter(({ catalog }) => catalog.name === name));
    const sent = await Promise.allSettled(
      groups.map((some, at) => this.#catalogs.holding(names[at], () => this.#sink.send(some))),
    );
    const failed = new Map<string, Problem>();
    for (const [at, result] of sent.entries()) {
      if (result.status === 'fulfilled') continue;
      const isAll = sent.every(({ status }) => status === 'rejected');
      if (isAll || !(result.reason instanceof Problem || isStoreAway(result.reason))) throw result.reason;
      const problem = asProblem(result.reason);
      for (const { reported } of groups[at]) failed.set(reported.decisionId, problem);
    }
    return failed;
  }

  /** Checks the reports of one decision. */
  async #take(decisionId: string, reports: readonly DecisionReport[]): Promise<Checked<Found>> {
    try {
      return this.#check(await this.#findShown(decisionId), reports);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      return { results: reports.map(() => ({ problem: error })), taken: null };
    }
  }

  /** @throws Problem reward-late; as `Catalogs.get` */
  #check(decision: Found, reports: readonly DecisionReport[]): Checked<Found> {
    const { id: decisionId } = decision;
    const catalog = this.#catalogs.get(decision.catalog);
    const contract = catalog.state.settings.rewards;
    const at = this.#clock.now();
    const isLate = at > rewardDeadline(decision);
    if (isLate && contract.onLate === 'reject') throw lateProblem(decision);

    const known = catalog.state.decisions.get(decisionId);
    const results: RewardResult[] = [];
    const accepted: TakenReports['reported']['reports'] = [];
    const uses: ContextOutcome[] = [];
    for (const report of reports) {
      const rewardId = rewardIdFor(decisionId, report.idempotencyKey);
      const repeated = known?.rewards.has(rewardId) || accepted.some((other) => other.rewardId === rewardId);
      if (repeated) {
        results.push({ rewardId, status: 'duplicate' });
        continue;
      }
      const occurredAt = this.#occurredAt(report, decision, at);
      if (occurredAt instanceof Problem) {
        results.push({ problem: occurredAt });
        continue;
      }
      const { outcome, value } = completeOutcome(report);
      const { weight = 1, latencyMs, cost, rating } = report;
      const tool = toolOf(report, decision, catalog);
      if (decision.hasContext) uses.push({ rewardId, items: report.context, tool, outcome: value });
      accepted.push({ rewardId, tool, outcome, value, weight, at, occurredAt, latencyMs, cost, rating });
      const status = isLate && contract.onLate === 'log' ? 'late' : 'queued';
      const note = joinedNotes(
        noteOnTool(tool, value, decision, catalog),
        noteOnContext(report.context, decision),
      );
      results.push(note === undefined ? { rewardId, status } : { rewardId, status, note });
    }
    if (accepted.length === 0) return { results, taken: null };
    // In a task a shown tool may be of use later: of single reports only one that is about the whole slate closes it.
    const isFinal = decision.task === undefined || reports.some(({ tool }) => tool === undefined);
    const closes = isFinal && !reports.some(({ more }) => more === true);
    return {
      results,
      taken: { catalog, decision, reported: { decisionId, closes, reports: accepted }, uses },
    };
  }

  /** Returns when it happened in the time of the store, between the decision and now. */
  #occurredAt(
    { occurredAt }: DecisionReport,
    decision: DecisionHead,
    now: number,
  ): number | undefined | Problem {
    if (occurredAt === undefined) return undefined;
    const at = Date.parse(occurredAt) + this.#clock.lead;
    if (at > now + CLOCKS_DIFFER_MS) return impossible('lies in the future');
    if (at < decision.at - CLOCKS_DIFFER_MS) return impossible('is before the decision was made');
    return Math.min(now, Math.max(decision.at, at));
  }

  async #findShown(decisionId: string): Promise<Found> {
    const decision = await this.#find(decisionId);
    if (decision.activatedAt !== null) return decision;
    throw new Problem(
      'decision-not-activated',
      `Decision "${decisionId}" was routed with activate "later" and has not been activated.`,
      `POST /v1/decisions/${decisionId}/activate when its slate is shown, then report its rewards.`,
    );
  }
}

function isNew(result: RewardResult): result is RewardReceipt {
  return 'status' in result && result.status !== 'duplicate';
}

/** A result with what is to be said of how the items of the user's context were used. */
function remarked(result: RewardResult, remarks: ReadonlyMap<string, string>): RewardResult {
  const remark = isNew(result) && remarks.get(result.rewardId);
  return remark ? { ...result, note: joinedNotes(result.note, remark) } : result;
}

function asProblem(error: Problem | RetryableError): Problem {
  if (error instanceof Problem) return error;
  const { message, suggestedFix, retryAfterSeconds } = error;
  const fix = suggestedFix ?? 'Send it again after a second, with the same `idempotencyKey`.';
  return new Problem('unavailable', message, fix, { retryAfterSeconds, cause: error });
}

function lateProblem(decision: DecisionHead): Problem {
  return new Problem(
    'reward-late',
    `The window for rewards of this decision closed at ${new Date(rewardDeadline(decision)).toISOString()}.`,
    'Report sooner, widen rewards.windowSeconds of the catalog, or set rewards.onLate to "learn" or "log".',
  );
}

function impossible(what: string): Problem {
  return new Problem(
    'validation-failed',
    `\`occurredAt\` ${what}.`,
    'Send when the outcome happened, as an ISO time with its zone, or leave it out: then it is now.',
    { violations: [{ path: 'occurredAt', message: what }] },
  );
}
