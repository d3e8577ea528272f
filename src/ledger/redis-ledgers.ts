import { CATALOGS_KEY } from '../redis/keys.ts';
import type { RedisConnections } from '../redis/redis-connection.ts';
import { Script } from '../redis/script.ts';
import type { Position } from './entry.ts';
import { type Ledger, type Ledgers, LedgerUnavailableError } from './ledger.ts';
import { RedisLedger } from './redis-ledger.ts';
import { LedgerFeed } from './redis-ledger-feed.ts';
import { ledgerKeys, newIdentity, ownedBy, removedIdentity } from './redis-ledger-identity.ts';

/** Far more than lie between two snapshots: nobody trims any more, and Redis must not fill up. */
const MOST_ENTRIES = 1_000_000;

/** A process that has not looked for so long will not come back. */
const KEEP_REMOVED_MS = 30 * 24 * 60 * 60 * 1000;

/** KEYS stream, head, identity. ARGV new identity, identity of one that was removed, how those of this epoch begin. */
const FIND = `
local known = redis.call('GET', KEYS[3])
local isThere = known and known ~= ARGV[2] and string.sub(known, 1, #ARGV[3]) == ARGV[3]
`;

/** Answers the identity. A ledger of an epoch that is over is taken over with what it holds. */
const OPEN = new Script(`
${FIND}
if isThere then return known end
redis.call('SET', KEYS[3], ARGV[1])
return ARGV[1]
`);

/** ARGV as above, position of the entry before the first. Answers '' when there is a ledger. */
const BEGIN = new Script(`
${FIND}
if isThere then return '' end
redis.call('SET', KEYS[3], ARGV[1])
redis.call('SET', KEYS[2], ARGV[4])
return ARGV[1]
`);

/** KEYS as above. ARGV identity of one that was removed, how long that stays on record; ms. */
const REMOVE = new Script(`
redis.call('UNLINK', KEYS[1], KEYS[2])
redis.call('SET', KEYS[3], ARGV[1], 'PX', ARGV[2])
return 1
`);

/** The ledgers of all catalogs in one Redis. */
export class RedisLedgers implements Ledgers {
  readonly #connections: RedisConnections;
  readonly #mostEntries: number;
  /** One connection for all that are open. */
  readonly #feed: LedgerFeed;
  readonly #open = new Set<string>();

  /** @param mostEntries that may come after the last snapshot of a catalog */
  constructor(connections: RedisConnections, mostEntries = MOST_ENTRIES) {
    this.#connections = connections;
    this.#mostEntries = mostEntries;
    this.#feed = new LedgerFeed(connections);
  }

  async list(): Promise<string[]> {
    const { commands, epoch } = this.#connections;
    return available(async () => {
      const names = await commands.smembers(CATALOGS_KEY);
      await epoch.verify();
      return names.sort();
    });
  }

  async open(catalog: string): Promise<Ledger> {
    if (this.#open.has(catalog)) throw new Error(`The ledger of catalog "${catalog}" is open already.`);
    this.#open.add(catalog);
    try {
      const identity = await this.#create(OPEN, catalog, 0);
      const onClose = () => this.#open.delete(catalog);
      return new RedisLedger(this.#connections, this.#feed, catalog, identity, this.#mostEntries, onClose);
    } catch (error) {
      this.#open.delete(catalog);
      throw error;
    }
  }

  async begin(catalog: string, after: Position): Promise<void> {
    if ((await this.#create(BEGIN, catalog, after)) === '') {
      throw new Error(`Catalog "${catalog}" has a ledger already.`);
    }
  }

  async remove(catalog: string): Promise<void> {
    if (this.#open.has(catalog)) throw new Error(`The ledger of catalog "${catalog}" is still open.`);
    const { commands, epoch } = this.#connections;
    await available(async () => {
      await epoch.verify();
      const args = [removedIdentity(epoch.current), KEEP_REMOVED_MS];
      await REMOVE.run(commands, ledgerKeys(catalog), args);
      await commands.srem(CATALOGS_KEY, catalog);
    });
  }

  /** @returns the identity that the ledger has now */
  #create(script: Script, catalog: string, after: Position): Promise<string> {
    const { commands, epoch } = this.#connections;
    return available(async () => {
      await epoch.verify();
      const { current } = epoch;
      const args = [newIdentity(current), removedIdentity(current), ownedBy(current), after];
      const identity = String(await script.run(commands, ledgerKeys(catalog), args));
      await commands.sadd(CATALOGS_KEY, catalog);
      await epoch.verify();
      return identity;
    });
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
