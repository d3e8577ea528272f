import { Cluster } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RedisContextStore } from '../../src/context/redis-context-store.ts';
import { RedisContextModelStore } from '../../src/context/training/redis-context-model-store.ts';
import { RedisDecisionLogs } from '../../src/decisions/redis-decision-logs.ts';
import { StoreUnavailableError } from '../../src/errors/store-errors.ts';
import { RedisEvaluationStore } from '../../src/evaluation/redis-evaluation-store.ts';
import { LedgerCorruptError, LedgerRemovedError, LedgerTrimmedError } from '../../src/ledger/ledger.ts';
import { RedisLedgers } from '../../src/ledger/redis-ledgers.ts';
import { BullmqJobQueue } from '../../src/queue/bullmq-job-queue.ts';
import { retryDelayMs } from '../../src/queue/job-queue.ts';
import { catalogKey } from '../../src/redis/keys.ts';
import { type RedisClient, RedisConnections } from '../../src/redis/redis-connection.ts';
import { RedisLeases } from '../../src/snapshots/redis-leases.ts';
import { RedisSnapshotStores } from '../../src/snapshots/redis-snapshot-store.ts';
import { snapshotLease } from '../../src/snapshots/snapshot-store.ts';
import { packDocument } from '../../src/storage/packed-document.ts';
import { contextModelStoreContract } from '../contracts/context-model-store.contract.ts';
import { contextStoreContract } from '../contracts/context-store.contract.ts';
import { decisionLogContract } from '../contracts/decision-log.contract.ts';
import { evaluationStoreContract } from '../contracts/evaluation-store.contract.ts';
import { jobQueueContract } from '../contracts/job-queue.contract.ts';
import { leaseContract } from '../contracts/lease.contract.ts';
import { ledgerContract } from '../contracts/ledger.contract.ts';
import { snapshotStoreContract } from '../contracts/snapshot-store.contract.ts';
import { contentOfRedis } from './content-of-redis.ts';
import { type RedisCluster, startCluster } from './redis-cluster.ts';
import { type RedisServer, redisProgram, startRedis } from './redis-server.ts';

