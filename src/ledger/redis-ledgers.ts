import { randomUUID } from 'node:crypto';
import { CATALOGS_KEY } from '../redis/keys.ts';
import type { RedisConnections } from '../redis/redis-connection.ts';
import type { Position } from './entry.ts';
import { type Ledger, type Ledgers, LedgerUnavailableError } from './ledger.ts';
import { ledgerKeys, RedisLedger } from './redis-ledger.ts';

/** Far more than lie between two snapshots: nobody trims any more, and Redis must not fill up. */
const MOST_ENTRIES = 1_000_000;

/** The ledgers of all catalogs in one Redis. */
export class RedisLedgers implements Ledgers {
  readonly #connections: RedisConnections;
  readonly #mostEntries: number;
  readonly #open = new Set<string>();

  /** @param mostEntries that one ledger may hold */
  constructor(connections: RedisConnections, mostEntries = MOST_ENTRIES) {
    this.#connections = connections;
    this.#mostEntries = mostEntries;
  }

  async list(): Promise<string[]> {
    return (await available(() => this.#connections.commands.smembers(CATALOGS_KEY))).sort();
  }

  async open(catalog: string): Promise<Ledger> {
    if (this.#open.has(catalog)) throw new Error(`The ledger of catalog "${catalog}" is open already.`);
    this.#open.add(catalog);
    try {
      const identity = await available(() => this.#identityOf(catalog));
      const onClose = () => this.#open.delete(catalog);
      return new RedisLedger(this.#connections, catalog, identity, this.#mostEntries, onClose);
    } catch (error) {
      this.#open.delete(catalog);
      throw error;
    }
  }

  async begin(catalog: string, after: Position): Promise<void> {
    const { commands } = this.#connections;
    const [, head, identity] = ledgerKeys(catalog);
    if ((await available(() => commands.set(identity, randomUUID(), 'NX'))) === null) {
      throw new Error(`Catalog "${catalog}" has a ledger already.`);
    }
    await available(() => commands.set(head, after));
    await available(() => commands.sadd(CATALOGS_KEY, catalog));
  }

  async remove(catalog: string): Promise<void> {
    if (this.#open.has(catalog)) throw new Error(`The ledger of catalog "${catalog}" is still open.`);
    const { commands } = this.#connections;
    await available(() => commands.unlink(...ledgerKeys(catalog)));
    await available(() => commands.srem(CATALOGS_KEY, catalog));
  }

  async #identityOf(catalog: string): Promise<string> {
    const { commands } = this.#connections;
    const [, , key] = ledgerKeys(catalog);
    await commands.set(key, randomUUID(), 'NX');
    const identity = await commands.get(key);
    await commands.sadd(CATALOGS_KEY, catalog);
    return identity ?? '';
  }
}

async function available<T>(command: () => Promise<T>): Promise<T> {
  try {
    return await command();
  } catch (error) {
    throw new LedgerUnavailableError(`The ledgers in Redis cannot be used: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
