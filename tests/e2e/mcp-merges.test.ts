import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { providerName } from '../../src/ledger/provider-name.ts';
import { clientOf, ERAS, type Era, httpTransport, type McpClient } from '../set-up/mcp-clients.ts';
import { bandolierMcp } from './bandolier-mcp.ts';
import { temporaryFolder, until } from './running-service.ts';

// Three servers that offer the same calendar, seen through `bandolier mcp` as one.

const folder = temporaryFolder();
const dataDir = join(folder.path, 'data');
const config = join(folder.path, 'mcp.json');
const clients: McpClient[] = [];
const file = fileURLToPath(new URL('../set-up/mcp-servers/calendar-server.mjs', import.meta.url));
const CALENDARS = ['calendar-north', 'calendar-south', 'calendar-west'];
let url: string;

interface Merge {
  readonly id: string;
  readonly representative: string;
  readonly members: readonly string[];
}

interface Merges {
  readonly merges: readonly Merge[];
  readonly run: { readonly id: string; readonly status: string; readonly endedAt: string | null };
}

beforeAll(async () => {
  // One of them has a name of its own for what a tool takes.
  const words = { title: 'name' };
  const mcpServers = Object.fromEntries(
    CALENDARS.map((name, at) => {
      const given = JSON.stringify({ name, ...(at === 2 && { words }) });
      return [name, { command: process.execPath, args: [file, given] }];
    }),
  );
  writeFileSync(config, JSON.stringify({ mcpServers }));
  const client = clientOf('2025-11-25');
  clients.push(client);
  await client.connect(bandolierMcp('2025-11-25', dataDir, ['--config', config]));
  await until(async () => ((await client.listTools()).tools[0].description ?? '').includes('3 servers'));
  [url] = readFileSync(join(dataDir, 'url'), 'utf8').split('\n');
  const { run } = await ask<Pick<Merges, 'run'>>('POST', '/v1/catalogs/default/merges/propose', {});
  let found: Merges | undefined;
  await until(async () => {
    found = await ask<Merges>('GET', '/v1/catalogs/default/merges');
    return found.run.id === run.id && found.run.endedAt !== null;
  });
  const events = found!.merges.filter(({ representative }) => /events?$/.test(representative));
  expect(events.map(({ members }) => members.length)).toEqual([3, 3]);
  for (const { id } of events) await ask('POST', `/v1/catalogs/default/merges/${id}/approve`, {});
});

afterAll(async () => {
  for (const client of clients) await client.close();
  folder.remove();
});

async function ask<Body>(method: string, path: string, body?: object): Promise<Body> {
  const response = await fetch(url + path, {
    method,
    ...(body !== undefined && {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  });
  const answer = await response.json();
  expect(response.status, JSON.stringify(answer)).toBeLessThan(300);
  return answer as Body;
}

async function connected(era: Era): Promise<McpClient> {
  const client = clientOf(era);
  clients.push(client);
  await client.connect(httpTransport(era, `${url}/mcp`));
  return client;
}

interface Result {
  readonly isError?: boolean;
  readonly content: readonly { readonly text?: string }[];
  readonly structuredContent?: Record<string, unknown>;
  readonly _meta?: Record<string, unknown>;
}

const send = async (client: McpClient, name: string, args: object): Promise<Result> =>
  (await client.callTool({ name, arguments: args as Record<string, unknown> })) as unknown as Result;

async function find(client: McpClient, query: string) {
  const { structuredContent } = await send(client, 'find_tools', { query, k: 5 });
  return structuredContent as {
    decisionId: string;
    tools: { name: string; inputSchema: { required?: string[] }; callable?: boolean }[];
  };
}

const isOf = (what: string) => (one: { readonly name: string }) => one.name.endsWith(what);

describe.each(ERAS)('three calendars behind bandolier mcp, for a client of revision %s', (era) => {
  it('are found as one, called as one, and each learns from what it did', async () => {
    const client = await connected(era);
    const { decisionId, tools } = await find(client, 'create an event in the calendar');
    const [create, ...more] = tools.filter(isOf('create_event'));
    expect(more).toEqual([]);
    expect(create.callable).toBeUndefined();
    // The words are those of the server that was read first.
    const [title, start] = create.inputSchema.required!;
    expect([
      ['title', 'start'],
      ['name', 'start'],
    ]).toContainEqual([title, start]);
    const [lunch, noon] = [`lunch ${era}`, '2026-11-23T12:00:00Z'];
    const given = { [title]: lunch, [start]: noon };
    const made = await send(client, 'call_tool', { name: create.name, arguments: given, decisionId });
    const calendar = String(made._meta?.calendar);
    expect(CALENDARS).toContain(calendar);
    expect(made.content).toEqual([{ type: 'text', text: `${calendar}: ${lunch} at ${noon}` }]);
    const list = (await find(client, 'list the events in the calendar')).tools.find(isOf('list_events'))!;
    const listed = await send(client, 'call_tool', { name: list.name, arguments: {} });
    expect(listed._meta?.calendar).toBe(calendar);
    expect(listed.content[0].text).toContain(lunch);

    // The agent knows one name; what it says is learned about the member that it was.
    const member = String(made._meta?.['bandolier/tool'] ?? create.name);
    const reported = await send(client, 'report_outcome', {
      tool: create.name,
      outcome: 'success',
      decisionId,
    });
    expect(reported.structuredContent).toMatchObject({ status: 'queued', decisionId });
    await until(async () => {
      const { rewards } = await ask<{ rewards: { tool: string }[] }>('GET', `/v1/decisions/${decisionId}`);
      return rewards.some(({ tool }) => tool === member);
    });
  });

  it('are listed as one tool where a member is pinned, and called as it', async () => {
    const { merges } = await ask<Merges>('GET', '/v1/catalogs/default/merges?status=approved');
    const merge = merges.find(({ representative }) => isOf('list_events')({ name: representative }))!;
    const member = merge.members.find((name) => name !== merge.representative)!;
    await ask('PUT', '/v1/catalogs/default/pins', { pins: [{ tool: member }] });
    const client = await connected(era);
    const pinned = (await client.listTools()).tools.filter(isOf('list_events'));
    expect(pinned.map(({ name }) => name)).toEqual([providerName(merge.representative)]);
    const listed = await send(client, pinned[0].name, {});
    expect(CALENDARS).toContain(listed._meta?.calendar);
    await ask('PUT', '/v1/catalogs/default/pins', { pins: [] });
  });

  it('go on when the one that is used dies', async () => {
    const client = await connected(era);
    const list = (await find(client, 'list the events in the calendar')).tools.find(isOf('list_events'))!;
    const call = () => send(client, 'call_tool', { name: list.name, arguments: {} });
    const { calendar } = (await call())._meta!;
    // Every member can be called by its own name.
    const { tools } = await ask<{ tools: { name: string; server: string }[] }>(
      ...(['GET', '/v1/catalogs/default/tools?limit=100'] as const),
    );
    const crash = tools.find(({ name, server }) => name.endsWith('crash') && server === calendar)!;
    expect((await send(client, 'call_tool', { name: crash.name, arguments: {} })).isError).toBe(true);
    const next = await call();
    expect(next.isError).not.toBe(true);
    expect(next._meta?.calendar).not.toBe(calendar);
  });
});
