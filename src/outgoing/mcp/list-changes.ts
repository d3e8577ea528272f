import type { Client } from '@modelcontextprotocol/client';
import type { McpEra } from './mcp-connection.ts';
import { messageOf } from './sdk-errors.ts';

/** A stream of notifications that broke off is opened again after this time, twice as long each time, ms. */
const LISTEN_AGAIN_MS = 1_000;
const LISTEN_AGAIN_MAX_MS = 300_000;

const LISTS = ['tools', 'prompts', 'resources'] as const;
export type List = (typeof LISTS)[number];

/**
 * Changes of a server's lists, as it announces them. Servers of 2025-11-25 do that by themselves; newer ones tell only
 * whoever listens, which is done from the first listener on and resumed after each end of the stream.
 */
export class ListChanges {
  readonly #client: Client;
  readonly #filter: Readonly<Record<string, boolean>>;
  readonly #log: (line: string) => void;
  readonly #listeners = new Set<(list: List) => void>();
  readonly #counts: Record<List, number> = { tools: 0, prompts: 0, resources: 0 };
  #listening = false;
  #listenAgain: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** @param capabilities of the server. */
  constructor(
    client: Client,
    era: McpEra,
    capabilities: Readonly<Record<string, unknown>>,
    log: (line: string) => void,
  ) {
    this.#client = client;
    this.#log = log;
    const announced = LISTS.filter(
      (list) => (capabilities[list] as { listChanged?: boolean } | undefined)?.listChanged === true,
    );
    this.#filter =
      era === '2026-07-28' ? Object.fromEntries(announced.map((list) => [`${list}ListChanged`, true])) : {};
    for (const list of LISTS) {
      client.setNotificationHandler(`notifications/${list}/list_changed`, () => this.#changed(list));
    }
  }

  /** How many changes of a list have been announced so far. */
  count(list: List): number {
    return this.#counts[list];
  }

  /** Calls back at each change. Returns what ends that. */
  onChange(listener: (list: List) => void): () => void {
    this.#listeners.add(listener);
    if (!this.#listening) {
      this.#listening = true;
      void this.#listen(LISTEN_AGAIN_MS);
    }
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#listenAgain);
  }

  #changed(list: List): void {
    this.#counts[list]++;
    for (const listener of this.#listeners) listener(list);
  }

  async #listen(againMs: number): Promise<void> {
    if (Object.keys(this.#filter).length === 0 || this.#isClosed) return;
    const startedAt = performance.now();
    try {
      const subscription = await this.#client.listen(this.#filter);
      await subscription.closed;
    } catch (error) {
      this.#log(`the server does not tell what changes: ${messageOf(error)}`);
    }
    if (this.#isClosed) return;
    const lasted = performance.now() - startedAt > LISTEN_AGAIN_MAX_MS;
    const next = lasted ? LISTEN_AGAIN_MS : Math.min(2 * againMs, LISTEN_AGAIN_MAX_MS);
    this.#listenAgain = setTimeout(() => {
      // What changed while nobody listened is not known.
      for (const list of LISTS) if (`${list}ListChanged` in this.#filter) this.#changed(list);
      void this.#listen(next);
    }, againMs);
    this.#listenAgain.unref();
  }
}
