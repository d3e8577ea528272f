import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { RunningService, temporaryFolder, until } from '../e2e/running-service.ts';
import { Shop } from '../e2e/shop.ts';
import { runProgram, startProgram } from './program.ts';
import { ShopLoad } from './shop-load.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());

describe('a second process on the same data folder', () => {
  it('ends at once with one sentence that says who uses it and what to do', async () => {
    const service = await RunningService.start(folder.path);
    const second = await runProgram('serve', '--port', '0', '--data-dir', folder.path);
    expect(second.code).toBe(1);
    expect(second.output.trim().split('\n')).toHaveLength(1);
    expect(second.output).toContain(`is in use by process ${service.process.pid}`);
    expect(second.output).toContain('BANDOLIER_DATA_DIR');
    expect((await service.request('GET', '/readyz')).status).toBe(200);
    expect(await service.stop()).toBe(0);
  });
});

describe('SIGTERM under load', () => {
  it('finishes what is under way, ends with 0, and loses nothing', async () => {
    const dataDir = join(folder.path, 'drained');
    let service = await RunningService.start(dataDir);
    await Shop.open(service, 'default');
    const load = new ShopLoad();
    const running = load.run(service, 8);
    await Promise.race([running, until(() => load.answers > 150)]);
    expect(await service.stop('SIGTERM')).toBe(0);
    await running;
    expect(service.output).not.toMatch(/"level":[56]0/);

    service = await RunningService.start(dataDir);
    const shop = new Shop(service, 'default');
    await load.sendAgain(service);
    await shop.settled();
    const reports = [...load.accepted.values()];
    for (const tool of new Set(reports.map((report) => report.tool))) {
      const { called } = await shop.stats(tool);
      expect([tool, called]).toEqual([tool, reports.filter((report) => report.tool === tool).length]);
    }
    expect(await service.stop()).toBe(0);
  });
});

describe('SIGKILL during an import', () => {
  const file = join(folder.path, 'tools.json');
  const sample = fileURLToPath(new URL('../../examples/sample-catalog/tools.json', import.meta.url));
  const tools: { name: string }[] = JSON.parse(readFileSync(sample, 'utf8')).tools;
  const many = Array.from({ length: 10 }, (_, i) =>
    tools.map((tool) => ({ ...tool, name: `${tool.name}-${i}` })),
  );
  writeFileSync(file, JSON.stringify({ tools: many.flat() }));
  const dataDir = join(folder.path, 'import');

  const count = async (service: RunningService) =>
    (await service.ask<{ tools: number }>('GET', '/v1/catalogs/imported')).tools;
  const hasSome = async (service: RunningService) => {
    const { status, body } = await service.request<{ tools: number }>('GET', '/v1/catalogs/imported');
    return status === 200 && body.tools > 0;
  };
  const words = (service: RunningService) => ['import', file, '--catalog', 'imported', '--url', service.url];

  it('leaves whole batches, and the same command finishes it', async () => {
    let service = await RunningService.start(dataDir);
    const killed = startProgram(words(service));
    await until(() => hasSome(service));
    await service.kill();
    const { code, output } = await killed.ended;
    expect(code).toBe(1);
    expect(output).toMatch(/No service answers at .*bandolier serve/);

    service = await RunningService.start(dataDir);
    const part = await count(service);
    expect(part).toBeGreaterThan(0);
    expect(part % 250).toBe(0);
    const importer = startProgram(words(service));
    importer.child.kill('SIGKILL');
    expect((await importer.ended).code).toBeNull();

    const finished = await runProgram(...words(service));
    expect(finished).toMatchObject({ code: 0, output: expect.stringContaining('Catalog imported: ') });
    expect(await count(service)).toBe(1500);
    const again = await runProgram(...words(service));
    expect(again.output).toContain('0 added, 0 changed, 0 removed, 1500 unchanged');
    expect(await service.stop()).toBe(0);
  });
});
