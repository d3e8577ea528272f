import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { clientOf, ERAS, type Era, type McpClient } from '../set-up/mcp-clients.ts';
import { bandolierMcp } from './bandolier-mcp.ts';
import { cleanEnvironment, mainFile, RunningService, temporaryFolder, until } from './running-service.ts';

const cleanUps: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

function dataFolder(): string {
  const folder = temporaryFolder();
  cleanUps.push(folder.remove);
  return folder.path;
}

/** A client that starts `bandolier mcp` as an editor does. */
async function started(era: Era, dataDir: string, settings: Record<string, string> = {}): Promise<McpClient> {
  const client = clientOf(era);
  await client.connect(bandolierMcp(era, dataDir, [], settings));
  cleanUps.push(() => client.close());
  return client;
}

const TOOLS = [
  { name: 'refund', description: 'Gives a customer their money back.', inputSchema: { type: 'object' } },
  { name: 'ship', description: 'Ships a parcel to an address.', inputSchema: { type: 'object' } },
];

/** A data folder with two tools in it. */
async function folderWithTools(): Promise<string> {
  const path = dataFolder();
  const service = await RunningService.start(path);
  await service.ask('PUT', '/v1/catalogs/default/tools', { tools: TOOLS });
  await service.stop();
  return path;
}

interface Found {
  readonly decisionId: string;
  readonly tools: readonly { readonly name: string }[];
}

async function find(client: McpClient): Promise<Found> {
  const call = { name: 'find_tools', arguments: { query: 'give the money back' } };
  return (await client.callTool(call)).structuredContent as unknown as Found;
}

describe.each(ERAS)('bandolier mcp, for a client of revision %s', (era) => {
  it('opens the data folder, and what was reported is there afterwards', async () => {
    const path = await folderWithTools();
    const client = await started(era, path);
    expect((await client.listTools()).tools[0].description).toContain('2 tools');
    const { decisionId, tools } = await find(client);
    expect(tools[0].name).toBe('refund');
    await client.callTool({ name: 'report_outcome', arguments: { tool: 'refund', outcome: 'success' } });
    await client.close();
    const service = await RunningService.start(path);
    cleanUps.push(() => service.stop());
    const { rewards } = await service.ask<{ rewards: object[] }>('GET', `/v1/decisions/${decisionId}`);
    expect(rewards).toHaveLength(1);
  });

  it('ends when its client closes, before that would kill it, and leaves nothing locked', async () => {
    const path = dataFolder();
    const client = await started(era, path);
    await find(client);
    const child = (client.transport as unknown as { readonly _process: ChildProcess })._process;
    const kill = vi.spyOn(child, 'kill');
    const ended = once(child, 'exit');
    await client.close();
    expect(await ended).toEqual([0, null]);
    expect(kill).not.toHaveBeenCalled();
    const left = readdirSync(path).filter((name) => !['catalogs', 'embeddings', 'jobs'].includes(name));
    const [lock] = left;
    expect(left).toEqual([expect.stringMatching(/^in-use\.\d+\.lock$/)]);
    expect(JSON.parse(readFileSync(join(path, lock), 'utf8'))).toEqual({ holder: null });
  });

  it('joins the process that has the data folder, and goes on when that one ends', async () => {
    const path = await folderWithTools();
    const first = await started(era, path);
    const second = await started(era, path);
    const { decisionId } = await find(second);
    await first.close();
    expect((await find(second)).tools[0].name).toBe('refund');
    const reported = { tool: 'refund', outcome: 'success', decisionId };
    const { structuredContent } = await second.callTool({ name: 'report_outcome', arguments: reported });
    expect(structuredContent).toMatchObject({ decisionId, status: 'queued' });
  });

  it('leads to the service that BANDOLIER_URL names', async () => {
    const service = await RunningService.start(await folderWithTools());
    cleanUps.push(() => service.stop());
    const client = await started(era, dataFolder(), { BANDOLIER_URL: service.url });
    const { decisionId } = await find(client);
    expect(await service.ask('GET', `/v1/decisions/${decisionId}`)).toMatchObject({ decisionId });
  });
});

describe('the process', () => {
  function run(
    args: readonly string[],
    settings: Record<string, string>,
  ): ChildProcessByStdio<Writable, Readable, Readable> {
    const child = spawn(process.execPath, [mainFile, 'mcp', ...args], {
      env: cleanEnvironment({ BANDOLIER_PORT: '0', ...settings }),
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    cleanUps.push(() => child.kill('SIGKILL'));
    return child;
  }

  it('answers in lines of JSON alone, passes over what is none, and ends with its input', async () => {
    const child = run([], { BANDOLIER_DATA_DIR: dataFolder() });
    const lines: { id?: unknown }[] = [];
    createInterface({ input: child.stdout }).on('line', (line) => lines.push(JSON.parse(line)));
    const say = (message: unknown) =>
      child.stdin.write(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`);
    const hello = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'raw', version: '1' },
    };
    say('this is no JSON');
    say({ hello: 'there' });
    say({ jsonrpc: '2.0', id: 1, method: 'initialize', params: hello });
    await until(() => lines.some(({ id }) => id === 1));
    say({ jsonrpc: '2.0', method: 'notifications/initialized' });
    say({ jsonrpc: '2.0', id: 2, method: 'no/such/method' });
    const query = 'x'.repeat(10_000_000);
    say({
      jsonrpc: '2.0',
      id: 3,
      method: 'tools/call',
      params: { name: 'find_tools', arguments: { query } },
    });
    say({ jsonrpc: '2.0', id: 4, method: 'tools/list' });
    await until(() => [2, 3, 4].every((wanted) => lines.some(({ id }) => id === wanted)));
    const answerTo = (wanted: number) => lines.find(({ id }) => id === wanted);
    expect(answerTo(2)).toMatchObject({ error: { code: -32_601 } });
    expect(answerTo(3)).toMatchObject({ error: { message: expect.stringMatching(/larger than 4 MB/) } });
    expect(answerTo(4)).toMatchObject({ result: { tools: { length: 4 } } });
    child.stdin.end();
    expect(await once(child, 'close')).toEqual([0, null]);
  });

  it('says that it joins a process with another --config', async () => {
    const dataDir = dataFolder();
    const [mine, other] = ['mine.json', 'other.json'].map((name) => join(dataFolder(), name));
    writeFileSync(mine, '{"mcpServers": {}}');
    writeFileSync(other, '{"mcpServers": {"gone": {"command": "no-such-program"}}}');
    const started = async (config: string): Promise<() => string> => {
      const child = run(['--config', config], { BANDOLIER_DATA_DIR: dataDir });
      let said = '';
      child.stderr.on('data', (chunk: Buffer) => {
        said += chunk.toString();
      });
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })}\n`);
      await once(child.stdout, 'data');
      return () => said;
    };
    await started(mine);
    expect((await started(mine))()).not.toContain('not served');
    const joined = await started(other);
    await until(() => joined().includes(`The servers of ${other} are not served`));
    expect(joined()).toContain(`was started with ${mine}, and`);
    writeFileSync(mine, '{"mcpServers": {"new": {"command": "no-such-program"}}}');
    const later = await started(mine);
    await until(() => later().includes(`${mine} as it was then`));
  });

  it('says where no service answers', async () => {
    const child = run(['--url', 'http://127.0.0.1:9'], { BANDOLIER_DATA_DIR: dataFolder() });
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    expect(await once(child, 'close')).toEqual([1, null]);
    expect(said).toMatch(/No service answers at http:\/\/127\.0\.0\.1:9/);
  });
});
