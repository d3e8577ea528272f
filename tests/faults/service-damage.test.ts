import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Kernels } from '../../bandit/kernels/kernels.ts';
import { loadKernels } from '../../src/load-kernels.ts';
import { RunningService, temporaryFolder } from '../e2e/running-service.ts';
import { SHOP_TOOLS, Shop } from '../e2e/shop.ts';
import { runProgram } from './program.ts';
import { StoredCatalog } from './replay.ts';

const QUERY = 'the parcel never came, make it right';
const DEFAULT = 'catalogs/default';

const folder = temporaryFolder();
let kernels: Kernels;
/** A data folder with two snapshots and a tail, and what the service that wrote it answers. */
const sound = join(folder.path, 'sound');
let positions: readonly number[];
let before: Awaited<ReturnType<typeof answersOf>>;

async function answersOf(shop: Shop) {
  const { decisionId: _, rewardDeadline, ...greedy } = await shop.route(QUERY, { k: 10, explore: false });
  return { greedy, stats: await Promise.all(SHOP_TOOLS.map(({ name }) => shop.stats(name))) };
}

/** From a snapshot A⁻¹ is computed anew: equal but for the last bits. */
function rounded(answers: typeof before): unknown {
  const nine = (_: string, value: unknown) => (typeof value === 'number' ? Number(value.toFixed(9)) : value);
  return JSON.parse(JSON.stringify(answers, nine));
}

function serve(dataDir: string): Promise<RunningService> {
  return RunningService.start(dataDir);
}

/** A copy of the sound folder, to be damaged. */
function copy(name: string): string {
  const to = join(folder.path, name);
  cpSync(sound, to, { recursive: true });
  return to;
}

function flip(file: string, at: number): void {
  const bytes = readFileSync(file);
  bytes[at] ^= 0xff;
  writeFileSync(file, bytes);
}

function filesIn(dataDir: string, part: string): string[] {
  return readdirSync(join(dataDir, DEFAULT, part)).map((name) => join(dataDir, DEFAULT, part, name));
}

beforeAll(async () => {
  kernels = await loadKernels(() => {});
  const service = await serve(sound);
  const shop = await Shop.open(service, 'default');
  await shop.teach(QUERY, 'refund_payment', 6);
  await shop.teach('write to all our customers', 'send_newsletter', 6);
  before = await answersOf(shop);
  expect(await service.stop()).toBe(0);
  const stored = new StoredCatalog(sound, kernels);
  const head = await stored.head();
  positions = [head - 8, head - 4];
  for (const position of positions) await stored.writeSnapshot(position);
});
afterAll(() => folder.remove());

describe('a damaged snapshot', () => {
  it('is reported, and the one before it is taken', async () => {
    const dataDir = copy('snapshot');
    const [newest] = filesIn(dataDir, 'snapshots').sort().reverse();
    flip(newest, 5000);
    const service = await serve(dataDir);
    expect(service.output).toContain(
      `snapshot ${positions[1]} of catalog \\"default\\" cannot be read; taking the one before`,
    );
    expect(rounded(await answersOf(new Shop(service, 'default')))).toEqual(rounded(before));
    expect(await service.stop()).toBe(0);
  });

  it('costs nothing even if all of them are, as long as the ledger is whole', async () => {
    const dataDir = copy('snapshots');
    for (const file of filesIn(dataDir, 'snapshots')) flip(file, 20);
    const service = await serve(dataDir);
    expect(await answersOf(new Shop(service, 'default'))).toEqual(before);
    expect(await service.stop()).toBe(0);
  });
});

describe('a damaged log', () => {
  it.each([
    ['ledger', 'catalogs/default/ledger'],
    ['decision log', 'catalogs/default/decisions'],
    ['job journal', 'jobs'],
  ])(
    '%s: refuses to start, names file and byte, and is mended by the command that it names',
    async (name, part) => {
      const dataDir = copy(`damaged ${name}`);
      const [file] = readdirSync(join(dataDir, part)).filter((entry) => entry.endsWith('.log'));
      const path = join(dataDir, part, file);
      flip(path, Math.floor(readFileSync(path).length / 2));
      const refused = await serve(dataDir).catch((error: Error) => error);
      if (!(refused instanceof Error)) throw new Error('it started all the same');
      expect(refused.message).toContain('It ended with code 1');
      const command = /bandolier repair "([^"]+)" --truncate-at (\d+)/.exec(refused.message);
      expect(command?.[1]).toBe(path);
      expect(refused.message).toContain(`"${path}" is damaged at byte ${command?.[2]}`);
      expect(refused.message).not.toMatch(/^ +at /m);

      const repaired = await runProgram('repair', command![1], '--truncate-at', command![2]);
      expect(repaired).toMatchObject({
        code: 0,
        output: expect.stringContaining('Kept everything up to record'),
      });
      const service = await serve(dataDir);
      const shop = new Shop(service, 'default');
      const known = (await shop.stats('refund_payment')).called;
      await shop.teach(QUERY, 'refund_payment', 2);
      expect((await shop.stats('refund_payment')).called).toBe(known + 2);
      expect((await service.request('GET', '/readyz')).status).toBe(200);
      expect(await service.stop()).toBe(0);
    },
  );

  it('ledger: snapshots that know more than what is left of it are put aside', async () => {
    const dataDir = copy('cut ledger');
    const [file] = filesIn(dataDir, 'ledger');
    flip(file, (await new StoredCatalog(dataDir, kernels).offsetOf(positions[0] + 2)) + 40);
    const refused = await serve(dataDir).catch((error: Error) => error.message);
    const [, offset] = /--truncate-at (\d+)/.exec(String(refused)) ?? [];
    await runProgram('repair', file, '--truncate-at', offset);
    const service = await serve(dataDir);
    expect(service.output).toContain('1 snapshots of catalog \\"default\\" know more than its ledger');
    expect(filesIn(dataDir, 'snapshots').filter((name) => name.endsWith('.cut'))).toHaveLength(1);
    const shop = new Shop(service, 'default');
    const { called } = await shop.stats('send_newsletter');
    await shop.teach(QUERY, 'send_newsletter', 6);
    expect((await shop.stats('send_newsletter')).called).toBe(called + 6);
    expect(await service.stop()).toBe(0);
  });
});
