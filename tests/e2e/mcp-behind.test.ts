import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  answerQuestions,
  callWith,
  clientOf,
  ERAS,
  type Era,
  httpTransport,
  type McpClient,
} from '../set-up/mcp-clients.ts';
import { bandolierMcp } from './bandolier-mcp.ts';
import { temporaryFolder, until } from './running-service.ts';

// What servers of both eras do in a call, seen by clients of both eras, over stdio and over /mcp of the same process.

const folder = temporaryFolder();
const dataDir = join(folder.path, 'data');
const config = join(folder.path, 'mcp.json');
const licence = join(folder.path, 'licence');
const clients: McpClient[] = [];

const inTests = (name: string): string =>
  fileURLToPath(new URL(`../set-up/mcp-servers/${name}`, import.meta.url));
const node = (...args: readonly string[]) => ({ command: process.execPath, args });
const plain = (given: object) => node(inTests('plain-server.mjs'), JSON.stringify(given));
const everything = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url),
);

/** The servers of 2025-11-25 and 2026-07-28, by what a test calls there. */
const SERVERS = {
  '2025-11-25': { elicit: 'elicit', cancelled: 'cancelled', sleep: 'sleep', grow: 'swell', grown: 'fresh' },
  '2026-07-28': { elicit: 'deploy', cancelled: 'aborted', sleep: 'modern.sleep', grow: 'grow', grown: 'new' },
} as const;

/** The first one has the data folder; over stdio everybody else joins it. */
let host: McpClient;
let url: string;

beforeAll(async () => {
  writeFileSync(licence, '');
  const mcpServers = {
    plain: plain({ names: ['elicit', 'sleep', 'cancelled', 'big', 'echo', 'answer', 'swell'] }),
    // Read after the first one, so that its tools of the same names have its name before theirs.
    modern: node(inTests('modern-server.mjs')),
    frail: plain({ names: ['die', 'pid'], needs: licence }),
    tasks: node(inTests('tasks-server.mjs')),
    everything: node(everything),
  };
  writeFileSync(config, JSON.stringify({ mcpServers: { plain: mcpServers.plain } }));
  const first = await started('2025-11-25');
  await until(async () => (await described(first)).includes('(plain)'));
  await first.close();
  writeFileSync(config, JSON.stringify({ mcpServers }));
  host = await started('2025-11-25');
  await until(async () => (await described(host)).includes('5 servers'));
  [url] = readFileSync(join(dataDir, 'url'), 'utf8').split('\n');
});

afterAll(async () => {
  for (const client of clients) await client.close();
  folder.remove();
});

async function started(era: Era, client = clientOf(era)): Promise<McpClient> {
  clients.push(client);
  await client.connect(bandolierMcp(era, dataDir, ['--config', config]));
  return client;
}

async function overHttp(era: Era, client = clientOf(era)): Promise<McpClient> {
  clients.push(client);
  await client.connect(httpTransport(era, `${url}/mcp`));
  return client;
}

