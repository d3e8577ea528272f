import {
  type CallToolResult,
  isInputRequiredResult,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { Catalog } from '../catalog/catalog.ts';
import { pinnedNow } from '../catalog/pins.ts';
import { CallSignals } from '../gateway/call-signals.ts';
import type { Tasks } from '../rewards/tasks.ts';
import { every } from '../scheduling/every.ts';
import { type Caller, Callers, type Whereabouts } from './callers.ts';
import { FirstReads, type KnownSources } from './first-reads.ts';
import { type CallServices, FrontCalls } from './front-calls.ts';
import { type FrontTools, frontTools } from './front-tools.ts';
import { MergedCalls } from './merged-calls.ts';
import { PASSED_ON, passOn } from './pass-on.ts';
import { TaskReports } from './task-reports.ts';

export interface FrontParts extends CallServices {
  readonly tasks: Pick<Tasks, 'end'>;
  readonly sources: KnownSources;
  /** Of this program. */
  readonly version: string;
  /** ms since the epoch. */
  now(): number;
  onError(message: string, error: unknown): void;
}

/** How long clients may use a list before they ask again: those that opened no subscription hear of changes this late. */
const LIST_TTL_MS = 60_000;

/** How often it is looked for tasks that have ended. */
const SWEEP_MS = 5_000;

/** What a client reads about the whole server. */
const INSTRUCTIONS =
  'Many more tools are at hand than are listed. When none of the listed ones does what is wanted, ask find_tools with the job in plain words, then call_tool.';

/** Answers clients of the Model Context Protocol: four tools in front of all the tools of a catalog. */
export class McpFront {
  readonly callers: Callers;
  readonly #parts: FrontParts;
  readonly #reports: TaskReports;
  readonly #calls: FrontCalls;
  readonly #firstReads: FirstReads;
  readonly #sweeps: { close(): Promise<void> };
  readonly #lists = new WeakMap<Catalog, { readonly key: string; readonly tools: FrontTools }>();

  constructor(parts: FrontParts) {
    this.#parts = parts;
    const { now, onError } = parts;
    this.#reports = new TaskReports({ ...parts, signals: new CallSignals(now) });
    this.callers = new Callers(now, (task) => this.#reports.ended(task));
    this.#firstReads = new FirstReads(parts.sources);
    this.#calls = new FrontCalls({
      firstReads: this.#firstReads,
      ...parts,
      callers: this.callers,
      reports: this.#reports,
      merged: new MergedCalls(),
      toolsOf: (catalog) => this.toolsOf(catalog),
    });
    this.#sweeps = every(SWEEP_MS, async () => this.#sweep(), {
      onError: (error) => onError('tasks that have ended could not be reported', error),
    });
  }

  /** What calls have shown is reported before this settles. */
  async close(): Promise<void> {
    await this.#sweeps.close();
    for (const task of this.callers.all()) this.#reports.leave(task);
    await this.#reports.idle();
  }

  #sweep(): void {
    this.callers.sweep();
    this.#reports.due();
  }

  /**
   * Returns a server for one request or one connection.
   * @param originOf who sends a request, and where the user is
   */
  server(
    catalog: string,
    originOf: (context: ServerContext) => { readonly caller: Caller; readonly where: Whereabouts },
  ): Server {
    const { version } = this.#parts;
    const server = new Server(
      { name: 'bandolier', title: 'Bandolier', version },
      {
        capabilities: { tools: { listChanged: true }, ...PASSED_ON },
        instructions: INSTRUCTIONS,
        cacheHints: {
          'tools/list': { ttlMs: LIST_TTL_MS, cacheScope: 'private' },
          'server/discover': { ttlMs: LIST_TTL_MS, cacheScope: 'private' },
        },
      },
    );
    server.setRequestHandler('tools/list', async () => {
      await this.#firstReads.wait(catalog);
      return { tools: [...this.toolsOf(catalog).list] };
    });
    server.setRequestHandler('tools/call', async ({ params }, context) => {
      const { caller, where } = originOf(context);
      const task = this.callers.taskOf(caller);
      const answer = () => this.#calls.answer({ catalog, task, where, context, params });
      return (await this.callers.during(task, answer, isInputRequiredResult)) as CallToolResult;
    });
    passOn(
      server,
      () => this.#parts.servers.of(catalog).offers,
      (context) => originOf(context).caller.sessionId,
    );
    return server;
  }

  isServed(catalog: string): boolean {
    return this.#parts.catalogs.find(catalog) !== undefined;
  }

  /** Returns what clients of a catalog list; the same object until the catalog changes. @throws Problem catalog-not-found */
  toolsOf(name: string): FrontTools {
    const catalog = this.#parts.catalogs.get(name);
    const { state } = catalog;
    // Pins end by themselves.
    const key = JSON.stringify([
      state.revision,
      state.merges.revision,
      pinnedNow(state.settings.pins, catalog.now(), null),
    ]);
    const known = this.#lists.get(catalog);
    if (known?.key === key) return known.tools;
    const tools = frontTools(catalog, this.#parts.servers);
    this.#lists.set(catalog, { key, tools });
    return tools;
  }
}
