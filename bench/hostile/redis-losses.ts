/**
 * What becomes of accepted rewards when Redis is lost, and how many connections does a router hold? Two routers and a
 * worker over one Redis; agents report while it happens, and never send anything again.
 *
 *   npm run build && npx tsx bench/hostile/redis-losses.ts [--rewards 2000]
 *
 * Half of the rewards are accepted and learned before the backup (where one is made), half after it. `known` is what the
 * router that accepted them still knows right after the loss, `learned` what it knows in the end. What was learned after
 * a backup is not in it: that part cannot come back.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { RedisConnections } from '../../src/redis/redis-connection.ts';
import { type RunningService, temporaryFolder, until } from '../../tests/e2e/running-service.ts';
import { Shop } from '../../tests/e2e/shop.ts';
import { runProgramWith } from '../../tests/faults/program.ts';
import { Deployment } from '../../tests/redis/deployment.ts';
import { openRedisDoor } from '../../tests/redis/redis-door.ts';
import { redisProgram, startRedis } from '../../tests/redis/redis-server.ts';
import { measuredOn } from '../measured-on.ts';

const { values: options } = parseArgs({ options: { rewards: { type: 'string', default: '2000' } } });
const HALF = Number(options.rewards) / 2;
const BATCH = 10;
const CATALOGS = 50;
const TIMEOUT_MS = 15_000;

interface Loss {
  readonly name: string;
  readonly redis: readonly string[];
  readonly lose: (world: World) => Promise<void>;
  readonly mend: (world: World) => Promise<void>;
}

const restore = async ({ door, backup }: World): Promise<void> => {
  const { code, output } = await runProgramWith({ REDIS_URL: door.url }, 'restore', backup.path);
  if (code !== 0) console.log(`  restore was refused: ${output.trim()}`);
};
const AOF = ['--appendonly', 'yes'];

const LOSSES: readonly Loss[] = [
  {
    name: 'killed, with an append-only file',
    redis: AOF,
    lose: ({ redis }) => redis.stop('SIGKILL'),
    mend: ({ redis }) => redis.start(),
  },
  {
    name: 'killed, back as it was at the backup',
    redis: [],
    lose: ({ redis }) => redis.stop('SIGKILL'),
    mend: ({ redis }) => redis.start(),
  },
  {
    name: 'emptied, then a restore beside the routers',
    redis: AOF,
    lose: async ({ admin }) => void (await admin.commands.flushall()),
    mend: restore,
  },
  {
    name: 'restarted without data, then a restore',
    redis: [],
    lose: async ({ redis, admin }) => {
      await admin.commands.flushall();
      await admin.commands.call('SAVE');
      await redis.stop('SIGKILL');
      await redis.start();
    },
    mend: restore,
  },
  {
    name: 'another deployment in its place, then back',
    redis: AOF,
    lose: async ({ door, other }) => door.leadTo(other.port),
    mend: async ({ door, redis }) => door.leadTo(redis.port),
  },
];

type World = Awaited<ReturnType<typeof startWorld>>;

async function startWorld(settings: readonly string[]) {
  const redis = await startRedis(settings);
  const other = await startRedis();
  const strangers = new Deployment(other.url);
  await Shop.open(await strangers.startRouter(), 'shop');
  const door = await openRedisDoor(redis.port);
  const deployment = new Deployment(door.url);
  const router = await deployment.startRouter();
  await deployment.startRouter();
  const worker = await deployment.startWorker();
  const admin = await RedisConnections.open(redis.url);
  const backup = temporaryFolder();
  const dispose = async (): Promise<void> => {
    admin.close();
    await deployment.dispose();
    await strangers.dispose();
    await door.dispose();
    await redis.dispose();
    await other.dispose();
    backup.remove();
  };
  return { redis, other, door, deployment, router, worker, admin, backup, dispose };
}

async function run(loss: Loss) {
  const world = await startWorld(loss.redis);
  const { router, worker, door, admin, backup } = world;
  const shop = await Shop.open(router, 'shop', { rewards: { windowSeconds: 86_400 } });
  const decisions: string[] = [];
  for (let n = 0; n < 100; n++) decisions.push((await shop.route(`question ${n}`)).decisionId);
  const books = { accepted: 0, refused: 0, sent: 0 };
  const report = async (): Promise<void> => {
    const rewards = Array.from({ length: BATCH }, () => ({
      ...{
        decisionId: decisions[books.sent % decisions.length],
        tool: 'refund_payment',
        value: 1,
        more: true,
      },
      idempotencyKey: `reward-${books.sent++}`,
    }));
    const { body } = await router.request<{ results?: { status?: string }[] }>('POST', '/v1/rewards', {
      rewards,
    });
    const queued = (body.results ?? []).filter(({ status }) => status === 'queued').length;
    books.accepted += queued;
    books.refused += BATCH - queued;
  };
  while (books.accepted < HALF) await report();
  await shop.settled();
  if (loss.mend === restore) {
    const { code, output } = await runProgramWith({ REDIS_URL: door.url }, 'backup', backup.path);
    if (code !== 0) throw new Error(output);
  }
  if (loss.mend !== restore && loss.redis !== AOF) await admin.commands.call('SAVE');

  const isEnough = (): boolean => books.accepted >= 2 * HALF;
  while (books.accepted < 1.5 * HALF) await report();
  // So that some are accepted and not learned when it happens.
  worker.process.kill('SIGSTOP');
  while (!isEnough()) await report();
  const losing = loss.lose(world);
  for (let n = 0; n < 20; n++) await report();
  await losing;
  worker.process.kill('SIGCONT');
  const becameUnready = await within(async () => (await ready(router)) === false);
  const known = await called(shop);
  await loss.mend(world);
  const becameReady = await within(() => ready(router));
  let learned = -1;
  let quietSince = performance.now();
  while (performance.now() - quietSince < 3_000) {
    const now = await called(shop);
    if (now === learned) continue;
    learned = now;
    quietSince = performance.now();
  }
  await world.dispose();
  const lost = books.accepted - learned;
  return { loss: loss.name, ...books, known, learned, lost, becameUnready, becameReady };
}

async function ready(router: RunningService): Promise<boolean> {
  return (await router.request('GET', '/readyz')).status === 200;
}

/** 0 where the tool is gone with its catalog. */
async function called(shop: Shop): Promise<number> {
  return shop.stats('refund_payment').then(
    (stats) => stats.called,
    () => 0,
  );
}

