import type { Catalog } from '../catalog/catalog.ts';
import type { Catalogs } from '../catalog/catalogs.ts';
import { type DecisionHead, rewardDeadline } from '../decisions/decision.ts';
import type { DecisionLogs } from '../decisions/decision-log.ts';
import { Problem } from '../errors/problem.ts';
import { taskKey } from '../ledger/unit.ts';
import { hasShown } from './report-notes.ts';
import {
  type DecisionReport,
  type RewardResult,
  rewardIdFor,
  type TaskReport,
  type TaskScope,
} from './reward-report.ts';

export interface EndedTask {
  readonly task: string;
  /** Decisions that were open to outcomes until now. */
  readonly decisions: number;
}

/** Where the ends of tasks go; one adapter per mode. */
export interface TaskSink {
  /** Closes decisions of one catalog whose task ended at this time. @throws StoreUnavailableError; OutcomeUnknownError */
  end(catalog: Catalog, decisionIds: readonly string[], at: number): Promise<void>;
}

export interface TasksParts {
  readonly catalogs: Catalogs;
  readonly decisionLogs: Pick<DecisionLogs, 'find'>;
  readonly sink: TaskSink;
  /** The time of the store, ms since the epoch. */
  now(): number;
}

/** The decisions of a task in one catalog, newest first. */
interface TaskPart {
  readonly catalog: Catalog;
  readonly decisions: readonly DecisionHead[];
}

/** Ties decisions together that were made in one task: finds them, says which of them a report is about, ends them. */
export class Tasks {
  readonly #parts: TasksParts;

  constructor(parts: TasksParts) {
    this.#parts = parts;
  }

  /**
   * Ends a task: shown tools that nobody called in it count as not used from now on. Repeating it ends what was routed since.
   * @throws Problem task-not-found, task-ambiguous, catalog-not-found, unavailable; StoreUnavailableError
   */
  async end(scope: TaskScope): Promise<EndedTask> {
    const { sink, now } = this.#parts;
    const parts = await this.#find(scope);
    const at = now();
    let count = 0;
    for (const { catalog, decisions } of parts) {
      const open = decisions.filter(
        (decision) =>
          rewardDeadline(decision) >= at && catalog.state.decisions.get(decision.id)?.closed !== true,
      );
      count += open.length;
      if (open.length === 0) continue;
      const ids = open.map(({ id }) => id);
      await this.#parts.catalogs.holding(catalog.name, () => sink.end(catalog, ids, at));
    }
    return { task: scope.task, decisions: count };
  }

