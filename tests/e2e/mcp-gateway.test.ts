import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clientOf, ERAS, type Era, type McpClient } from '../set-up/mcp-clients.ts';
import { bandolierMcp } from './bandolier-mcp.ts';
import { RunningService, temporaryFolder, until } from './running-service.ts';

const folder = temporaryFolder();
const files = join(folder.path, 'files');
const dataDir = join(folder.path, 'data');
const config = join(folder.path, 'mcp.json');
const clients: McpClient[] = [];

const published = (name: string): string =>
  fileURLToPath(
    new URL(`../../node_modules/@modelcontextprotocol/server-${name}/dist/index.js`, import.meta.url),
  );
const node = (...args: readonly string[]) => ({ command: process.execPath, args });

beforeAll(async () => {
  mkdirSync(files);
  writeFileSync(join(files, 'poem.txt'), 'roses are red');
  const memory = {
    ...node(published('memory')),
    env: { MEMORY_FILE_PATH: join(folder.path, 'memory.jsonl') },
  };
  const mcpServers = {
    everything: node(published('everything')),
    files: node(published('filesystem'), files),
    memory,
  };
  writeFileSync(config, JSON.stringify({ mcpServers }));
  // The first start reads what the servers offer.
  // (A client of the newer revision would keep its list for a minute.)
  const client = await started('2025-11-25');
  await until(async () => (await listedServers(client)).includes('3 servers'));
  await client.close();
});

afterAll(async () => {
  for (const client of clients) await client.close();
  folder.remove();
});

async function started(era: Era): Promise<McpClient> {
  const client = clientOf(era);
  clients.push(client);
  await client.connect(bandolierMcp(era, dataDir, ['--config', config]));
  return client;
}

async function listedServers(client: McpClient): Promise<string> {
  const { tools } = await client.listTools();
  return tools[0].description ?? '';
}

interface Result {
  readonly isError?: boolean;
  readonly content: readonly { readonly type: string; readonly text?: string; readonly uri?: string }[];
  readonly structuredContent?: Record<string, unknown>;
  readonly _meta?: Record<string, unknown>;
}

const call = async (client: McpClient, name: string, args: object, more: object = {}): Promise<Result> =>
  (await client.callTool({ name, arguments: args as Record<string, unknown>, ...more })) as unknown as Result;
const textOf = ({ content }: Result): string => content.map(({ text = '' }) => text).join('\n');

describe.each(ERAS)('published servers behind bandolier mcp, for a client of revision %s', (era) => {
  let client: McpClient;

  beforeAll(async () => {
    client = await started(era);
  });
  afterAll(() => client.close());

  it('are found, described, called and reported on', async () => {
    const found = await call(client, 'find_tools', { query: 'read the text of a file' });
    const { decisionId, tools } = found.structuredContent as {
      decisionId: string;
      tools: { name: string; annotations?: object }[];
    };
    const tool = tools.find(({ name }) => name === 'read_text_file');
    expect(tool).toMatchObject({ annotations: { readOnlyHint: true }, inputSchema: { required: ['path'] } });
    const described = await call(client, 'describe_tool', { name: 'read_text_file' });
    expect(described.structuredContent).toMatchObject({ server: 'files', callable: true });
    const path = join(files, 'poem.txt');
    const read = await call(client, 'call_tool', { name: 'read_text_file', arguments: { path }, decisionId });
    expect(read.content).toEqual([{ type: 'text', text: 'roses are red' }]);
    expect(read._meta).toMatchObject({ 'bandolier/decisionId': decisionId });
    // Without the id it goes to the newest answer that had the tool, and says so.
    const again = await call(client, 'call_tool', { name: 'read_text_file', arguments: { path } });
    expect(textOf(again)).toContain(`counts for decision ${decisionId}`);
    const reported = await call(client, 'report_outcome', { tool: 'read_text_file', outcome: 'success' });
    expect(reported.structuredContent).toMatchObject({ decisionId, status: 'queued' });
  });

  it('are not sent what breaks their schemas, and their errors are answered', async () => {
    const broken = await call(client, 'call_tool', { name: 'read_text_file', arguments: { path: 7 } });
    expect(broken.isError).toBe(true);
    expect(textOf(broken)).toMatch(/path/);
    const outside = await call(client, 'call_tool', {
      name: 'read_text_file',
      arguments: { path: '/etc/passwd' },
    });
    expect(outside.isError).toBe(true);
  });

  it('give prompts, resources and completions', async () => {
    const { prompts } = await client.listPrompts();
    const prompt = prompts.find(({ name }) => name.includes('simple'));
    expect(prompt).toBeDefined();
    const { messages } = await client.getPrompt({ name: prompt?.name ?? '' });
    expect(messages.length).toBeGreaterThan(0);
    const { resources } = await client.listResources();
    const { contents } = await client.readResource({ uri: resources[0].uri });
    expect(contents).toHaveLength(1);
  });

  it('tell of their progress', async () => {
    const heard: number[] = [];
    const args = { name: 'trigger-long-running-operation', arguments: { duration: 0.2, steps: 2 } };
    await client.callTool(
      { name: 'call_tool', arguments: args },
      ...([
        ...(era === '2025-11-25' ? [undefined] : []),
        { onprogress: ({ progress }: { progress: number }) => heard.push(progress) },
      ] as never[]),
    );
    expect(heard.length).toBeGreaterThan(0);
  });
});

it('are known from the ledger before any of them runs, and what calls show is learned', async () => {
  const client = await started('2025-11-25');
  expect(await listedServers(client)).toContain('3 servers (everything, files, memory)');
  const found = await call(client, 'find_tools', { query: 'list the files of a folder' });
  const { decisionId } = found.structuredContent as { decisionId: string };
  await call(client, 'call_tool', { name: 'list_directory', arguments: { path: files } });
  await client.close();
  const service = await RunningService.start(dataDir);
  const { rewards } = await service.ask<{ rewards: object[] }>('GET', `/v1/decisions/${decisionId}`);
  await service.stop();
  expect(rewards).toEqual([expect.objectContaining({ tool: 'list_directory', outcome: 'success' })]);
});
