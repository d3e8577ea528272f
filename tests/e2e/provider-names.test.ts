import { afterAll, beforeAll, expect, it } from 'vitest';
import { RunningService, temporaryFolder } from './running-service.ts';

const folder = temporaryFolder();
let service: RunningService;
beforeAll(async () => {
  service = await RunningService.start(folder.path);
});
afterAll(async () => {
  expect(await service.stop()).toBe(0);
  folder.remove();
});

interface Slate {
  readonly decisionId: string;
  readonly tools: readonly {
    readonly name: string;
    readonly providerName: string;
    readonly definition: { readonly function: { readonly name: string; readonly parameters: object } };
  }[];
}

it('a tool is named as models know it, wherever a tool is named', async () => {
  const tools = [
    { name: 'mail.search', description: 'Search the mail of a customer.', inputSchema: {} },
    { name: 'mail_search', description: 'Search paper mail that came in.', inputSchema: {} },
    { name: 'parcel.find', description: 'Find a parcel.', inputSchema: {} },
  ];
  const catalog = '/v1/catalogs/default';
  await service.ask('PUT', `${catalog}/tools`, { tools });
  const route = (more: object = {}) =>
    service.ask<Slate>('POST', '/v1/route', {
      ...{ query: 'search mail', k: 2, format: 'openai', explore: false },
      ...more,
    });

  const { decisionId, tools: slate } = await route();
  expect(slate.map(({ name }) => name).sort()).toEqual(['mail.search', 'mail_search']);
  for (const { providerName, definition } of slate) {
    expect(definition.function.name).toBe(providerName);
    expect(definition.function.parameters).toEqual({ type: 'object', properties: {} });
  }
  const { providerName } = slate.find(({ name }) => name === 'mail.search')!;
  expect(providerName).toMatch(/^mail_search-x\w{10}$/);

  const reward = await service.ask<{ note?: string }>('POST', `/v1/decisions/${decisionId}/rewards`, {
    tool: providerName,
    outcome: 'success',
  });
  expect(reward.note).toBeUndefined();
  await service.settled();
  const tool = `${catalog}/tools/${providerName}`;
  expect(await service.ask('GET', `${tool}/stats`)).toMatchObject({ name: 'mail.search', successes: 1 });
  expect(await service.ask('GET', `${catalog}/tools/mail_search/stats`)).toMatchObject({ successes: 0 });
  expect(await service.ask('GET', tool)).toMatchObject({ name: 'mail.search', providerName });

  const { decisions } = await service.ask<{ decisions: { decisionId: string }[] }>(
    'GET',
    `${catalog}/decisions?tool=${providerName}&outcome=success`,
  );
  expect(decisions.map((one) => one.decisionId)).toEqual([decisionId]);

  const pinned = await route({ query: 'find a parcel', k: 1, pin: [providerName] });
  expect(pinned.tools[0].name).toBe('mail.search');
  const without = await route({ k: 3, exclude: [providerName] });
  expect(without.tools.map(({ name }) => name)).not.toContain('mail.search');
  const pins = { pins: [{ tool: providerName }] };
  expect(await service.ask('PUT', `${catalog}/pins`, pins)).toMatchObject({
    pins: [{ tool: 'mail.search', active: true }],
  });
  await service.ask('PUT', `${catalog}/pins`, { pins: [] });

  expect(await service.ask('DELETE', `${tool}/memory`)).toMatchObject({ forgotten: expect.any(Number) });
  expect(await service.ask('PATCH', `${catalog}/tools`, { remove: [providerName] })).toMatchObject({
    removed: 1,
  });
  const gone = await service.request<{ detail: string }>('GET', tool);
  expect([gone.status, gone.body.detail]).toEqual([
    404,
    expect.stringMatching(/"mail\.search" was removed on/),
  ]);
});

it('a tool that is called like the provider name of another one does not take its reports', async () => {
  const catalog = '/v1/catalogs/shadowed';
  await service.ask('PUT', catalog, {});
  const put = (name: string) =>
    service.ask('PATCH', `${catalog}/tools`, {
      put: [{ name, description: 'Search the mail.', inputSchema: {} }],
    });
  await put('mail.search');
  const { providerName } = await service.ask<{ providerName: string }>('GET', `${catalog}/tools/mail.search`);
  await put(providerName);
  const names = { catalog: 'shadowed', query: 'search the mail', format: 'openai', k: 2 };
  const { decisionId, tools } = await service.ask<Slate>('POST', '/v1/route', names);
  const shown = tools.map(({ definition }) => definition.function.name);
  expect(new Set(shown).size).toBe(2);
  await service.ask('POST', `/v1/decisions/${decisionId}/rewards`, { tool: providerName, value: 1 });
  await service.settled('shadowed');
  expect(await service.ask('GET', `${catalog}/tools/mail.search/stats`)).toMatchObject({ successes: 1 });
});

it('a report under the name that was shown is about the tool that was shown, whatever has that name now', async () => {
  const catalog = '/v1/catalogs/replaced';
  await service.ask('PUT', catalog, {});
  const put = (name: string) => {
    const tool = { name, description: 'Search the mail.', inputSchema: {} };
    return service.ask('PATCH', `${catalog}/tools`, { put: [tool] });
  };
  await put('mail.search');
  const query = { catalog: 'replaced', query: 'search the mail', format: 'openai' };
  const { decisionId, tools } = await service.ask<Slate>('POST', '/v1/route', query);
  const shown = tools[0].definition.function.name;
  await service.ask('DELETE', `${catalog}/tools/mail.search`);
  await put(shown);
  await service.ask('POST', `/v1/decisions/${decisionId}/rewards`, { tool: shown, value: 1 });
  await service.settled('replaced');
  expect(await service.ask('GET', `${catalog}/tools/${shown}/stats`)).toMatchObject({ called: 0 });
});

it('a renamed tool may say its former name as models knew it', async () => {
  const catalog = '/v1/catalogs/renamed';
  await service.ask('PUT', catalog, {});
  const tool = { name: 'mail.search', description: 'Search the mail.', inputSchema: {} };
  await service.ask('PATCH', `${catalog}/tools`, { put: [tool] });
  const query = { catalog: 'renamed', query: 'search the mail', format: 'openai' };
  const { decisionId, tools } = await service.ask<Slate>('POST', '/v1/route', query);
  const { providerName } = tools[0];
  await service.ask('POST', `/v1/decisions/${decisionId}/rewards`, { tool: providerName, value: 1 });
  await service.settled('renamed');
  const put = [{ ...tool, name: 'mail.find', replaces: [providerName] }];
  await service.ask('PATCH', `${catalog}/tools`, { put });
  expect(await service.ask('GET', `${catalog}/tools/mail.find/stats`)).toMatchObject({ successes: 1 });
});
