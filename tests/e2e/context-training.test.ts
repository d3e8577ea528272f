import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cleanEnvironment, mainFile, RunningService, temporaryFolder, until } from './running-service.ts';

const folder = temporaryFolder();
let service: RunningService;
beforeAll(async () => {
  service = await RunningService.start(folder.path);
  await service.ask('PUT', '/v1/catalogs/home', {});
  const inputSchema = { type: 'object', properties: {} };
  await service.ask('PUT', '/v1/catalogs/home/tools', {
    tools: [
      { name: 'play_music', description: 'Play a song or a playlist', inputSchema },
      { name: 'read_note', description: 'Read a note aloud', inputSchema },
    ],
  });
});
afterAll(async () => {
  expect(await service.stop()).toBe(0);
  folder.remove();
});

const CONTEXT = '/v1/catalogs/home/context';
const SONGS = ['Blue Harbour', 'Paper Tigers', 'Silver Pines', 'Golden Hours', 'Mild West', 'Sister Static'];
const USERS = 44;
const TIMES = 8;

interface Training {
  readonly id: string;
  readonly status: string;
  readonly endedAt: string | null;
  readonly examples: number;
  readonly users: number;
  readonly replaced: boolean;
  readonly reason: string | null;
  readonly result: { readonly before: number; readonly after: number; readonly lower: number } | null;
}
interface State {
  readonly training: Training | null;
  readonly model: { readonly trained: boolean; readonly trees: number };
}
const state = () => service.ask<State>('GET', `${CONTEXT}/training`);
const start = async () => (await service.ask<{ training: Training }>('POST', `${CONTEXT}/training`)).training;

async function ended(): Promise<Training> {
  await until(async () => (await state()).training?.endedAt !== null, 120_000);
  return (await state()).training!;
}

async function run(...args: string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [mainFile, ...args, '--url', service.url, '--catalog', 'home'], {
    env: cleanEnvironment(),
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => (output += bytes));
  const [code] = await once(child, 'close');
  return { code, output };
}

interface Chosen {
  readonly decisionId: string;
  readonly context?: readonly { readonly id: string }[];
}

/** A busy machine may not have read the user within a tenth of a second. */
async function choose(userId: string): Promise<Chosen> {
  const request = { catalog: 'home', query: 'play another one', userId, k: 2, explore: false, maxContext: 6 };
  let chosen: Chosen;
  do chosen = await service.ask<Chosen>('POST', '/v1/route', request);
  while (chosen.context === undefined);
  return chosen;
}

/** Each user plays their songs in turn: what is wanted is always what was not played for longest. */
async function playInTurn(user: string, from: number, times: number): Promise<void> {
  for (let time = from; time < from + times; time++) {
    const { decisionId } = await choose(user);
    const context = [SONGS[time % SONGS.length]];
    const rewards = [{ decisionId, tool: 'play_music', outcome: 'success', context }];
    await service.ask('POST', '/v1/rewards', { rewards });
  }
}

async function putSongs(user: string): Promise<void> {
  const items = SONGS.map((text) => ({ id: text, text: `Album: ${text}`, store: 'music' }));
  await service.ask('PUT', `/v1/catalogs/home/users/${user}/context`, { items });
}

/** Mean reciprocal rank of the songs that users want next. */
async function quality(users: readonly string[], next: number): Promise<number> {
  let sum = 0;
  for (const user of users) {
    const { context = [] } = await choose(user);
    const place = context.findIndex(({ id }) => id === SONGS[next % SONGS.length]);
    sum += place < 0 ? 0 : 1 / (place + 1);
  }
  return sum / users.length;
}