describe.skipIf(redisProgram.path === null)(`one Redis${redisProgram.missing ?? ''}`, () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.dispose());

  contracts('Redis', () => server.url);

  it('says in one sentence why Redis cannot be used', async () => {
    await expect(RedisConnections.open('redis://127.0.0.1:1')).rejects.toThrow(
      /127\.0\.0\.1:1 cannot be reached/,
    );
    const guarded = await startRedis(['--requirepass', 'secret']);
    await expect(RedisConnections.open(guarded.url)).rejects.toThrow(/refuses the password/);
    await guarded.dispose();
  });

  it('follows fifty ledgers over one connection, and hears of every entry', async () => {
    const [own, other] = [await RedisConnections.open(server.url), await RedisConnections.open(server.url)];
    const names = Array.from({ length: 50 }, (_, n) => `many-${n}`);
    const [ours, theirs] = [new RedisLedgers(own), new RedisLedgers(other)];
    const clients = async (): Promise<number> =>
      String(await other.commands.call('CLIENT', 'LIST'))
        .trim()
        .split('\n').length;
    const before = await clients();
    const ledgers = await Promise.all(names.map((name) => ours.open(name)));
    const never = new AbortController();
    const woken = ledgers.map((ledger) => ledger.wait(0, never.signal));
    await expect.poll(clients).toBe(before + 1);
    for (const name of names) {
      const ledger = await theirs.open(name);
      await ledger.append([{ kind: 'forget', key: 'forget/1', at: 1, unit: 1 }]);
      await ledger.close();
    }
    await Promise.all(woken);
    await Promise.all(ledgers.map((ledger) => ledger.close()));
    await expect.poll(clients).toBe(before);
    own.close();
    other.close();
  });

  it('takes no catalog for deleted that is on record nowhere as such', async () => {
    const [own, other] = [await RedisConnections.open(server.url), await RedisConnections.open(server.url)];
    const ledger = await new RedisLedgers(own).open('gone');
    await other.commands.del(catalogKey('gone', 'ledger-identity'));
    await expect(ledger.exists()).rejects.toThrow(/lost the ledger of catalog "gone"/);
    await expect(ledger.read(0, 1)).rejects.toThrow(StoreUnavailableError);
    await new RedisLedgers(other).remove('gone');
    expect(await ledger.exists()).toBe(false);
    await (await new RedisLedgers(other).open('gone')).close();
    expect(await ledger.exists()).toBe(false);
    await expect(ledger.read(0, 1)).rejects.toThrow(LedgerRemovedError);
    await ledger.close();
    own.close();
    other.close();
  });

  it('takes a ledger of which only snapshots are left for lost, and makes no new one over them', async () => {
    const connections = await RedisConnections.open(server.url);
    const ledgers = new RedisLedgers(connections);
    await (await ledgers.open('lost')).close();
    const snapshots = await new RedisSnapshotStores(connections).open('lost');
    await snapshots.put({ position: 7, bytes: Buffer.from('seven') }, 1, 3);
    const parts = ['ledger', 'ledger-head', 'ledger-identity'];
    await connections.commands.del(...parts.map((part) => catalogKey('lost', part)));
    expect(await ledgers.list()).toContain('lost');
    for (const open of [() => ledgers.openExisting('lost'), () => ledgers.open('lost')]) {
      await expect(open()).rejects.toThrow(/lost the ledger of catalog "lost" and has its snapshots/);
      await expect(open()).rejects.toThrow(LedgerCorruptError);
    }
    expect(await snapshots.list()).toEqual([7]);
    await ledgers.remove('lost', () => new RedisSnapshotStores(connections).remove('lost'));
    await (await ledgers.open('lost')).close();
    expect(await snapshots.list()).toEqual([]);
    connections.close();
  });

  it('refuses a ledger whose newest entry another version wrote, before anything is written', async () => {
    const connections = await RedisConnections.open(server.url);
    const ledgers = new RedisLedgers(connections);
    await (await ledgers.open('older')).close();
    const bytes = packDocument(1, [3, { kind: 'settings', patch: {} }], []);
    const { commands } = connections;
    await commands.xadd(catalogKey('older', 'ledger'), '1-0', 'e', bytes, 'm', 'batch');
    await commands.set(catalogKey('older', 'ledger-head'), 1);
    for (const again of ['once', 'twice']) {
      await expect(ledgers.open('older'), again).rejects.toThrow('entries of version 3');
    }
    await ledgers.remove('older');
    connections.close();
  });

  it('makes no new catalog while the old one is being erased, however long that takes', async () => {
    const connections = await RedisConnections.open(server.url);
    const ledgers = new RedisLedgers(connections, undefined, 1);
    await (await ledgers.open('slow')).close();
    const erasing = catalogKey('slow', 'erasing');
    await ledgers.remove('slow', async () => {
      // As if the rest of its second had gone by: it is renewed before that is over.
      await connections.commands.pexpire(erasing, 500);
      await expect.poll(() => connections.commands.pttl(erasing), { interval: 20 }).toBeGreaterThan(500);
      await expect(ledgers.open('slow')).rejects.toThrow(StoreUnavailableError);
    });
    await (await ledgers.open('slow')).close();
    connections.close();
  });

  it('takes up an erasure whose process has died, once, and none that is under way or was finished', async () => {
    const connections = await RedisConnections.open(server.url);
    const ledgers = new RedisLedgers(connections);
    await (await ledgers.open('half')).close();
    const erased: string[] = [];
    const finish = () => new RedisLedgers(connections).finishRemovals(async (name) => void erased.push(name));
    const died = ledgers.remove('half', async () => {
      await finish();
      expect(erased).not.toContain('half');
      throw new Error('killed');
    });
    await expect(died).rejects.toThrow('killed');
    await connections.commands.del(catalogKey('half', 'erasing')); // as its expiry does
    await Promise.all([finish(), finish()]);
    await finish();
    expect(erased.filter((name) => name === 'half')).toEqual(['half']);
    await (await ledgers.open('half')).close();
    connections.close();
  });

  it('an erasure that comes late leaves the decisions of a new catalog alone', async () => {
    const connections = await RedisConnections.open(server.url);
    const options = { retainMs: 60_000, now: () => Date.now() };
    const order = catalogKey('again', 'decisions');
    await (await new RedisLedgers(connections).open('again')).close();
    await connections.commands.zadd(order, Date.now(), 'again.1');
    await new RedisDecisionLogs(connections, options).remove('again');
    expect(await connections.commands.zcard(order)).toBe(1);
    connections.close();
  });

  it('tells a follower that what it read last was lost, whatever others read meanwhile', async () => {
    const connections = await RedisConnections.open(server.url);
    const ledger = await new RedisLedgers(connections).open('followed');
    const entry = (n: number) => ({ kind: 'forget' as const, key: `forget/${n}`, at: 1, unit: n });
    await ledger.append([1, 2, 3].map(entry));
    const replica = ledger.follower();
    expect(await replica.read(0, 10)).toHaveLength(3);
    // As an evaluation, and a version that is brought back, read through the same ledger.
    expect(await ledger.read(0, 2)).toHaveLength(2);
    expect(await ledger.follower().read(0, 1)).toHaveLength(1);
    const [stream, head] = ['ledger', 'ledger-head'].map((part) => catalogKey('followed', part));
    await connections.commands.xdel(stream, '3-0');
    await connections.commands.set(head, 2);
    // A stream that was there before the failover takes this id again.
    await connections.commands.call('XSETID', stream, '2-0');
    await ledger.append([entry(4)]);
    await expect(replica.read(3, 10)).rejects.toThrow(LedgerTrimmedError);
    expect(await ledger.follower().read(2, 10)).toMatchObject([{ position: 3, entry: { key: 'forget/4' } }]);
    await ledger.close();
    connections.close();
  });

  it('says what should be set otherwise', async () => {
    const careless = await startRedis(['--maxmemory-policy', 'allkeys-lru']);
    const connections = await RedisConnections.open(careless.url);
    expect(await connections.advice()).toEqual([
      expect.stringContaining('allkeys-lru'),
      expect.stringContaining('appendonly'),
    ]);
    await connections.commands.config('SET', 'maxmemory-policy', 'noeviction');
    await connections.commands.config('SET', 'appendonly', 'yes');
    expect(await connections.advice()).toEqual([]);
    connections.close();
    await careless.dispose();
  });
});