async function ask<Body>(method: string, path: string, body?: object): Promise<Body> {
  const response = await fetch(url + path, {
    method,
    ...(body !== undefined && {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  });
  expect(response.status, path).toBeLessThan(300);
  return (await response.json()) as Body;
}

async function described(client: McpClient): Promise<string> {
  const { tools } = await client.listTools();
  return tools[0].description ?? '';
}

interface Result {
  readonly isError?: boolean;
  readonly content: readonly { readonly type: string; readonly text?: string }[];
  readonly structuredContent?: Record<string, unknown>;
  readonly _meta?: Record<string, unknown>;
}

const callTool = async (client: McpClient, name: string, args: object = {}): Promise<Result> =>
  (await client.callTool({ name, arguments: args as Record<string, unknown> })) as unknown as Result;
const call = (client: McpClient, name: string, args: object = {}): Promise<Result> =>
  callTool(client, 'call_tool', { name, arguments: args });
const textOf = ({ content }: Result): string => content.map(({ text = '' }) => text).join('\n');

/** A call that goes on until it is taken back; resolves when its server has it. */
async function begun(era: Era, client: McpClient, name: string) {
  const given = new AbortController();
  let isBegun = false;
  const options = { signal: given.signal, onprogress: () => (isBegun = true) };
  const end = callWith(era, client, { name: 'call_tool', arguments: { name } }, options);
  end.catch(() => {});
  await until(() => isBegun);
  return { end, takeBack: () => given.abort() };
}

async function found(client: McpClient, query: string): Promise<{ decisionId: string; names: string[] }> {
  const { structuredContent } = await callTool(client, 'find_tools', { query, k: 50 });
  const { decisionId, tools } = structuredContent as { decisionId: string; tools: { name: string }[] };
  return { decisionId, names: tools.map(({ name }) => name) };
}

describe.each(ERAS)('a client of revision %s', (era) => {
  describe.each([
    ['over stdio', started],
    ['over HTTP', overHttp],
  ] as const)('%s', (_, connected) => {
    let client: McpClient;
    let answer: object = {};
    const asked: string[] = [];

    beforeAll(async () => {
      client = clientOf(era);
      answerQuestions(era, client, ({ message }) => {
        asked.push(message);
        return answer;
      });
      await connected(era, client);
    });
    afterAll(() => client.close());

    it.each(ERAS)('answers and declines what a server of %s asks in a call', async (serverEra) => {
      const { elicit } = SERVERS[serverEra];
      asked.length = 0;
      answer = { action: 'accept', content: { city: 'Oslo' } };
      expect(textOf(await call(client, elicit))).toContain('Oslo');
      answer = { action: 'decline' };
      expect(textOf(await call(client, elicit))).toContain('decline');
      expect(asked).toHaveLength(2);
      expect(asked[0]).toMatch(/^(Which city|Where)\?$/);
    });

    it.each(ERAS)('takes a call back, and a server of %s hears of it', async (serverEra) => {
      const { cancelled, sleep } = SERVERS[serverEra];
      const count = async () => Number.parseInt(textOf(await call(client, cancelled)), 10);
      const before = await count();
      const sleeping = await begun(era, client, sleep);
      sleeping.takeBack();
      await expect(sleeping.end).rejects.toThrow();
      await until(async () => (await count()) === before + 1);
    });

    it('reads a result that was cut to its end', async () => {
      let result = await call(client, 'big', { bytes: 500_000 });
      let read = 0;
      let parts = 0;
      for (; ; parts++) {
        read += result.content[0].text?.length ?? 0;
        const rest = result._meta?.['bandolier/rest'] as { handle: string } | undefined;
        if (rest === undefined) break;
        expect(textOf(result)).toContain(rest.handle);
        result = await call(client, 'bandolier/rest', { handle: rest.handle });
      }
      expect([read, parts]).toEqual([250_000, 2]);
      const gone = await call(client, 'bandolier/rest', { handle: 'none.0.0' });
      expect(gone).toMatchObject({ isError: true });
      expect(textOf(gone)).toContain('not kept any more');
    });

    it('is given completions of arguments', async () => {
      const { prompts } = await client.listPrompts();
      const name = prompts.find((prompt) => prompt.name.includes('completable'))?.name ?? '';
      const argument = { name: 'department', value: 'E' };
      const { completion } = await client.complete({ ref: { type: 'ref/prompt', name }, argument });
      expect(completion.values).toEqual(['Engineering']);
    });

    describe('calls a tool whose server makes a task of it', () => {
      it('and gets its result', async () => {
        expect(textOf(await call(client, 'brew'))).toContain('brewed');
        expect(await call(client, 'spill')).toMatchObject({ isError: true });
      });

      it('and answers what the task asks', async () => {
        answer = { action: 'accept', content: { city: 'Bergen' } };
        expect(textOf(await call(client, 'choose'))).toContain('Bergen');
      });

      it('and cancels it', async () => {
        const before = Number.parseInt(textOf(await call(client, 'lingered')), 10);
        const lingering = await begun(era, client, 'linger');
        lingering.takeBack();
        await expect(lingering.end).rejects.toThrow();
        await until(async () => Number.parseInt(textOf(await call(client, 'lingered')), 10) === before + 1);
      });

      it('as servers of 2025-11-25 do', async () => {
        const report = await call(client, 'simulate-research-query', { topic: 'tea' });
        expect(textOf(report)).toContain('Research Report: tea');
      });
    });
  });

  it('lists pinned tools, and calls them as themselves, which counts for the decision', async () => {
    const path = '/v1/catalogs/default/pins';
    await ask('PUT', path, { pins: [{ tool: 'echo' }] });
    const client = await started(era);
    const { tools } = await client.listTools();
    expect(tools.find(({ name }) => name === 'echo')?.inputSchema).toHaveProperty('properties.text');
    const { decisionId, names } = await found(client, 'say a text again');
    expect(names).not.toContain('echo');
    const result = await callTool(client, 'echo', { text: 'here I am' });
    expect(result.content).toEqual([{ type: 'text', text: 'here I am' }]);
    expect(result._meta).toMatchObject({ 'bandolier/decisionId': decisionId });
    // What went well counts when the conversation has ended.
    await client.close();
    await until(async () => {
      const { rewards } = await ask<{ rewards: object[] }>('GET', `/v1/decisions/${decisionId}`);
      return rewards.length > 0;
    });
    expect(await ask('GET', `/v1/decisions/${decisionId}`)).toMatchObject({
      rewards: [{ tool: 'echo', outcome: 'success' }],
    });
    await ask('PUT', path, { pins: [] });
  });
});

it('a result that breaks the schema of its tool is passed on, and counts as a failure', async () => {
  const { decisionId, names } = await found(host, 'answer');
  expect(names).toContain('answer');
  const args = { structuredContent: { sum: 'seven' } };
  const answer = await callTool(host, 'call_tool', { name: 'answer', arguments: args, decisionId });
  expect(answer).toMatchObject({ structuredContent: { sum: 'seven' } });
  expect(answer.isError).toBeUndefined();
  // It might be mended by another call of the same tool: it is reported when another one is called.
  await found(host, 'pid');
  await call(host, 'pid');
  await until(async () => {
    const { rewards } = await ask<{ rewards: object[] }>('GET', `/v1/decisions/${decisionId}`);
    return rewards.length > 0;
  });
  expect(await ask('GET', `/v1/decisions/${decisionId}`)).toMatchObject({
    rewards: [{ tool: 'answer', outcome: 'failure' }],
  });
});

it('a server that is killed in a call is not found until it is back', async () => {
  const before = textOf(await call(host, 'pid'));
  expect((await found(host, 'pid')).names).toEqual(expect.arrayContaining(['pid', 'die']));
  rmSync(licence);
  const killed = await call(host, 'die');
  expect(killed.isError).toBe(true);
  expect(textOf(killed)).toMatch(/SIGKILL.*may or may not have acted/);
  const { names } = await found(host, 'pid');
  expect(names).toContain('elicit');
  expect(names).not.toContain('pid');
  await until(async () => /tried again in \d+ s/.test(textOf(await call(host, 'pid'))));
  writeFileSync(licence, '');
  await until(async () => (await found(host, 'pid')).names.includes('pid'));
  expect(textOf(await call(host, 'pid'))).not.toBe(before);
});

describe.each(ERAS)('a list that changes at a server of %s', (serverEra) => {
  it('changes the catalog, and clients hear of it', async () => {
    const heard: string[] = [];
    const listening = ERAS.map((era) => clientOf(era, () => heard.push(era)));
    for (const [i, client] of listening.entries()) await overHttp(ERAS[i], client);
    for (const client of listening) await client.listTools();
    const { grow, grown } = SERVERS[serverEra];
    expect((await found(host, grown)).names).not.toContain(grown);
    await call(host, grow);
    await until(async () => (await found(host, grown)).names.includes(grown));
    await until(() => ERAS.every((era) => heard.includes(era)));
    expect(textOf(await call(host, grown))).toContain(grown);
    for (const client of listening) await client.close();
  });
});
