import { catalogKey } from '../redis/keys.ts';
import type { RedisConnections } from '../redis/redis-connection.ts';
import type { DecisionLog, DecisionLogs } from './decision-log.ts';
import { RedisDecisionLog, type RedisDecisionLogOptions } from './redis-decision-log.ts';

const REMOVE_BATCH = 500;
const FORGET_EVERY_MS = 10_000;

/** The decision logs of all catalogs in one Redis. */
export class RedisDecisionLogs implements DecisionLogs {
  readonly #connections: RedisConnections;
  readonly #options: RedisDecisionLogOptions;
  readonly #open = new Map<string, RedisDecisionLog>();
  readonly #writeAgain = (): void => {
    for (const log of this.#open.values()) log.writeAgain();
  };

  readonly #timer = setInterval(() => void this.#forgetOld(), FORGET_EVERY_MS).unref();

  constructor(connections: RedisConnections, options: RedisDecisionLogOptions) {
    this.#connections = connections;
    this.#options = options;
    connections.commands.on('ready', this.#writeAgain);
  }

  async open(catalog: string): Promise<DecisionLog> {
    const open = this.#open.get(catalog) ?? new RedisDecisionLog(this.#connections, catalog, this.#options);
    this.#open.set(catalog, open);
    return open;
  }

  async letGo(catalog: string): Promise<void> {
    this.#open.get(catalog)?.drop();
    this.#open.delete(catalog);
  }

  async remove(catalog: string): Promise<void> {
    await this.letGo(catalog);
    const { commands } = this.#connections;
    const order = catalogKey(catalog, 'decisions');
    for (;;) {
      const ids = await commands.zrange(order, 0, `${REMOVE_BATCH - 1}`);
      if (ids.length === 0) break;
      await commands.unlink(...ids.map((id) => catalogKey(catalog, `decision:${id}`)));
      await commands.zrem(order, ...ids);
    }
    await commands.unlink(order);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#connections.commands.off('ready', this.#writeAgain);
    for (const log of this.#open.values()) await log.close();
    this.#open.clear();
  }

  async #forgetOld(): Promise<void> {
    // A Redis that is away is told of elsewhere.
    for (const log of this.#open.values()) await log.forgetOld().catch(() => {});
  }
}
