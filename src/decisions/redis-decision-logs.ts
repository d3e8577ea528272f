import { identityKey } from '../ledger/redis-ledger-identity.ts';
import { catalogKey } from '../redis/keys.ts';
import type { RedisConnections } from '../redis/redis-connection.ts';
import { Script } from '../redis/script.ts';
import { every } from '../scheduling/every.ts';
import type { DecisionLog, DecisionLogs } from './decision-log.ts';
import { RedisDecisionLog, type RedisDecisionLogOptions } from './redis-decision-log.ts';

const REMOVE_BATCH = 500;
const FORGET_EVERY_MS = 10_000;

/**
 * KEYS order of the decisions, identity of the ledger. ARGV how keys of decisions begin, most at once. Answers how many it
 * deleted; none once there is a new catalog of this name, whose decisions these are.
 */
const REMOVE_SOME = new Script(`
local known = redis.call('GET', KEYS[2])
if known and string.sub(known, -8) ~= '/removed' then return 0 end
local ids = redis.call('ZRANGE', KEYS[1], 0, ARGV[2] - 1)
for _, id in ipairs(ids) do
  for task in string.gmatch(redis.call('HGET', ARGV[1] .. id, 't') or '', '%S+') do redis.call('UNLINK', task) end
  redis.call('UNLINK', ARGV[1] .. id)
end
if #ids > 0 then redis.call('ZREM', KEYS[1], unpack(ids)) end
return #ids
`);

/** The decision logs of all catalogs in one Redis. */
export class RedisDecisionLogs implements DecisionLogs {
  readonly isShared = true;
  readonly #connections: RedisConnections;
  readonly #options: RedisDecisionLogOptions;
  readonly #open = new Map<string, RedisDecisionLog>();
  readonly #writeAgain = (): void => {
    for (const log of this.#open.values()) log.writeAgain();
  };

  readonly #forgetting = every(FORGET_EVERY_MS, () => this.#forgetOld(), { onError: () => {} });

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

  /** Opens the log in any case: it writes nothing to Redis until a decision is appended. */
  find(catalog: string): Promise<DecisionLog> {
    return this.open(catalog);
  }

  async release(catalog: string): Promise<void> {
    this.#open.get(catalog)?.drop();
    this.#open.delete(catalog);
  }

  async remove(catalog: string): Promise<void> {
    await this.release(catalog);
    const { commands } = this.#connections;
    const keys = [catalogKey(catalog, 'decisions'), identityKey(catalog)];
    const args = [catalogKey(catalog, 'decision:'), REMOVE_BATCH];
    while (Number(await REMOVE_SOME.run(commands, keys, args)) > 0);
  }

  async close(): Promise<void> {
    await this.#forgetting.close();
    this.#connections.commands.off('ready', this.#writeAgain);
    for (const log of this.#open.values()) await log.close();
    this.#open.clear();
  }

  async #forgetOld(): Promise<void> {
    // A Redis that is away is reported elsewhere.
    for (const log of this.#open.values()) await log.forgetOld().catch(() => {});
  }
}
