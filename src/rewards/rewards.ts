import { z } from 'zod';
import type { Catalogs } from '../catalog/catalogs.ts';
import { rewardDeadline } from '../decisions/decision.ts';
import { catalogOf, isYoung } from '../decisions/decision-id.ts';
import { Problem } from '../errors/problem.ts';
import type { DeadJob } from '../queue/job-queue.ts';
import type { CatalogState } from '../state/catalog-state.ts';
import type { RewardOutcome, RewardStatus } from '../state/fold-result.ts';
import type { RewardHealth } from './health-report.ts';
import { type RewardSources, rewardHealth } from './reward-health.ts';
import type { RewardIntake } from './reward-intake.ts';
import { REWARD_JOBS, REWARDS_JOB, rewardsJob } from './reward-job.ts';
import { type DecisionReport, isRewardId, type RewardReport, type RewardResult } from './reward-report.ts';
import { resultOfTask, type Tasks } from './tasks.ts';

/** The status of a reward. */
export interface RewardState {
  readonly rewardId: string;
  /** `dead`: given up after ten attempts. The others except `queued` are results of the fold. */
  readonly status: 'queued' | 'dead' | RewardStatus;
  readonly reason?: string;
}

/** A job with rewards, or a settlement, that was given up after ten attempts. */
export interface DeadRewards {
  /** The id that `redrive` takes. */
  readonly id: string;
  readonly kind: string;
  readonly catalog: string | null;
  readonly decisions: readonly string[];
  readonly failedAt: string;
  readonly attempts: number;
  /** What went wrong at the last attempt. */
  readonly error: string;
}

/** Decisions, and reports on them, that one request may stand for. */
const MOST_DECISIONS = 2_000;
const MOST_REPORTS = 10_000;
/** Dead jobs that are read at a time. */
const DEAD_PAGE = 100;

/** Takes reports, and answers what the endpoints ask about rewards. */
export class Rewards {
  readonly #catalogs: Catalogs;
  readonly #intake: RewardIntake;
  readonly #tasks: Tasks;
  readonly #sources: RewardSources;

  constructor(catalogs: Catalogs, intake: RewardIntake, tasks: Tasks, sources: RewardSources) {
    this.#catalogs = catalogs;
    this.#intake = intake;
    this.#tasks = tasks;
    this.#sources = sources;
  }

  /** Returns one result per report, in order. */
  async report(reports: readonly RewardReport[]): Promise<RewardResult[]> {
    if (!reports.some((report) => 'task' in report)) {
      return this.#intake.report(reports as readonly DecisionReport[]);
    }
    const meant = await this.#meant(reports);
    const all = meant.flatMap((one) => (one instanceof Problem ? [] : one));
    const results = await this.#intake.report(all);
    let at = 0;
    return meant.map((one, index) => {
      if (one instanceof Problem) return { problem: one };
      const own = results.slice(at, at + one.length);
      at += one.length;
      return 'task' in reports[index] ? resultOfTask(own) : own[0];
    });
  }