  /**
   * Returns the reports that reports of tasks stand for, in order, or why one stands for none: one for each decision of the task
   * that showed the tool and whose window is open. If there is none, the newest decision gets it, in which the tool was not shown,
   * or whose window is over. In a catalog in which a report is repeated it stands for the one that it repeats.
   * @throws StoreUnavailableError
   */
  async reportsOf(reports: readonly TaskReport[]): Promise<(DecisionReport[] | Problem)[]> {
    const found = new Map<string, TaskPart[] | Problem>();
    const meant: (DecisionReport[] | Problem)[] = [];
    for (const { task, catalog, userId, unitId, ...outcome } of reports) {
      const scope = { task, catalog, userId, unitId };
      const key = JSON.stringify(scope);
      const parts = found.get(key) ?? (await this.#find(scope).catch(asProblem));
      found.set(key, parts);
      meant.push(parts instanceof Problem ? parts : this.#reportsIn(parts, outcome));
    }
    return meant;
  }

  #reportsIn(
    parts: readonly TaskPart[],
    outcome: Omit<DecisionReport, 'decisionId'> & { readonly tool: string },
  ): DecisionReport[] {
    const at = this.#parts.now();
    const about = parts.flatMap(({ catalog, decisions }) => {
      const repeated = repeatedIn(catalog, decisions, outcome.idempotencyKey);
      if (repeated !== undefined) return [repeated];
      return decisions.filter(
        (one) => hasShown(one, catalog.state, outcome.tool) && rewardDeadline(one) >= at,
      );
    });
    if (about.length === 0) {
      const newest = parts
        .flatMap(({ catalog: { state }, decisions }) => decisions.map((decision) => ({ decision, state })))
        .sort((a, b) => b.decision.at - a.decision.at);
      const meant = newest.find(({ decision, state }) => hasShown(decision, state, outcome.tool));
      about.push((meant ?? newest[0]).decision);
    }
    return about.map(({ id }) => ({ ...outcome, decisionId: id }));
  }

  async #find(scope: TaskScope): Promise<TaskPart[]> {
    const { catalogs } = this.#parts;
    const key = taskKey({ task: scope.task, owner: scope.userId ?? scope.unitId });
    const searched = scope.catalog === undefined ? catalogs.all() : [catalogs.get(scope.catalog)];
    const parts = await Promise.all(searched.map((catalog) => this.#findIn(catalog, key)));
    const all = parts.flatMap(({ decisions }) => decisions);
    const at = this.#parts.now();
    const open = all.filter((decision) => rewardDeadline(decision) >= at);
    const owned = new Set((open.length > 0 ? open : all).map(({ task }) => task));
    if (owned.size === 0) throw notFound(scope);
    if (owned.size > 1) throw ambiguous(scope.task);
    return parts.map(({ catalog, decisions }) => ({
      catalog,
      decisions: decisions.filter(({ task }) => owned.has(task)),
    }));
  }

  async #findIn(catalog: Catalog, key: string): Promise<TaskPart> {
    const { catalogs, decisionLogs } = this.#parts;
    const decisions = await catalogs
      .holding(catalog.name, async () => {
        const log = await decisionLogs.find(catalog.name);
        return (await log?.ofTask(key)) ?? [];
      })
      .catch((error: unknown) => {
        // Deleted meanwhile.
        if (catalog.closed.aborted && error instanceof Problem) return [];
        throw error;
      });
    return { catalog, decisions };
  }
}

/** Returns the decision for which a report with this key was folded before. */
function repeatedIn(
  { state }: Catalog,
  decisions: readonly DecisionHead[],
  idempotencyKey: string | undefined,
): DecisionHead | undefined {
  if (idempotencyKey === undefined) return undefined;
  return decisions.find(({ id }) => state.decisions.get(id)?.rewards.has(rewardIdFor(id, idempotencyKey)));
}

/**
 * Returns one result for the reports that one report of a task stood for. A store that was away for some of them is what its sender
 * has to know, who sends it again then: with its key it counts once where it was taken.
 */
export function resultOfTask(results: readonly RewardResult[]): RewardResult {
  const taken = results.filter((result) => 'rewardId' in result);
  const missed = results.find((result) => 'problem' in result && result.problem.code === 'unavailable');
  if (missed !== undefined || taken.length === 0) return missed ?? results[0];
  const first = taken.find(({ status }) => status === 'queued') ?? taken[0];
  const { note, ...receipt } = first;
  // What holds for one of them alone, such as that it had no user's items, does not hold for the task.
  const isNoted = note !== undefined && taken.every((one) => one.note !== undefined);
  return { ...receipt, ...(isNoted && { note }), decisions: taken.length };
}

function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  throw error;
}

function notFound({ task, catalog }: TaskScope): Problem {
  const where = catalog === undefined ? '' : ` in catalog "${catalog}"`;
  return new Problem(
    'task-not-found',
    `There is no task "${task}"${where}, or its decisions have expired.`,
    'Send the `task` of the route requests, with their `userId` or `unitId` or with neither. A decision that was routed with activate "later" belongs to it once it is activated.',
  );
}

function ambiguous(task: string): Problem {
  return new Problem(
    'task-ambiguous',
    `Several users have a task "${task}".`,
    'Name the `userId`, or the `unitId`, of the route requests, or choose ids of tasks that are unique.',
  );
}
