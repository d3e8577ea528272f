import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { contentOf } from '../context/content-of.ts';
import { RunningService, temporaryFolder, until } from '../e2e/running-service.ts';

const preload = fileURLToPath(new URL('kill-at-file.mjs', import.meta.url));
const USER = '/v1/catalogs/default/users/ada';
const ITEM = { id: 'usual', text: 'Two portions of lentils' };
/** Kills until an erasure comes through; it has fewer steps. */
const MOST_KILLS = 20;

it('an erasure that is killed before any of its steps is completed at the next start', async () => {
  const folder = temporaryFolder();
  const data = join(folder.path, 'data');
  /** Files of users: those that bear the name that stands for one. */
  const filesIn = (path: string): string[] =>
    existsSync(join(data, path))
      ? readdirSync(join(data, path), { recursive: true, encoding: 'utf8' }).filter((name) =>
          /[0-9a-f]{32}/.test(name),
        )
      : [];
  let killed = 0;
  for (let isErased = false; !isErased && killed < MOST_KILLS; ) {
    const settings = { NODE_OPTIONS: `--import ${preload}`, KILL_BEFORE: `${killed}` };
    const service = await RunningService.start(data, [], { BANDOLIER_MODEL: 'none', ...settings });
    // Before its first step an erasure is not written down, and was not answered either.
    const hasBegun = killed > 1;
    if (hasBegun) {
      await until(() => filesIn('keys/catalogs').length === 0);
      expect([killed, filesIn('catalogs/default/context')]).toEqual([killed, []]);
    }
    const { items } = await service.ask<{ items: unknown[] }>('GET', `${USER}/export`);
    expect([killed, items.length]).toEqual([killed, killed === 1 ? 1 : 0]);
    await service.ask('PUT', `${USER}/context`, { items: [ITEM] });
    isErased = await service.request('DELETE', USER).then(
      ({ status }) => status === 200,
      () => false,
    );
    if (isErased) expect(await service.stop()).toBe(0);
    else {
      await until(() => !service.isAlive);
      killed++;
    }
  }
  // Written down; key and items, each overwritten and removed; no longer written down.
  expect(killed).toBeGreaterThanOrEqual(6);
  expect(killed).toBeLessThan(MOST_KILLS);
  expect([filesIn('keys/catalogs'), filesIn('catalogs/default/context')]).toEqual([[], []]);
  expect(contentOf(data).toString('latin1')).not.toMatch(/lentils/);
  folder.remove();
}, 180_000);
