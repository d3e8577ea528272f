import { afterAll, beforeAll, expect, it } from 'vitest';
import { RunningService, temporaryFolder } from './running-service.ts';
import { ITEMS, QUERY, TOOLS } from './usual-restaurant.ts';

const folder = temporaryFolder();
let service: RunningService;
beforeAll(async () => {
  service = await RunningService.start(folder.path);
  await service.ask('PUT', '/v1/catalogs/home', { policy: { name: 'sc-linucb-context' } });
  await service.ask('PUT', '/v1/catalogs/home/tools', { tools: TOOLS });
});
afterAll(async () => {
  expect(await service.stop()).toBe(0);
  folder.remove();
});

interface Answer {
  readonly decisionId: string;
  readonly tools: readonly { readonly name: string }[];
  readonly context?: readonly object[];
}

interface Explained {
  readonly candidates: readonly { readonly name: string; readonly features: Record<string, number> }[];
}

async function route(userId: string) {
  const request = { catalog: 'home', query: QUERY, userId, k: 6, explore: false };
  let answer = await service.ask<Answer>('POST', '/v1/route', request);
  // What a user has is not waited for longer than 100 ms; on a slow machine it is there a moment later.
  for (let tries = 0; answer.context === undefined && tries < 20; tries++) {
    answer = await service.ask<Answer>('POST', '/v1/route', request);
  }
  const { decisionId, tools } = answer;
  const { candidates } = await service.ask<Explained>('GET', `/v1/decisions/${decisionId}`);
  const of = (tool: string) => candidates.find(({ name }) => name === tool)!.features;
  return { decisionId, first: tools[0].name, of };
}

const habits = ({ habit, itemHabit }: Record<string, number>) => [habit > 0.4, itemHabit > 0.4];

it('the same words come to mean to each user what this user does, over a restart, until the user is erased', async () => {
  const does = { mia: 'place_order', tom: 'book_table', ida: 'find_recipe' };
  for (const user of ['mia', 'tom', 'ida', 'new']) {
    await service.ask('PUT', `/v1/catalogs/home/users/${user}/context`, { items: ITEMS });
  }
  for (let time = 0; time < 3; time++) {
    for (const [user, tool] of Object.entries(does)) {
      const { decisionId } = await route(user);
      await service.ask('POST', '/v1/rewards', { rewards: [{ decisionId, tool, outcome: 'success' }] });
      await service.settled('home');
    }
  }
  const asLearned = async () => {
    for (const [user, tool] of Object.entries(does)) {
      const { first, of } = await route(user);
      expect([user, first]).toEqual([user, tool]);
      expect(habits(of(tool))).toEqual([true, true]);
      for (const other of Object.values(does))
        if (other !== tool) expect(of(other)).toMatchObject({ habit: 0 });
    }
    for (const tool of Object.values(does)) {
      expect((await route('new')).of(tool)).toMatchObject({ habit: 0, itemHabit: 0 });
    }
  };
  await asLearned();
  await service.stop();
  service = await RunningService.start(folder.path);
  await asLearned();

  await service.ask('DELETE', '/v1/catalogs/home/users/mia');
  await service.ask('PUT', '/v1/catalogs/home/users/mia/context', { items: ITEMS });
  expect((await route('mia')).of('place_order')).toMatchObject({ habit: 0, itemHabit: 0 });
  expect(habits((await route('tom')).of('book_table'))).toEqual([true, true]);
});
