import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeLearner } from '../../bandit/learner-codec.ts';
import { randomFor } from '../../bandit/random.ts';
import type { Entry, ObservedContext } from '../../src/ledger/entry.ts';
import { FileLedgers } from '../../src/ledger/file-ledgers.ts';
import type { Ledger, Ledgers } from '../../src/ledger/ledger.ts';
import { RedisLedgers } from '../../src/ledger/redis-ledgers.ts';
import { RedisConnections } from '../../src/redis/redis-connection.ts';
import type { CatalogState } from '../../src/state/catalog-state.ts';
import { fold } from '../../src/state/fold.ts';
import { decodeSnapshot, encodeSnapshot, stateDigest } from '../../src/state/snapshot-codec.ts';
import { createTypescriptKernels } from '../bandit/kernels/typescript-kernels.ts';
import { type RedisServer, redisProgram, startRedis } from '../redis/redis-server.ts';
import { temporaryFolder } from '../storage/temporary-folder.ts';
import { columnsOf, decision, emptyState, observe, report, START, Story } from './entries.ts';

const TOOLS = ['t0', 't1', 't2', 't3'];
const DAY = 86_400_000;

/** Two hundred outcomes of five users over four months, with context and without, one corrected, one user erased. */
function life(): readonly Entry[] {
  const story = Story.withTools(TOOLS.length);
  const patch = { policy: { name: 'sc-linucb-context' }, rewards: { windowSeconds: 604_800 } };
  story.tell({ kind: 'settings', key: 'settings/context', at: START, patch } as never);
  const random = randomFor('a life with context');
  let draws = 0;
  const below = (n: number): number => Math.floor(n * random.uniform(draws++));
  for (let i = 0; i < 200; i++) {
    const unit = 1 + below(5);
    const at = START + Math.floor(0.6 * i * DAY);
    const context: ObservedContext = {
      items: Array.from({ length: below(3) }, () => ({ number: 10 * unit + below(3) })),
      features: Array.from({ length: 16 }, () => below(9) / 8),
    };
    const own = {
      at,
      deadline: at + 7 * DAY,
      unit,
      features: {},
      columns: columnsOf(new Float32Array(4).fill(0.5)),
    };
    const observed = decision(`q${i}`, TOOLS, { ...own, ...(i % 7 !== 0 && { context }) });
    // Mostly what the user is used to.
    const tool = TOOLS[below(4) === 0 ? below(4) : unit % 4];
    const outcome = below(5) === 0 ? ({ outcome: 'failure', value: 0 } as const) : {};
    const told = { at: at + 1000, ...outcome };
    story.tell({
      ...observe(observed, [report(`r${i}`, tool, told)], { closes: i % 11 !== 0 }),
      key: `o${i}`,
    });
    if (i % 11 === 0) {
      const corrected = report(`c${i}`, tool, { at: at + 2000, outcome: 'failure', value: 0 });
      story.tell({ ...observe(observed, [corrected]), key: `oc${i}` });
    }
    if (i === 120) {
      story.tell({ kind: 'forget', key: 'forget/3', at, unit: 3 });
      const earlier = { ...own, at: at - DAY, deadline: at + 6 * DAY, unit: 3, context };
      const late = report('late', TOOLS[3], { at: at + 3000 });
      story.tell(observe(decision('late', TOOLS, earlier), [late]));
    }
  }
  return story.entries;
}

const ENTRIES = life();
const HALF = Math.floor(ENTRIES.length / 2);
const GOLDEN = (
  JSON.parse(readFileSync(new URL('../golden/learned-with-context.json', import.meta.url), 'utf8')) as {
    learner: number;
  }
).learner;

function foldAll(state: CatalogState, entries: readonly Entry[]): CatalogState {
  for (const entry of entries) fold(state, { position: state.position + 1, entry });
  return state;
}

const learned = ({ learners }: CatalogState): number =>
  crc32(encodeLearner(learners.active.policy.save(), crc32));

const throughSnapshot = (state: CatalogState): CatalogState =>
  decodeSnapshot(encodeSnapshot(state), 'default', { kernels: createTypescriptKernels(), derived: true });

async function readAll(ledger: Ledger): Promise<Entry[]> {
  return (await ledger.read(0, ENTRIES.length + 1)).map(({ entry }) => entry);
}

/** Writes the life in two halves, as two processes after each other, and folds what a third one reads. */
async function livedIn(connect: () => Promise<Ledgers>): Promise<CatalogState> {
  for (const half of [ENTRIES.slice(0, HALF), ENTRIES.slice(HALF)]) {
    const ledger = await (await connect()).open('default');
    await ledger.append(half);
    await ledger.close();
  }
  const ledger = await (await connect()).open('default');
  const entries = await readAll(ledger);
  await ledger.close();
  return foldAll(emptyState(), entries);
}

/** Learners that were saved go on from their bits: a change of the number needs another version of the policy. */
describe('what sc-linucb-context learns from a life with context', () => {
  const plain = foldAll(emptyState(), ENTRIES);

  it('ends in the bits that it always ended in, and knows habits', () => {
    expect(learned(plain)).toBe(GOLDEN);
    const { arrays } = plain.learners.active.policy.save();
    expect(arrays['habits.units'].length).toBe(5);
    expect(arrays['habits.rows'].length).toBeGreaterThan(5 * 4 * 4);
  });

  it('is the same over snapshots, wherever they are made', () => {
    for (const at of [3, 40, HALF, ENTRIES.length]) {
      const restored = throughSnapshot(foldAll(emptyState(), ENTRIES.slice(0, at)));
      foldAll(restored, ENTRIES.slice(at));
      expect([at, learned(restored)]).toEqual([at, GOLDEN]);
      expect(stateDigest(restored)).toEqual(stateDigest(plain));
    }
  });

  it('is the same from files, over a restart', async () => {
    const folder = join(temporaryFolder(), randomUUID());
    const state = await livedIn(async () => new FileLedgers(folder));
    expect(learned(state)).toBe(GOLDEN);
    expect(stateDigest(state)).toEqual(stateDigest(plain));
  });

  describe.skipIf(redisProgram.path === null)(`in Redis${redisProgram.missing ?? ''}`, () => {
    let server: RedisServer;
    beforeAll(async () => {
      server = await startRedis();
    });
    afterAll(() => server.dispose());

    it('is the same, over a restart', async () => {
      const opened: RedisConnections[] = [];
      const state = await livedIn(async () => {
        const connections = await RedisConnections.open(server.url);
        opened.push(connections);
        return new RedisLedgers(connections);
      });
      for (const connections of opened) connections.close();
      expect(learned(state)).toBe(GOLDEN);
      expect(stateDigest(state)).toEqual(stateDigest(plain));
    });
  });
});