describe('training from reports', { timeout: 240_000 }, () => {
  const users = Array.from({ length: USERS }, (_, at) => `listener-${at}`);
  const fresh = users.slice(-6);

  it('is refused below the examples that it takes, and says how many there are', async () => {
    for (const user of users) await putSongs(user);
    await playInTurn(users[0], 0, 2);
    await start();
    expect(await ended()).toMatchObject({
      status: 'refused',
      reason: expect.stringContaining(
        '2 examples of 1 users say which items were used, and 200 of 20 users are needed',
      ),
    });
    const cancelled = await service.request<{ code: string }>('DELETE', `${CONTEXT}/training`);
    expect([cancelled.status, cancelled.body.code]).toEqual([409, 'training-conflict']);
  });

  it('learns what the model in the package cannot know, at the terminal, and runs once if it is asked for twice', async () => {
    await playInTurn(users[0], 2, TIMES - 2);
    for (const user of users.slice(1)) await playInTurn(user, 0, TIMES);
    const before = await quality(fresh, TIMES);
    const [first, second] = await Promise.all([start(), start()]);
    expect(second.id).toBe(first.id);
    const training = await ended();
    expect(training).toMatchObject({
      ...{ id: first.id, status: 'done', replaced: true, users: USERS, examples: USERS * TIMES },
      reason: expect.stringContaining('surely better'),
    });
    expect(training.result!.lower).toBeGreaterThan(0);
    expect((await state()).model.trained).toBe(true);
    expect(await quality(fresh, TIMES)).toBeGreaterThan(before + 0.2);
    // The same log teaches the same, which is no better than itself.
    const { code, output } = await run('context', 'train');
    expect([code, output]).toEqual([0, expect.stringContaining('the one in use stays')]);
    expect((await run('context', 'model')).output).toContain('uses the model of its own');
  });

  it('is cancelled while it is under way, leaves the model as it is, and can be started again', async () => {
    const { id } = await start();
    const { training } = await service.ask<{ training: Training }>('DELETE', `${CONTEXT}/training`);
    expect(training).toMatchObject({ id, status: 'cancelled', replaced: false, result: null });
    expect(training.endedAt).not.toBeNull();
    const again = await start();
    expect(again.id).not.toBe(id);
    expect(await ended()).toMatchObject({ id: again.id, status: 'done', replaced: false });
    expect((await state()).model.trained).toBe(true);
  });

  it('keeps the model over a restart, begins again after a kill, and takes it back', async () => {
    const known = await quality(fresh, TIMES);
    await start();
    await service.kill();
    service = await RunningService.start(folder.path);
    expect(await quality(fresh, TIMES)).toBeCloseTo(known, 5);
    expect(await ended()).toMatchObject({ status: 'done', examples: USERS * TIMES });
    expect((await state()).model.trained).toBe(true);
    expect((await run('context', 'model', '--remove')).output).toContain('uses the model in the package');
    expect((await state()).model.trained).toBe(false);
    expect((await run('context', 'model')).output).toMatch(
      /uses the model in the package\.\n\nThe newest training, as it ended then:\n/,
    );
    const none = await run('context', 'train', '--cancel');
    expect([none.code, none.output]).toEqual([1, expect.stringContaining('`bandolier context model` shows')]);
    expect(await quality(fresh, TIMES)).toBeLessThan(known);
  });

  it('forgets the examples of a user who is erased, and leaves nothing readable', async () => {
    const exported = await service.ask<{ training: { examples: object[] } }>(
      'GET',
      `/v1/catalogs/home/users/${users[0]}/export`,
    );
    expect(exported.training.examples).toHaveLength(TIMES);
    await service.ask('DELETE', `/v1/catalogs/home/users/${users[0]}`);
    await start();
    expect(await ended()).toMatchObject({ users: USERS - 1, examples: (USERS - 1) * TIMES, replaced: true });
    const file = join(folder.path, 'catalogs', 'home', 'context-model');
    const kept = ['model.bin', 'training.json']
      .map((name) => readFileSync(join(file, name), 'latin1'))
      .join();
    for (const word of [...SONGS, 'listener', 'play another']) expect(kept.includes(word), word).toBe(false);
    await service.ask('DELETE', '/v1/catalogs/home');
    await service.ask('PUT', '/v1/catalogs/home', {});
    expect(await state()).toMatchObject({ training: null, model: { trained: false } });
  });
});
