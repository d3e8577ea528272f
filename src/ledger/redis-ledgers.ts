import { randomUUID } from 'node:crypto';
import { CATALOGS_KEY, catalogKey, snapshotsKey } from '../redis/keys.ts';
import type { RedisConnections } from '../redis/redis-connection.ts';
import { available } from '../redis/redis-failures.ts';
import { Script } from '../redis/script.ts';
import { every } from '../scheduling/every.ts';
import type { Position } from './entry.ts';
import {
  type Ledger,
  LedgerCorruptError,
  LedgerErasingError,
  LedgerRemovedError,
  type Ledgers,
  readNewest,
} from './ledger.ts';
import { RedisLedger } from './redis-ledger.ts';
import { LedgerFeed } from './redis-ledger-feed.ts';
import {
  identityKey,
  isRemoved,
  ledgerKeys,
  newIdentity,
  ownedBy,
  removedIdentity,
} from './redis-ledger-identity.ts';

/** The subject of messages. */
const WHAT = 'The ledgers';
/** Far more than lie between two snapshots: if nothing is trimmed any more, Redis must not fill up. */
const MOST_ENTRIES = 1_000_000;

/** A process that has not looked for so long will not come back. */
const KEEP_REMOVED_MS = 30 * 24 * 60 * 60 * 1000;
/** Renewed while what belongs to a removed ledger is being erased: afterwards the process that did it has died. */
const ERASING_SECONDS = 60;
const ERASING = 'erasing';
const LOST = 'lost';

/** KEYS stream, head, identity, mark of an erasure that is under way, snapshots. ARGV new identity, identity of one that was removed, how those of this epoch begin. */
const FIND = `
local known = redis.call('GET', KEYS[3])
local isThere = known and known ~= ARGV[2] and string.sub(known, 1, #ARGV[3]) == ARGV[3]
if not known and redis.call('EXISTS', KEYS[1], KEYS[2]) == 0 and redis.call('EXISTS', KEYS[5]) == 1 then
  return '${LOST}'
end
`;

/** Returns the identity, '' for none. A ledger of an epoch that is over is taken over with what it holds. */
const OPEN_EXISTING = `
${FIND}
if isThere then return known end
if known and string.sub(known, -8) == '/removed' then return '' end
if not known and redis.call('EXISTS', KEYS[1], KEYS[2]) == 0 then return '' end
redis.call('SET', KEYS[3], ARGV[1])
return ARGV[1]
`;

/** The same, but one is made if there is none. */
const OPEN = `
${FIND}
if isThere then return known end
if redis.call('EXISTS', KEYS[4]) == 1 then return '${ERASING}' end
redis.call('SET', KEYS[3], ARGV[1])
return ARGV[1]
`;

/** ARGV as above, position of the entry before the first. Returns '' when there is a ledger. */
const BEGIN = `
${FIND}
if isThere then return '' end
if redis.call('EXISTS', KEYS[4]) == 1 then return '${ERASING}' end
redis.call('SET', KEYS[3], ARGV[1])
redis.call('SET', KEYS[2], ARGV[4])
return ARGV[1]
`;

const SCRIPTS = { existing: new Script(OPEN_EXISTING), open: new Script(OPEN), begin: new Script(BEGIN) };

/**
 * KEYS as above. ARGV identity of one that was removed, how long that stays on record (ms), identity that the ledger has
 * to have or none at all, mark of this erasure, seconds. Returns 0 when it is another ledger.
 */
const REMOVE = new Script(`
local known = redis.call('GET', KEYS[3])
if known and known ~= ARGV[3] then return 0 end
redis.call('UNLINK', KEYS[1], KEYS[2])
redis.call('SET', KEYS[3], ARGV[1], 'PX', ARGV[2])
redis.call('SET', KEYS[4], ARGV[4], 'EX', ARGV[5])
return 1
`);

/** KEYS as above. ARGV mark of this erasure, seconds. Answers 1 if the ledger was removed and nobody erases the rest now. */
const RESUME = new Script(`
local known = redis.call('GET', KEYS[3])
if not known or string.sub(known, -8) ~= '/removed' then return 0 end
if redis.call('SET', KEYS[4], ARGV[1], 'NX', 'EX', ARGV[2]) then return 1 end
return 0
`);

/** KEYS mark of an erasure. ARGV the mark if it is ours. */
const ERASED = new Script(`
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
`);

/** KEYS mark of an erasure. ARGV the mark if it is ours, seconds. */
const RENEW = new Script(`
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('EXPIRE', KEYS[1], ARGV[2]) end
return 0
`);

/** The ledgers of all catalogs in one Redis. */
export class RedisLedgers implements Ledgers {
  readonly #connections: RedisConnections;
  readonly #mostEntries: number;
  readonly #erasingSeconds: number;
  /** One connection for all that are open. */
  readonly #feed: LedgerFeed;
  readonly #open = new Set<string>();
  /** Of the ledgers that were opened here last. */
  readonly #identities = new Map<string, string>();

  /** @param mostEntries that may come after the last snapshot of a catalog */
  constructor(connections: RedisConnections, mostEntries = MOST_ENTRIES, erasingSeconds = ERASING_SECONDS) {
    this.#erasingSeconds = erasingSeconds;
    this.#connections = connections;
    this.#mostEntries = mostEntries;
    this.#feed = new LedgerFeed(connections);
  }

