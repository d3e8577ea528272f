import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { cleanEnvironment, mainFile, RunningService, temporaryFolder } from './running-service.ts';
import { Shop } from './shop.ts';

const FIXTURES = fileURLToPath(new URL('../transcripts/fixtures', import.meta.url));
const folder = temporaryFolder();
const dataDir = join(folder.path, 'data');
let service: RunningService;
let shop: Shop;
beforeAll(async () => {
  service = await RunningService.start(dataDir);
  shop = await Shop.open(service, 'learned');
});
afterAll(async () => {
  expect(await service.stop()).toBe(0);
  folder.remove();
});

async function learn(from: string, ...words: string[]): Promise<string> {
  const options = ['--catalog', 'learned', '--url', service.url, ...words];
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [mainFile, 'learn', '--from', from, ...options],
    {
      env: cleanEnvironment(),
    },
  );
  return stdout;
}

it('says what transcripts would teach, and teaches it once', async () => {
  const dry = JSON.parse(await learn(FIXTURES, '--json'));
  expect(dry).toMatchObject({
    ...{ catalog: 'learned', dryRun: true },
    files: { 'claude-code': 1, codex: 1, opentelemetry: 1, ours: 1 },
    ...{ unknownFiles: 1, turns: 9, brokenLines: 1, known: 0 },
  });
  expect(dry.tools.map(({ name }: { name: string }) => name)).toContain('track_parcel');
  expect(dry.unknownTools).toContainEqual({ name: 'create_refund', calls: 2, successes: 1 });
  expect(dry.taught + dry.nothingToTeach).toBe(9);
  expect(await learn(FIXTURES)).toMatch(
    /would be taught[\s\S]*TOOL[\s\S]*Not in the catalog: [\s\S]*Add --yes/,
  );

  const taught = JSON.parse(await learn(FIXTURES, '--json', '--yes'));
  expect(taught).toMatchObject({ dryRun: false, taught: dry.taught, known: 0 });
  expect(JSON.parse(await learn(FIXTURES, '--json', '--yes'))).toMatchObject({
    taught: 0,
    known: dry.taught,
  });
});

it('remembers the tool for similar queries, counts nothing, and keeps no text', async () => {
  const query = 'the monthly thing for Ms Zabriskie';
  const before = await shop.greedy(query, { k: 10 });
  const file = join(folder.path, 'own.jsonl');
  const wanted = before.at(-1)!;
  const lines = [1, 2, 3].map((n) => ({ id: `${n}`, query: `${query} ${n}`, calls: [{ tool: wanted }] }));
  writeFileSync(file, lines.map((line) => JSON.stringify(line)).join('\n'));
  const taught = JSON.parse(await learn(file, '--json', '--yes', '--unit', 'me'));
  expect(taught).toMatchObject({ taught: 3, tools: [{ name: wanted, calls: 3, successes: 3 }] });

  const { tools } = await shop.route(query, { explore: false, learn: false, k: 10 });
  expect(tools[0].name).toBe(wanted);
  const stats = await service.ask('GET', `/v1/catalogs/learned/tools/${wanted}/stats`);
  expect(stats).toMatchObject({ shown: 0, called: 0, successes: 0 });
  const files = readdirSync(dataDir, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  for (const { parentPath, name } of files) {
    expect(readFileSync(join(parentPath, name)).includes('Zabriskie 1')).toBe(false);
  }

  expect(await service.stop()).toBe(0);
  service = await RunningService.start(dataDir);
  shop = new Shop(service, 'learned');
  expect((await shop.greedy(query))[0]).toBe(wanted);
  expect(JSON.parse(await learn(file, '--json'))).toMatchObject({ taught: 0, known: 3 });
  await service.ask('DELETE', '/v1/catalogs/learned/units/me/memory');
  expect(await shop.greedy(query, { k: 10 })).toEqual(before);
});

it.each([
  [join(FIXTURES, 'nothing'), /cannot be read/],
  [fileURLToPath(new URL('../golden', import.meta.url)), /no files of JSON lines/],
])('says what is wrong with %s', async (from, what) => {
  await expect(learn(from)).rejects.toThrow(what);
});
