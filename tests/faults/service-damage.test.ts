import {
  appendFileSync,
  cpSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Kernels } from '../../bandit/kernels/kernels.ts';
import type { CatalogList } from '../../src/catalog/catalog-administration.ts';
import { loadKernels } from '../../src/stores/load-kernels.ts';
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
/** Byte of its ledger, after the tools, at which a record starts that the snapshots know. */
let middle: number;
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
  kernels = await loadKernels();
  const service = await serve(sound);
  const shop = await Shop.open(service, 'default');
  await shop.teach(QUERY, 'refund_payment', 6);
  await shop.teach('write to all our customers', 'send_newsletter', 6);
  before = await answersOf(shop);
  expect(await service.stop()).toBe(0);
  const stored = new StoredCatalog(sound, kernels);
  const head = await stored.head();
  positions = [head - 8, head - 4];
  middle = await stored.offsetOf(positions[0]);
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

/** What a service prints that does not start on this folder; it says so in one sentence and without a stack. */
async function refusalOf(dataDir: string): Promise<string> {
  const refused = await serve(dataDir).catch((error: Error) => error);
  if (!(refused instanceof Error)) throw new Error('it started all the same');
  expect(refused.message).toContain('It ended with code 1');
  expect(refused.message).not.toMatch(/^ +at /m);
  return refused.message;
}

/** Runs the command that a refusal names, and answers what it printed. */
async function mend(refusal: string): Promise<string> {
  const [, path, ...flags] = /bandolier repair "([^"]+)" (--[a-z-]+)(?: (\d+))?/.exec(refusal) ?? [];
  const { code, output } = await runProgram('repair', path, ...flags.filter((flag) => flag !== undefined));
  expect(code, output).toBe(0);
  return output;
}

/** It starts and goes on learning. */
async function expectToGoOn(dataDir: string, known?: number): Promise<void> {
  const service = await serve(dataDir);
  const shop = new Shop(service, 'default');
  const { called } = await shop.stats('refund_payment');
  if (known !== undefined) expect(called).toBe(known);
  await shop.teach(QUERY, 'refund_payment', 2);
  expect((await shop.stats('refund_payment')).called).toBe(called + 2);
  expect((await service.request('GET', '/readyz')).status).toBe(200);
  expect(await service.stop()).toBe(0);
}

/** The reason that requests for this catalog are answered 503 with; `/readyz` has it as well. */
async function whyNotServed(service: RunningService, catalog: string): Promise<string> {
  const { status, body } = await service.request<{ code: string; detail: string }>('POST', '/v1/route', {
    ...{ query: QUERY, catalog },
  });
  expect([status, body.code]).toEqual([503, 'unavailable']);
  const ready = await service.request<{ checks: Record<string, { ok: boolean; detail: string }> }>(
    'GET',
    '/readyz',
  );
  expect(ready.status).toBe(503);
  const { ok, detail } = ready.body.checks[`catalog:${catalog}`];
  expect(ok).toBe(false);
  expect(body.detail).toContain(detail);
  return detail;
}

const onlyLog = (dataDir: string, part: string): string => {
  const [name] = readdirSync(join(dataDir, part)).filter((entry) => entry.endsWith('.log'));
  return join(dataDir, part, name);
};

const HARM: readonly [string, (file: string) => void][] = [
  ['zeroed', (file) => writeFileSync(file, Buffer.alloc(statSync(file).size))],
  ['emptied', (file) => truncateSync(file)],
];

