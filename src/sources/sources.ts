import { randomUUID } from 'node:crypto';
import type { Catalog } from '../catalog/catalog.ts';
import type { Catalogs } from '../catalog/catalogs.ts';
import type { ToolChanges } from '../catalog/change-tools.ts';
import { getTool } from '../catalog/tools.ts';
import { Problem } from '../errors/problem.ts';
import type { SourceChange, SourceDefinition, SourceKind, SyncReport } from '../ledger/source-definition.ts';
import { API_SOURCE } from '../ledger/tool-definition.ts';
import type { JobQueue } from '../queue/job-queue.ts';
import { MAX_SOURCES } from '../state/fold-sources.ts';
import type { HeldTool, SourceRecord } from '../state/source-table.ts';
import { approveHeld } from './apply-sync.ts';
import { type DefinitionRules, refuseDefinition } from './check-definition.ts';
import { syncJobOf } from './run-sync.ts';

/** A source as users see it; times are ISO. */
export interface SourceView {
  readonly name: string;
  readonly kind: SourceKind;
  /** `waiting`: it was not read yet by this definition; `ok`, `error`: how the newest sync went. */
  readonly status: 'waiting' | 'ok' | 'error';
  readonly tools: number;
  /** Definitions that wait for approval. */
  readonly held: number;
  /** The newest sync that succeeded. */
  readonly lastSync: string | null;
  /** The newest one by this definition, whatever came of it. */
  readonly lastAttempt: string | null;
  /** Null: when somebody asks for it. */
  readonly nextSync: string | null;
  readonly error?: string;
  /** How many tools the newest sync that succeeded could not put. */
  readonly leftOutCount: number;
  readonly definition: SourceDefinition;
}

/** With what is not shown in lists. */
export interface WholeSourceView extends SourceView {
  readonly leftOut: SyncReport['leftOut'];
  readonly heldTools: readonly HeldTool[];
}

/** A source whose tools are not known, since it was never read with success. */
export interface UnreadSource {
  readonly name: string;
  /** Why the newest attempt failed; null: none has ended. */
  readonly error: string | null;
}

export interface SourcesParts {
  readonly queue: Pick<JobQueue, 'add'>;
  readonly rules: DefinitionRules;
}

/** How long `sync` waits for the sync to end. */
const SYNC_WAIT_MS = 150_000;
/** The job is added again so often: one that was just ending when it was asked for began too early. */
const ASK_EVERY_MS = 250;

/** The sources of catalogs. Everything here throws Problem catalog-not-found; what takes the name of a source, source-not-found. */
export class Sources {
  readonly #catalogs: Catalogs;
  readonly #parts: SourcesParts;
  /** When the newest refresh was asked for that is not over, by catalog and name. */
  readonly #asked = new Map<string, number>();

  constructor(catalogs: Catalogs, parts: SourcesParts) {
    this.#catalogs = catalogs;
    this.#parts = parts;
  }