  async list(): Promise<string[]> {
    const { commands, epoch } = this.#connections;
    return available(WHAT, async () => {
      const names = await commands.smembers(CATALOGS_KEY);
      // The set says where to look; whether a ledger is there says its identity.
      const identities = await Promise.all(names.map((name) => commands.get(identityKey(name))));
      await epoch.verify();
      return names.filter((_, i) => !isRemoved(identities[i])).sort();
    });
  }

  open(catalog: string): Promise<Ledger> {
    return this.#opened(catalog, 'open');
  }

  openExisting(catalog: string): Promise<Ledger> {
    return this.#opened(catalog, 'existing');
  }

  async begin(catalog: string, after: Position): Promise<void> {
    if ((await this.#find('begin', catalog, after)) === '') {
      throw new Error(`Catalog "${catalog}" has a ledger already.`);
    }
  }

  async remove(catalog: string, erase = async (): Promise<void> => {}): Promise<void> {
    if (this.#open.has(catalog)) throw new Error(`The ledger of catalog "${catalog}" is still open.`);
    const { commands, epoch } = this.#connections;
    const mark = randomUUID();
    const isOurs = await available(WHAT, async () => {
      await epoch.verify();
      const { current } = epoch;
      const opened = this.#identities.get(catalog);
      this.#identities.delete(catalog);
      // One of an epoch that is over was taken over under another identity.
      const expected = opened?.startsWith(ownedBy(current))
        ? opened
        : await commands.get(identityKey(catalog));
      if (isRemoved(expected)) return false;
      const args = [removedIdentity(current), KEEP_REMOVED_MS, expected ?? '', mark, this.#erasingSeconds];
      return (await REMOVE.run(commands, keysOf(catalog), args)) === 1;
    });
    if (isOurs) await this.#eraseRest(catalog, mark, erase);
  }

  async finishRemovals(erase: (catalog: string) => Promise<void>): Promise<void> {
    const { commands, epoch } = this.#connections;
    // A name leaves the set when the erasure is done.
    for (const catalog of await available(WHAT, () => commands.smembers(CATALOGS_KEY))) {
      const mark = randomUUID();
      const isOurs = await available(WHAT, async () => {
        await epoch.verify();
        return (await RESUME.run(commands, keysOf(catalog), [mark, this.#erasingSeconds])) === 1;
      });
      if (!isOurs) continue;
      // Another process may have finished it since the names were read: then only the mark is left to be removed.
      const isThere = (await available(WHAT, () => commands.sismember(CATALOGS_KEY, catalog))) === 1;
      await this.#eraseRest(catalog, mark, async () => {
        if (isThere) await erase(catalog);
      });
    }
  }

  /** Erases what belongs to a removed ledger; the mark keeps others from making the catalog anew meanwhile. */
  async #eraseRest(catalog: string, mark: string, erase: () => Promise<void>): Promise<void> {
    const { commands } = this.#connections;
    const renewal = every(
      (this.#erasingSeconds * 1000) / 4,
      () => RENEW.run(commands, [keysOf(catalog)[3]], [mark, this.#erasingSeconds]),
      { onError: () => {} }, // the next renewal may come in time
    );
    await erase().finally(renewal.close);
    await available(WHAT, async () => {
      await commands.srem(CATALOGS_KEY, catalog);
      await ERASED.run(commands, [keysOf(catalog)[3]], [mark]);
    });
  }

  async #opened(catalog: string, how: 'open' | 'existing'): Promise<Ledger> {
    if (this.#open.has(catalog)) throw new Error(`The ledger of catalog "${catalog}" is open already.`);
    this.#open.add(catalog);
    try {
      const identity = await this.#find(how, catalog, 0);
      if (identity === '') throw new LedgerRemovedError(catalog);
      this.#identities.set(catalog, identity);
      const onClose = () => this.#open.delete(catalog);
      const ledger = new RedisLedger(
        this.#connections,
        this.#feed,
        catalog,
        identity,
        this.#mostEntries,
        onClose,
      );
      await readNewest(ledger);
      return ledger;
    } catch (error) {
      this.#open.delete(catalog);
      throw error;
    }
  }

  /** @returns the identity that the ledger has now */
  async #find(how: keyof typeof SCRIPTS, catalog: string, after: Position): Promise<string> {
    const { commands, epoch } = this.#connections;
    const identity = await available(WHAT, async () => {
      await epoch.verify();
      const { current } = epoch;
      const args = [newIdentity(current), removedIdentity(current), ownedBy(current), after];
      const found = String(await SCRIPTS[how].run(commands, keysOf(catalog), args));
      if (!['', LOST, ERASING].includes(found)) await commands.sadd(CATALOGS_KEY, catalog);
      await epoch.verify();
      return found;
    });
    if (identity === LOST) {
      throw new LedgerCorruptError(
        `Redis has lost the ledger of catalog "${catalog}" and has its snapshots still: restore a backup, or delete the catalog.`,
      );
    }
    if (identity === ERASING) throw new LedgerErasingError(catalog);
    return identity;
  }
}

/** Where a ledger lies, the mark of an erasure, and where its snapshots are listed. */
function keysOf(
  catalog: string,
): readonly [...ReturnType<typeof ledgerKeys>, erasing: string, snapshots: string] {
  return [...ledgerKeys(catalog), catalogKey(catalog, 'erasing'), snapshotsKey(catalog)];
}
