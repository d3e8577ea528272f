import { CATALOGS_KEY, catalogKey } from '../redis/keys.ts';
import type { RedisConnections } from '../redis/redis-connection.ts';
import type { Ledger, Ledgers } from './ledger.ts';
import { RedisLedger } from './redis-ledger.ts';

/** The ledgers of all catalogs in one Redis. */
export class RedisLedgers implements Ledgers {
  readonly #connections: RedisConnections;
  readonly #open = new Set<string>();

  constructor(connections: RedisConnections) {
    this.#connections = connections;
  }

  async list(): Promise<string[]> {
    return (await this.#connections.commands.smembers(CATALOGS_KEY)).sort();
  }

  async open(catalog: string): Promise<Ledger> {
    if (this.#open.has(catalog)) throw new Error(`The ledger of catalog "${catalog}" is open already.`);
    this.#open.add(catalog);
    try {
      await this.#connections.commands.sadd(CATALOGS_KEY, catalog);
    } catch (error) {
      this.#open.delete(catalog);
      throw error;
    }
    return new RedisLedger(this.#connections, catalog, () => this.#open.delete(catalog));
  }

  async remove(catalog: string): Promise<void> {
    if (this.#open.has(catalog)) throw new Error(`The ledger of catalog "${catalog}" is still open.`);
    await this.#connections.commands.unlink(
      catalogKey(catalog, 'ledger'),
      catalogKey(catalog, 'ledger-head'),
    );
    await this.#connections.commands.srem(CATALOGS_KEY, catalog);
  }
}