  /**
   * Defines a source, for the first time or anew, and has it read soon: until then its status is `waiting`. The same
   * definition again changes nothing.
   * @param trusted the operator's own configuration says so: commands, paths and all variables are allowed
   * @throws Problem validation-failed
   */
  async put(
    catalog: string,
    name: string,
    definition: SourceDefinition,
    { trusted = false, actor }: { readonly trusted?: boolean; readonly actor?: string } = {},
  ): Promise<{ readonly source: SourceView; readonly added: boolean }> {
    if (name === API_SOURCE) {
      throw new Problem(
        'validation-failed',
        `"${API_SOURCE}" is the source of tools that are put over the API.`,
        'Choose another name.',
      );
    }
    if (!trusted) refuseDefinition(definition, this.#parts.rules);
    return this.#catalogs.holding(catalog, async (open) => {
      const before = open.state.sources.get(name)?.generation;
      const outcome = await submit(open, name, { action: 'put', definition }, actor);
      if (outcome.kind === 'source-refused') {
        throw new Problem(
          'validation-failed',
          `Catalog "${catalog}" has ${MAX_SOURCES} sources, and no catalog has more.`,
          'Remove one first, or put this one into another catalog.',
        );
      }
      const record = recordOf(open, name);
      const source = viewOf(open, record);
      if (record.generation !== before) await this.#parts.queue.add([syncJobOf(catalog, name)]);
      return { source, added: outcome.kind === 'source' && outcome.added };
    });
  }

  /** By name. */
  list(catalog: string): SourceView[] {
    const open = this.#catalogs.get(catalog);
    const counts = new Map<string, number>();
    for (const { source } of open.state.tools.live()) counts.set(source, (counts.get(source) ?? 0) + 1);
    const records = [...open.state.sources.all()].sort((a, b) => (a.name < b.name ? -1 : 1));
    return records.map((record) => viewOf(open, record, counts.get(record.name) ?? 0));
  }

  unread(catalog: string): UnreadSource[] {
    const records = [...this.#catalogs.get(catalog).state.sources.all()];
    return records.flatMap(({ name, error, syncedAt }) => (syncedAt === null ? [{ name, error }] : []));
  }

  /** Resolves when the first attempt to read a source has ended, well or not, or when `giveUp` aborts. */
  async firstAttempt(catalog: string, name: string, giveUp: AbortSignal): Promise<void> {
    const open = this.#catalogs.get(catalog);
    while (!giveUp.aborted && open.state.sources.get(name)?.attempt === null) {
      await open.replica.reached(open.state.position + 1, giveUp);
    }
  }

  get(catalog: string, name: string): WholeSourceView {
    const open = this.#catalogs.get(catalog);
    const record = recordOf(open, name);
    const { leftOut } = record;
    const heldTools = [...open.state.sources.held(name).values()];
    return { ...viewOf(open, record), leftOut, heldTools };
  }

  /** Removes a source with its tools; with `keepTools` they stay, as if they had been put over the API. */
  async remove(catalog: string, name: string, keepTools: boolean, actor?: string): Promise<void> {
    await this.#catalogs.holding(catalog, async (open) => {
      recordOf(open, name);
      await submit(open, name, { action: 'remove', keepTools }, actor);
    });
  }

  /**
   * Reads a source now, and returns it when that has ended, well or not. What was changed there before the call is in it.
   * @throws Problem unavailable when it takes longer than a request may
   */
  sync(catalog: string, name: string, signal?: AbortSignal): Promise<SourceView> {
    return this.#catalogs.holding(catalog, async (open) => {
      recordOf(open, name);
      const asked = open.now();
      const giveUp = AbortSignal.timeout(SYNC_WAIT_MS);
      const over = AbortSignal.any([giveUp, open.closed, ...(signal === undefined ? [] : [signal])]);
      const isRead = await this.#read(open, name, () => asked, over);
      const record = recordOf(open, name);
      if (!isRead) throw giveUp.aborted ? tooLong(name) : over.reason;
      return viewOf(open, record);
    });
  }

  /**
   * Reads a source, such as when its server says that its list changed; settles when that has ended. One that is being read
   * is read again, since its list may have changed after it was. Unknown ones are none of its business.
   */
  async refresh(catalog: string, name: string): Promise<void> {
    const open = this.#catalogs.find(catalog);
    if (open === undefined) return;
    const key = JSON.stringify([catalog, name]);
    const isAsked = this.#asked.has(key);
    this.#asked.set(key, open.now());
    if (isAsked) return;
    try {
      await this.#read(open, name, () => this.#asked.get(key)!, open.closed);
    } finally {
      this.#asked.delete(key);
    }
  }

  /**
   * Has a source read, and returns whether an attempt that began after `asked` has ended, well or not. If not, the source was
   * removed, or `over` aborted.
   */
  async #read(open: Catalog, name: string, asked: () => number, over: AbortSignal): Promise<boolean> {
    for (;;) {
      const record = open.state.sources.get(name);
      if (record === undefined) return false;
      if (record.attempt !== null && record.attempt.startedAt >= asked()) return true;
      if (over.aborted) return false;
      await this.#parts.queue.add([syncJobOf(open.name, name)]);
      const next = AbortSignal.any([over, AbortSignal.timeout(ASK_EVERY_MS)]);
      await open.replica.reached(open.state.position + 1, next);
    }
  }

  /** Serves definitions that were held back: those of these tools, or all. @throws Problem tool-not-found for one that is not held */
  approve(catalog: string, name: string, tools?: readonly string[], actor?: string): Promise<ToolChanges> {
    return this.#catalogs.holding(catalog, (open) => {
      recordOf(open, name);
      return approveHeld(open, name, tools, actor);
    });
  }

  /**
   * Returns the MCP server that a tool is called at, and its name there; null: it is of no server that is known.
   * @param toolName its name or its provider name @throws Problem tool-not-found
   */
  targetOf(
    catalog: string,
    toolName: string,
  ): { readonly source: string; readonly nameThere: string } | null {
    const open = this.#catalogs.get(catalog);
    const { source, nameThere, tool } = getTool(open, toolName);
    if (open.state.sources.get(source)?.definition.kind !== 'mcp') return null;
    return { source, nameThere: nameThere ?? tool.name };
  }
}

function submit({ replica, now }: Catalog, name: string, change: SourceChange, actor?: string) {
  return replica.submit({
    ...{ kind: 'source', key: `source/${randomUUID()}`, at: now(), name, change },
    ...(actor !== undefined && { actor }),
  });
}

function recordOf({ name: catalog, state }: Catalog, name: string): SourceRecord {
  const record = state.sources.get(name);
  if (record !== undefined) return record;
  throw new Problem(
    'source-not-found',
    `Catalog "${catalog}" has no source "${name}".`,
    `GET /v1/catalogs/${catalog}/sources lists those that there are.`,
  );
}

function tooLong(name: string): Problem {
  return new Problem(
    'unavailable',
    `Source "${name}" is still being read.`,
    'GET it in a while: `lastAttempt` says when that ended.',
    { retryAfterSeconds: 10 },
  );
}

function viewOf({ state }: Catalog, record: SourceRecord, tools = countOf(state, record.name)): SourceView {
  const { name, definition, attempt, error, syncedAt, nextAt, leftOutCount } = record;
  return {
    name,
    kind: definition.kind,
    status: attempt === null ? 'waiting' : error === null ? 'ok' : 'error',
    tools,
    held: state.sources.held(name).size,
    lastSync: iso(syncedAt),
    lastAttempt: iso(attempt?.at ?? null),
    nextSync: iso(nextAt),
    ...(error !== null && { error }),
    leftOutCount,
    definition,
  };
}

function countOf({ tools }: Catalog['state'], name: string): number {
  let count = 0;
  for (const { source } of tools.live()) if (source === name) count++;
  return count;
}

function iso(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}
