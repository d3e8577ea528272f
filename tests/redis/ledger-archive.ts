import { setTimeout as wait } from 'node:timers/promises';
import type { Kernels } from '../../bandit/kernels/kernels.ts';
import type { Ledger, PositionedEntry } from '../../src/ledger/ledger.ts';
import { RedisLedgers } from '../../src/ledger/redis-ledgers.ts';
import type { RedisConnections } from '../../src/redis/redis-connection.ts';
import { CatalogState } from '../../src/state/catalog-state.ts';
import { fold } from '../../src/state/fold.ts';
import { type StateDigest, stateDigest } from '../../src/state/snapshot-codec.ts';

/** Keeps every entry of a ledger in Redis, also those that are trimmed there. */
export class LedgerArchive {
  readonly #catalog: string;
  readonly #ledger: Ledger;
  readonly #stop = new AbortController();
  readonly #following: Promise<void>;
  readonly entries: PositionedEntry[] = [];

  private constructor(catalog: string, ledger: Ledger) {
    this.#catalog = catalog;
    this.#ledger = ledger;
    this.#following = this.#follow();
  }

  static async of(catalog: string, connections: RedisConnections): Promise<LedgerArchive> {
    return new LedgerArchive(catalog, await new RedisLedgers(connections).open(catalog));
  }

  /** What a clean fold of everything knows at these positions. */
  digests(positions: readonly number[], kernels: Kernels): Map<number, StateDigest> {
    const state = new CatalogState(this.#catalog, { kernels, derived: false });
    const digests = new Map<number, StateDigest>();
    for (const positioned of this.entries) {
      fold(state, positioned);
      if (positions.includes(state.position)) digests.set(state.position, stateDigest(state));
    }
    state.free();
    return digests;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#following;
    await this.#ledger.close();
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        const position = this.entries.at(-1)?.position ?? 0;
        const found = await this.#ledger.read(position, 500);
        this.entries.push(...found);
        if (found.length === 0) await this.#ledger.wait(position, signal);
      } catch {
        await wait(20); // Redis is away
      }
    }
  }
}
