import type { Catalogs } from '../catalog/catalogs.ts';
import type { ChangeOptions } from '../catalog/conditional-change.ts';
import { afterOf, firstPage } from '../catalog/page.ts';
import { Problem } from '../errors/problem.ts';
import type { MergeStatus } from '../ledger/merge-definition.ts';
import type { LookAlike, MergeRunRequest } from '../ledger/merge-run.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import type { JobQueue } from '../queue/job-queue.ts';
import type { MergeRun } from '../state/merge-runs.ts';
import type { MergeRecord } from '../state/merge-table.ts';
import {
  type ApproveOptions,
  approveMerge,
  getMerge,
  rejectMerge,
  undoMerge,
  withGuard,
} from './decide-merge.ts';
import { type OwnMerge, proposeOwn } from './propose-own.ts';
import { cancelRun, startRun } from './request-runs.ts';
import { mergeJobOf } from './schedule-runs.ts';

/** What a run is asked beside what the settings of its catalog say. */
export type MergeRunDraft = {
  -readonly [Member in keyof MergeRunRequest]?: MergeRunRequest[Member] | undefined;
};

export interface MergeQuery {
  readonly limit: number;
  readonly cursor?: string | undefined;
  readonly status?: MergeStatus | undefined;
}

export interface MergePage {
  readonly merges: readonly MergeRecord[];
  readonly nextCursor: string | null;
  /** The newest run; null: there was none. */
  readonly run: MergeRun | null;
  /** How many merges there are of each status. */
  readonly counts: Readonly<Record<MergeStatus, number>>;
}

export interface MergesParts {
  readonly queue: Pick<JobQueue, 'add'>;
  /** Whether a chat model is configured, which could judge. */
  readonly hasChat: boolean;
  /** What a definition takes in the context of a model. */
  tokensOf(tool: ToolDefinition): number;
}

/** Merges of the tools of catalogs. Everything here throws Problem catalog-not-found; what takes an id, merge-not-found. */
export class Merges {
  readonly #catalogs: Catalogs;
  readonly #parts: MergesParts;

  constructor(catalogs: Catalogs, parts: MergesParts) {
    this.#catalogs = catalogs;
    this.#parts = parts;
  }

  /**
   * Looks for merges in the background. While it runs the same request returns the run that is under way.
   * @throws Problem merge-conflict when that was asked something else; validation-failed for a chat model that is not configured
   */
  propose(catalog: string, draft: MergeRunDraft, actor?: string): Promise<MergeRun> {
    return this.#catalogs.holding(catalog, async (open) => {
      const { automatic: _, ...settings } = open.state.settings.merging;
      const given = Object.entries(draft).filter(([, value]) => value !== undefined);
      const request = { ...settings, touched: 'changed' as const, ...Object.fromEntries(given) };
      if (request.judge === 'chat' && !this.#parts.hasChat) throw noChat();
      const run = await startRun(open, request, actor);
      await this.#parts.queue.add([mergeJobOf(catalog, run)]);
      return run;
    });
  }

  /** Proposes a merge of somebody's own choice. @throws Problem tool-not-found, validation-failed, merge-conflict */
  proposeOwn(catalog: string, asked: OwnMerge): Promise<MergeRecord> {
    return this.#catalogs.holding(catalog, (open) => proposeOwn(open, asked, this.#parts.tokensOf));
  }

  /** Cancels the run that is under way; what it has proposed already stays. @throws Problem merge-conflict when there is none */
  cancel(catalog: string, actor?: string): Promise<MergeRun> {
    return this.#catalogs.holding(catalog, (open) => cancelRun(open, actor));
  }

  /** Returns a page of the merges, the surest first. The cursor is the last one of the page before, so that changes in between do no harm. */
  list(catalog: string, { limit, cursor, status }: MergeQuery): MergePage {
    const { state } = this.#catalogs.get(catalog);
    const after = cursor === undefined ? null : cursorOf(cursor);
    const counts = { proposed: 0, approved: 0, rejected: 0, undone: 0, dissolved: 0 };
    const rest: MergeRecord[] = [];
    for (const record of state.merges.all()) {
      counts[record.status]++;
      if ((status ?? record.status) !== record.status) continue;
      if (after === null || inOrder(after, record) < 0) rest.push(record);
    }
    rest.sort(inOrder);
    const { rows, nextCursor } = firstPage(
      rest,
      limit,
      ({ confidence, id }) => JSON.stringify([confidence, id]),
      (record) => JSON.stringify(record).length,
    );
    const merges = rows.map((record) => withGuard(state, record));
    return { merges, nextCursor, run: state.mergeRuns.run, counts };
  }

  /** Returns the newest run, and pairs that look alike and are not the same, by the newest one that succeeded. */
  run(catalog: string): { readonly run: MergeRun | null; readonly lookAlikes: readonly LookAlike[] } {
    const { run, lookAlikes } = this.#catalogs.get(catalog).state.mergeRuns;
    return { run, lookAlikes };
  }

  get(catalog: string, id: string): MergeRecord {
    return getMerge(this.#catalogs.get(catalog), id);
  }

  /** Approves a merge, which is served from now on. @throws Problem merge-conflict when it or its tools are not what they were, or it is decided already */
  approve(catalog: string, id: string, options: ApproveOptions = {}): Promise<MergeRecord> {
    return this.#catalogs.holding(catalog, (open) => approveMerge(open, id, options));
  }

  /** Rejects a merge, which is not proposed again until one of its tools changes. @throws Problem merge-conflict when it is not proposed */
  reject(catalog: string, id: string, options: ChangeOptions = {}): Promise<MergeRecord> {
    return this.#catalogs.holding(catalog, (open) => rejectMerge(open, id, options));
  }

  /** Undoes a merge: its tools are served again as they were put. @throws Problem merge-conflict when it is not approved */
  undo(catalog: string, id: string, options: ChangeOptions = {}): Promise<MergeRecord> {
    return this.#catalogs.holding(catalog, (open) => undoMerge(open, id, options));
  }
}

type Ordered = Pick<MergeRecord, 'confidence' | 'id'>;

function inOrder(a: Ordered, b: Ordered): number {
  return b.confidence - a.confidence || (a.id < b.id ? -1 : Number(a.id > b.id));
}

/** @throws Problem validation-failed */
function cursorOf(cursor: string): Ordered {
  try {
    const [confidence, id] = JSON.parse(afterOf(cursor));
    if (typeof confidence === 'number' && typeof id === 'string') return { confidence, id };
  } catch {}
  const message = 'has to be the `nextCursor` of the page before';
  throw new Problem('validation-failed', `The cursor ${message}.`, 'Begin again without one.', {
    violations: [{ path: 'cursor', message }],
  });
}

function noChat(): Problem {
  const message = 'no chat model is configured that could judge';
  return new Problem(
    'validation-failed',
    `The judge is "chat", and ${message}.`,
    'Set BANDOLIER_CHAT_URL and BANDOLIER_CHAT_MODEL, or use the judge "rules".',
    { violations: [{ path: 'judge', message }] },
  );
}