describe('a damaged log', () => {
  it.each([
    ['ledger', 'catalogs/default/ledger'],
    ['decision log', 'catalogs/default/decisions'],
    ['job journal', 'jobs'],
  ])(
    '%s: refuses to start, names file and byte, and is mended by the command that it names',
    async (name, part) => {
      const dataDir = copy(`damaged ${name}`);
      rmSync(join(dataDir, DEFAULT, 'snapshots'), { recursive: true });
      const path = onlyLog(dataDir, part);
      // What is kept of the ledger has to have the tools.
      flip(path, name === 'ledger' ? middle + 40 : Math.floor(statSync(path).size / 2));
      const refusal = await refusalOf(dataDir);
      const [, offset] = /--truncate-at (\d+)/.exec(refusal) ?? [];
      expect(refusal).toContain(`"${path}" is damaged at byte ${offset}`);
      expect(refusal).not.toMatch(/taken/); // the folder is given up by the process itself
      expect(await mend(refusal)).toContain('Kept everything up to record');
      await expectToGoOn(dataDir);
    },
  );

  it.each(
    ['catalogs/default/decisions', 'jobs'].flatMap((part) =>
      HARM.map(([what, harm]) => [part, what, harm] as const),
    ),
  )('%s, %s: nothing is cut in silence', async (part, what, harm) => {
    const dataDir = copy(`${what} ${part.replaceAll('/', ' ')}`);
    const path = onlyLog(dataDir, part);
    harm(path);
    const harmed = readFileSync(path);
    const refusal = await refusalOf(dataDir);
    expect(refusal).toContain(`"${path}" is damaged at byte 0`);
    expect(readFileSync(path).equals(harmed)).toBe(true);
    await mend(refusal);
    await expectToGoOn(dataDir);
  });

  it.each([
    ...HARM,
    ['deleted', (file: string) => rmSync(file)],
    ['deleted with its folder', (file: string) => rmSync(dirname(file), { recursive: true })],
    ['cut between two records', (file: string) => truncateSync(file, middle)],
    ['flipped in its middle', (file: string) => flip(file, middle + 40)],
  ] as const)(
    'ledger, %s: what the snapshots know is not given up, and the newest one is gone on from',
    async (what, harm) => {
      const dataDir = copy(`${what} ledger`);
      const path = onlyLog(dataDir, 'catalogs/default/ledger');
      harm(path);
      const refusal = await refusalOf(dataDir);
      expect(refusal).toContain(`"${path}"`);
      expect(refusal).toContain(`there were ${positions[1]}`);
      expect(refusal).toContain(`bandolier repair "${dirname(path)}" --from-snapshot`);
      expect(filesIn(dataDir, 'snapshots')).toHaveLength(2);
      expect(await mend(refusal)).toContain(`goes on after entry ${positions[1]}`);
      await expectToGoOn(dataDir, 6);
    },
  );

  it('ledger, deleted with its folder: a catalog other than `default` is not given up either', async () => {
    const dataDir = copy('lost catalog');
    cpSync(join(dataDir, DEFAULT, 'snapshots'), join(dataDir, 'catalogs/shop/snapshots'), {
      recursive: true,
    });
    const service = await serve(dataDir);
    const repair = `bandolier repair "${join(dataDir, 'catalogs/shop/ledger')}" --from-snapshot`;
    expect(await whyNotServed(service, 'shop')).toContain(repair);
    expect(await service.stop()).toBe(0);
  });

  it.each(['ledger', 'decisions'])('%s of one catalog: the others are served', async (part) => {
    const dataDir = copy(`one of two ${part}`);
    const first = await serve(dataDir);
    const taught = await Shop.open(first, 'shop');
    await taught.teach(QUERY, 'book_courier', 3);
    expect(await first.stop()).toBe(0);
    rmSync(join(dataDir, 'catalogs/shop/snapshots'), { recursive: true, force: true });
    const path = onlyLog(dataDir, `catalogs/shop/${part}`);
    flip(path, Math.floor(statSync(path).size / 2));
    const damaged = readFileSync(path);

    const service = await serve(dataDir);
    const reason = await whyNotServed(service, 'shop');
    expect(reason).toContain(`"${path}" is damaged at byte`);
    expect(service.output).toContain('catalog \\"shop\\" cannot be opened, and answers 503');
    expect(rounded(await answersOf(new Shop(service, 'default')))).toEqual(rounded(before));
    const { body: listed } = await service.request<CatalogList>('GET', '/v1/catalogs');
    expect(listed.catalogs.map(({ name }) => name)).toEqual(['default']);
    expect(listed.failed).toEqual([{ name: 'shop', reason: expect.stringContaining('is damaged at byte') }]);
    const put = await service.request<{ detail: string }>('PUT', '/v1/catalogs/shop', {});
    expect([put.status, put.body.detail]).toEqual([503, expect.stringContaining('is damaged at byte')]);
    expect(await service.stop()).toBe(0);
    expect(readFileSync(path).equals(damaged)).toBe(true);

    await mend(reason);
    const mended = await serve(dataDir);
    expect((await mended.request('GET', '/readyz')).status).toBe(200);
    const routed = await mended.request('POST', '/v1/route', { query: QUERY, catalog: 'shop' });
    expect(routed.status).toBe(200);
    expect(await mended.stop()).toBe(0);
  });

  it('of one catalog: it can be deleted and created again while the others are served', async () => {
    const dataDir = copy('given up');
    const first = await serve(dataDir);
    await Shop.open(first, 'shop');
    expect(await first.stop()).toBe(0);
    rmSync(join(dataDir, 'catalogs/shop/snapshots'), { recursive: true, force: true });
    flip(onlyLog(dataDir, 'catalogs/shop/ledger'), 200);
    const service = await serve(dataDir);
    await whyNotServed(service, 'shop');
    expect((await service.request('DELETE', '/v1/catalogs/shop')).status).toBe(204);
    const shop = await Shop.open(service, 'shop');
    await shop.teach(QUERY, 'book_courier', 1);
    expect((await service.request('GET', '/readyz')).status).toBe(200);
    expect(await service.stop()).toBe(0);
  });

  it('ledger: without an intact newest snapshot the one before is gone on from', async () => {
    const dataDir = copy('ledger and snapshot');
    rmSync(onlyLog(dataDir, 'catalogs/default/ledger'));
    const [newest] = filesIn(dataDir, 'snapshots').sort().reverse();
    flip(newest, 5000);
    const output = await mend(await refusalOf(dataDir));
    expect(output).toContain(`Snapshot ${positions[1]} cannot be read`);
    expect(output).toContain(`goes on after entry ${positions[0]}`);
    await expectToGoOn(dataDir, 4);
  });

  it('ledger: snapshots that know more than what somebody decides to keep of it are put aside', async () => {
    const dataDir = copy('cut ledger');
    const path = onlyLog(dataDir, 'catalogs/default/ledger');
    const offset = await new StoredCatalog(dataDir, kernels).offsetOf(positions[0] + 2);
    const { code, output } = await runProgram('repair', path, '--truncate-at', `${offset}`);
    expect([code, output]).toEqual([0, expect.stringContaining('Put aside: 1 snapshots')]);
    expect(filesIn(dataDir, 'snapshots').filter((name) => name.endsWith('.cut'))).toHaveLength(1);
    await expectToGoOn(dataDir, 5);
  });

  it.each(['catalogs/default/ledger', 'catalogs/default/decisions', 'jobs'])(
    '%s: what a crash left unfinished is cut off, and the log of the service says so',
    async (part) => {
      const dataDir = copy(`torn ${part.replaceAll('/', ' ')}`);
      const path = onlyLog(dataDir, part);
      const { size } = statSync(path);
      appendFileSync(path, 'half a rec');
      const service = await serve(dataDir);
      const sentence = `10 bytes of an unfinished write were cut off ${path} at byte ${size}`;
      expect(service.output).toContain(sentence);
      // It is what a crash leaves, and nothing that anybody has to mend.
      expect(service.output).not.toMatch(/"level":[56]0/);
      expect(await service.stop()).toBe(0);
    },
  );

  it('repair does not touch a folder that is in use', async () => {
    const dataDir = copy('in use');
    const service = await serve(dataDir);
    const path = onlyLog(dataDir, 'jobs');
    const { code, output } = await runProgram('repair', path, '--truncate-at', '8');
    expect([code, output]).toEqual([1, expect.stringContaining('is in use by process')]);
    expect(await service.stop()).toBe(0);
  });
});