async function within(isSo: () => Promise<boolean>): Promise<boolean> {
  const deadline = performance.now() + TIMEOUT_MS;
  while (performance.now() < deadline) if (await isSo()) return true;
  return false;
}

async function connections(): Promise<number> {
  const redis = await startRedis();
  const deployment = new Deployment(redis.url);
  const router = await deployment.startRouter();
  const admin = await RedisConnections.open(redis.url);
  for (let n = 0; n < CATALOGS; n++) await router.ask('PUT', `/v1/catalogs/many-${n}`, {});
  let count = 0;
  await until(async () => {
    const before = count;
    const list = String(await admin.commands.call('CLIENT', 'LIST'));
    count = list.trim().split('\n').length - 1; // not this one
    return count === before;
  });
  admin.close();
  await deployment.dispose();
  await redis.dispose();
  return count;
}

if (redisProgram.path === null) {
  console.log(redisProgram.missing);
} else {
  const rows = [];
  for (const loss of LOSSES) rows.push(await run(loss));
  console.table(rows);
  const held = await connections();
  console.log(`A router with ${CATALOGS + 1} catalogs holds ${held} connections.`);
  const results = new URL('../results/', import.meta.url);
  mkdirSync(results, { recursive: true });
  const command = `npx tsx bench/hostile/redis-losses.ts --rewards ${options.rewards}`;
  const figures = { measuredOn: measuredOn(command), rows, connections: { catalogs: CATALOGS + 1, held } };
  writeFileSync(new URL('redis-losses.json', results), `${JSON.stringify(figures, null, 2)}\n`);
}
