import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openMcpConnection } from '../../src/outgoing/mcp/open-mcp-connection.ts';
import type { RouteAnswer } from '../../src/routing/route-answer.ts';
import { RunningService, temporaryFolder } from './running-service.ts';

const published = new URL('../../node_modules/@modelcontextprotocol/', import.meta.url).pathname;
const folder = temporaryFolder();
let service: RunningService;
beforeAll(async () => {
  service = await RunningService.start(folder.path);
});
afterAll(async () => {
  expect(await service.stop()).toBe(0);
  folder.remove();
});

describe.each([
  ['everything', ['server-everything/dist/index.js', 'stdio'], 13],
  ['filesystem', ['server-filesystem/dist/index.js', folder.path], 14],
  ['memory', ['server-memory/dist/index.js'], 9],
] as const)('the published server %s', (name, [script, ...words], least) => {
  it('lists tools that can be put as they are, and that come back whole', async () => {
    const address = { command: process.execPath, args: [published + script, ...words] };
    const connection = await openMcpConnection(address, { allowPrivate: true, version: '1.2.3' });
    const { items } = await connection.listTools().finally(() => connection.close());
    expect(items.length).toBeGreaterThanOrEqual(least);
    expect(items.every((tool) => Object.keys(tool).length > 3)).toBe(true);

    const catalog = `/v1/catalogs/${name}`;
    await service.ask('PUT', catalog, {});
    expect(await service.ask('PUT', `${catalog}/tools`, { tools: items })).toMatchObject({
      added: items.length,
    });
    const stored = await service.ask<{ tools: object[] }>('GET', `${catalog}/tools`);
    // As they are answered they can be put again: nothing changes.
    expect(await service.ask('PUT', `${catalog}/tools`, { tools: stored.tools })).toMatchObject({
      ...{ changed: 0, unchanged: items.length },
    });
    const request = {
      catalog: name,
      query: 'anything',
      k: 50,
      pin: items.map((tool) => tool.name),
      detail: 'full',
    };
    const { tools } = await service.ask<RouteAnswer>('POST', '/v1/route', request);
    expect(tools.map(({ definition }) => definition)).toEqual(items);
  });
});
