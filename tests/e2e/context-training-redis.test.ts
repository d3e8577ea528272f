import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { beforeAll, describe, expect, it } from 'vitest';
import { redisProgram } from '../redis/redis-server.ts';
import { twoRouters } from '../redis/two-routers.ts';
import { cleanEnvironment, mainFile, type RunningService, until } from './running-service.ts';

const SETTINGS = {
  BANDOLIER_MODEL: 'bundled',
  BANDOLIER_TOKEN_KEY: 'a secret of sixteen characters or more',
};
const CONTEXT = '/v1/catalogs/home/context';
const SONGS = ['Blue Harbour', 'Paper Tigers', 'Silver Pines', 'Golden Hours', 'Mild West', 'Sister Static'];
const USERS = Array.from({ length: 44 }, (_, at) => `listener-${at}`);
const TIMES = 8;

interface State {
  readonly training: { readonly status: string; readonly endedAt: string | null; readonly replaced: boolean };
  readonly model: { readonly trained: boolean; readonly trees: number };
}
interface Chosen {
  readonly decisionId: string;
  readonly context?: readonly { readonly id: string }[];
}

describe.skipIf(redisProgram.path === null)(
  `a context model over Redis${redisProgram.missing ?? ''}`,
  { timeout: 240_000 },
  () => {
    const running = twoRouters({ workers: 1, settings: () => SETTINGS });
    beforeAll(async () => {
      const { first, second } = running;
      await first.ask('PUT', '/v1/catalogs/home', {});
      const inputSchema = { type: 'object', properties: {} };
      const tools = [{ name: 'play_music', description: 'Play a song or a playlist', inputSchema }];
      await first.ask('PUT', '/v1/catalogs/home/tools', { tools });
      await until(async () => {
        const { status } = await second.request('GET', '/v1/catalogs/home/tools/play_music');
        return status === 200;
      });
    });

    const state = (router: RunningService) => router.ask<State>('GET', `${CONTEXT}/training`);

    /** A busy machine may not have read the user within a tenth of a second. */
    async function choose(router: RunningService, userId: string): Promise<Chosen> {
      const request = {
        catalog: 'home',
        query: 'play another one',
        userId,
        k: 1,
        explore: false,
        maxContext: 6,
      };
      let chosen: Chosen;
      do chosen = await router.ask<Chosen>('POST', '/v1/route', request);
      while (chosen.context === undefined);
      return chosen;
    }

    /** Mean reciprocal rank of the songs that users want next. */
    async function quality(router: RunningService): Promise<number> {
      const users = USERS.slice(-6);
      const ranks = await Promise.all(
        users.map(async (user) => {
          const { context = [] } = await choose(router, user);
          return context.findIndex(({ id }) => id === SONGS[TIMES % SONGS.length]);
        }),
      );
      return ranks.reduce((sum, rank) => sum + (rank < 0 ? 0 : 1 / (rank + 1)), 0) / users.length;
    }

    async function run(router: RunningService, ...args: string[]): Promise<string> {
      const words = [mainFile, ...args, '--url', router.url, '--catalog', 'home'];
      const child = spawn(process.execPath, words, { env: cleanEnvironment() });
      let output = '';
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => (output += bytes));
      const [code] = await once(child, 'close');
      expect(code, output).toBe(0);
      return output;
    }

    it('is trained through one router from what was reported to both, and taken up by the other, and taken back', async () => {
      const { first, second } = running;
      const items = SONGS.map((text) => ({ id: text, text: `Album: ${text}`, store: 'music' }));
      await Promise.all(
        USERS.map((user) => first.ask('PUT', `/v1/catalogs/home/users/${user}/context`, { items })),
      );
      // Each user plays their songs in turn: what is wanted is always what was not played for longest.
      for (let time = 0; time < TIMES; time++) {
        const [asked, told] = time % 2 === 0 ? [first, second] : [second, first];
        const rewards = await Promise.all(
          USERS.map(async (user) => {
            const { decisionId } = await choose(asked, user);
            const context = [SONGS[time % SONGS.length]];
            return { decisionId, tool: 'play_music', outcome: 'success', context };
          }),
        );
        await told.ask('POST', '/v1/rewards', { rewards });
        await told.settled('home');
      }
      const before = await quality(second);
      expect(await quality(first)).toBeCloseTo(before, 5);
      expect(await run(first, 'context', 'train')).toContain('surely better');
      for (const router of [first, second]) {
        await until(async () => (await state(router)).model.trained);
        expect((await state(router)).training).toMatchObject({ status: 'done', replaced: true });
      }
      // It is known before it is read: a moment later it ranks.
      await until(async () => (await quality(second)) > before + 0.2);
      // Either may have trained it: the other one takes it up a moment later.
      await until(async () => (await quality(first)) === (await quality(second)));
      expect(await run(second, 'context', 'model', '--remove')).toContain('uses the model in the package');
      await until(async () => !(await state(first)).model.trained);
      await until(async () => Math.abs((await quality(first)) - before) < 1e-5);
    });
  },
);