  /** Returns, for each report, the reports on decisions that it stands for, or why it stands for none. */
  async #meant(reports: readonly RewardReport[]): Promise<(readonly DecisionReport[] | Problem)[]> {
    const ofTasks = await this.#tasks.reportsOf(reports.filter((report) => 'task' in report));
    const decisions = new Set<string>();
    let count = 0;
    return reports.map((report) => {
      const meant = 'task' in report ? ofTasks.shift()! : [report];
      if (meant instanceof Problem) return meant;
      count += meant.length;
      for (const { decisionId } of meant) decisions.add(decisionId);
      return count > MOST_REPORTS || decisions.size > MOST_DECISIONS ? tooMany() : meant;
    });
  }

  /** Returns the status of a reward. @throws Problem reward-not-found when it is unknown, or was forgotten; as `Catalogs.get` */
  async status(rewardId: string): Promise<RewardState> {
    const decisionId = rewardId.slice(0, rewardId.lastIndexOf('.'));
    const name = catalogOf(decisionId);
    const catalog = name === null ? undefined : this.#catalogs.getIfAny(name);
    if (catalog === undefined) throw this.#unknown(rewardId, decisionId);
    const folded = outcomeOf(catalog.state, decisionId, rewardId);
    if (folded !== undefined) return folded;
    if (!isRewardId(rewardId)) throw notFound(rewardId);

    // In this order: a job that has left the queue is in the ledger, and an entry that is not behind is folded.
    const { queue } = this.#sources;
    const isOnItsWay = (await queue.pending([REWARDS_JOB])) + (await catalog.replica.lag()) > 0;
    const arrived = outcomeOf(catalog.state, decisionId, rewardId);
    if (arrived !== undefined) return arrived;
    const dead = await this.#deadReward(rewardId);
    if (dead !== null) return dead;
    if (isOnItsWay && (await this.#isOpen(catalog.name, decisionId))) return { rewardId, status: 'queued' };
    throw notFound(rewardId);
  }

  /** Returns whether the rewards of the last day look as they should. @throws Problem catalog-not-found */
  health(catalog: string): Promise<RewardHealth> {
    return this.#catalogs.holding(catalog, (open) => rewardHealth(open, this.#sources));
  }

  /** Returns jobs that were given up, newest first. */
  async dead(limit: number): Promise<DeadRewards[]> {
    const views: DeadRewards[] = [];
    if (limit < 1) return views;
    for await (const dead of this.#deadJobs()) if (views.push(viewOf(dead)) >= limit) break;
    return views;
  }

  /** Puts given-up jobs back with ten new attempts each, all of them if no ids are given; returns how many. */
  async redrive(ids?: readonly string[]): Promise<number> {
    const known: string[] = [];
    for await (const { job } of this.#deadJobs()) if (ids?.includes(job.id) ?? true) known.push(job.id);
    return this.#sources.queue.redrive(known);
  }

  /** Yields the dead jobs of rewards and settlements, newest first; a page at a time, since there may be ten thousand. */
  async *#deadJobs(): AsyncGenerator<DeadJob> {
    for (let skip = 0; ; skip += DEAD_PAGE) {
      const page = await this.#sources.queue.deadJobs(DEAD_PAGE, skip);
      for (const dead of page) if (REWARD_JOBS.includes(dead.job.name)) yield dead;
      if (page.length < DEAD_PAGE) return;
    }
  }

  /** Another router may have made the decision, in a catalog that it created a moment ago. */
  #unknown(rewardId: string, decisionId: string): Problem {
    const { decisionLogs, now } = this.#sources;
    return decisionLogs.isShared && isYoung(decisionId, now()) ? notOpenYet(rewardId) : notFound(rewardId);
  }

  async #deadReward(rewardId: string): Promise<RewardState | null> {
    for await (const { job, error } of this.#deadJobs()) {
      const decisions = rewardsJob.safeParse(job.payload).data?.decisions ?? [];
      if (decisions.some(({ reports }) => reports.some((report) => report.rewardId === rewardId))) {
        return { rewardId, status: 'dead', reason: error };
      }
    }
    return null;
  }

  /** Returns whether the decision is known, and so recent that the fold still has the results of all its rewards. */
  async #isOpen(catalog: string, decisionId: string): Promise<boolean> {
    return this.#catalogs.holding(catalog, async ({ state }) => {
      const decision = await (await this.#sources.decisionLogs.find(catalog))?.head(decisionId);
      if (decision == null) return false;
      return !state.decisions.mayBeDropped({ id: decisionId, deadline: rewardDeadline(decision) });
    });
  }
}

function tooMany(): Problem {
  return new Problem(
    'validation-failed',
    `The reports of this request count for more than ${MOST_DECISIONS} decisions, or ${MOST_REPORTS} times.`,
    'Send this one again, in another request.',
  );
}

function outcomeOf(state: CatalogState, decisionId: string, rewardId: string): RewardOutcome | undefined {
  const kept = state.decisions.get(decisionId)?.rewards.get(rewardId);
  if (kept === undefined) return state.refused.get(rewardId);
  const { tool: _, outcome: __, ...outcome } = kept;
  return outcome;
}

function notOpenYet(rewardId: string): Problem {
  return new Problem(
    'unavailable',
    `The catalog of reward "${rewardId}" is not open here, or not yet: another router may have created it a moment ago.`,
    'Send this again after a second. If it is still so after ten minutes, the catalog was deleted.',
    { retryAfterSeconds: 1 },
  );
}

function notFound(rewardId: string): Problem {
  return new Problem(
    'reward-not-found',
    `There is no reward "${rewardId}".`,
    'Use the rewardId from the answer to your report. Rewards are remembered for about an hour after their window.',
  );
}

const ofCatalog = z.object({ catalog: z.string() });
const ofDecision = z.object({ decisionId: z.string() });

function viewOf({ job, failedAt, attempts, error }: DeadJob): DeadRewards {
  const batch = rewardsJob.safeParse(job.payload).data?.decisions ?? [];
  const single = ofDecision.safeParse(job.payload).data;
  return {
    id: job.id,
    kind: job.name,
    catalog: ofCatalog.safeParse(job.payload).data?.catalog ?? null,
    decisions: single === undefined ? batch.map(({ decisionId }) => decisionId) : [single.decisionId],
    failedAt: new Date(failedAt).toISOString(),
    attempts,
    error,
  };
}