describe.skipIf(redisProgram.path === null)(`a cluster of three${redisProgram.missing ?? ''}`, () => {
  let cluster: RedisCluster;
  beforeAll(async () => {
    cluster = await startCluster();
  });
  afterAll(() => cluster.dispose());

  contracts('Redis Cluster', () => cluster.url);
});

/** What every port promises. */
function contracts(name: string, url: () => string): void {
  let admin: RedisConnections;
  beforeAll(async () => {
    admin = await RedisConnections.open(url());
  });
  afterAll(() => admin.close());

  /** Connections of one test; everything that Redis holds goes with them. */
  async function emptyPlace() {
    await empty(admin.commands);
    const opened: RedisConnections[] = [];
    return {
      connections: async () => {
        const connections = await RedisConnections.open(url());
        opened.push(connections);
        return connections;
      },
      dispose: async () => {
        for (const connections of opened) connections.close();
      },
    };
  }

  ledgerContract(`${name}`, async () => {
    const { connections, dispose } = await emptyPlace();
    return {
      connect: async () => new RedisLedgers(await connections()),
      disconnect: async () => {},
      dispose,
    };
  });

  leaseContract(`${name}`, async () => {
    const { connections, dispose } = await emptyPlace();
    const leaseMs = 400;
    return {
      connect: async () => new RedisLeases(await connections(), leaseMs),
      holdAndDie: async (name) => {
        const dying = await connections();
        const lease = await new RedisLeases(dying, leaseMs).acquire(name);
        dying.close();
        await expect
          .poll(() => admin.commands.exists(catalogKey(name.replace('snapshots-', ''), 'lease')), {
            timeout: 5_000,
          })
          .toBe(0);
        return { fence: lease!.fence };
      },
      dispose,
    };
  });

  snapshotStoreContract(`${name}`, async () => {
    const { connections, dispose } = await emptyPlace();
    const shared = await connections();
    const leases = new RedisLeases(shared);
    // Snapshots are written beside the ledger that they were made from.
    for (const catalog of ['default', 'other']) await new RedisLedgers(shared).open(catalog);
    return {
      connect: async () => new RedisSnapshotStores(await connections()),
      grantLease: async (catalog) => {
        const lease = await leases.acquire(snapshotLease(catalog));
        await lease!.release();
        return lease!.fence;
      },
      dispose,
    };
  });

  decisionLogContract(`${name}`, async (retention) => {
    const { connections, dispose } = await emptyPlace();
    const retainMs = retention === 'seconds' ? 3_000 : 3_600_000;
    const now = () => Date.now();
    return {
      connect: async () => new RedisDecisionLogs(await connections(), { retainMs, now }),
      retainMs,
      now,
      advance: async (ms) => {
        const until = Date.now() + ms;
        await expect.poll(() => Date.now(), { timeout: ms + 5_000, interval: 1 }).toBeGreaterThan(until);
      },
      dispose,
    };
  });

  evaluationStoreContract(`${name}`, async () => {
    const { connections, dispose } = await emptyPlace();
    return { connect: async () => new RedisEvaluationStore(await connections()), dispose };
  });

  contextModelStoreContract(`${name}`, async () => {
    const { connections, dispose } = await emptyPlace();
    return { connect: async () => new RedisContextModelStore(await connections()), dispose };
  });

  contextStoreContract(`${name}`, async () => {
    const { connections, dispose } = await emptyPlace();
    return {
      connect: async () => new RedisContextStore(await connections()),
      content: async () => contentOfRedis((await connections()).commands),
      dispose,
    };
  });

  jobQueueContract(`BullMQ on ${name}`, async () => {
    const { connections, dispose } = await emptyPlace();
    const secondMs = 20;
    return {
      connect: async (limits) =>
        new BullmqJobQueue(await connections(), {
          ...limits,
          retryDelayMs: (failures) => (retryDelayMs(failures) / 1000) * secondMs,
        }),
      secondMs,
      now: () => Date.now(),
      until: (condition) => expect.poll(condition, { timeout: 30_000, interval: 5 }).toBe(true),
      dispose,
    };
  });
}

/** Forgets everything. */
async function empty(client: RedisClient): Promise<void> {
  const nodes = client instanceof Cluster ? client.nodes('master') : [client];
  await Promise.all(nodes.map((node) => node.flushall()));
}
