import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SourceView } from '../../src/sources/sources.ts';
import { clientOf, type McpClient } from '../set-up/mcp-clients.ts';
import { bandolierMcp } from './bandolier-mcp.ts';
import { cleanEnvironment, mainFile, RunningService, temporaryFolder, until } from './running-service.ts';

const folder = temporaryFolder();
const dataDir = join(folder.path, 'data');
const config = join(folder.path, 'mcp.json');
const serverFile = (name: string): string =>
  fileURLToPath(new URL(`../set-up/mcp-servers/${name}`, import.meta.url));
const local = spawn(process.execPath, [serverFile('modern-server.mjs'), '0'], {
  stdio: ['ignore', 'pipe', 'inherit'],
});

let client: McpClient;
let said = '';

beforeAll(async () => {
  const [port] = (await once(createInterface({ input: local.stdout }), 'line')) as [string];
  const mcpServers = {
    local: { url: `http://localhost:${port}/mcp` },
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference
    secretive: { command: process.execPath, args: ['${NOT_SET_ANYWHERE}'] },
    absent: { command: join(folder.path, 'no-such-program') },
  };
  writeFileSync(config, JSON.stringify({ mcpServers }));
  const transport = bandolierMcp('2025-11-25', dataDir, ['--config', config]);
  (transport as StdioClientTransport).stderr?.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  client = clientOf('2025-11-25');
  await client.connect(transport);
});

afterAll(async () => {
  await client?.close();
  local.kill();
  folder.remove();
});

function serviceUrl(): string {
  return readFileSync(join(dataDir, 'url'), 'utf8').split('\n')[0];
}

async function command(...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [mainFile, ...args], {
    env: cleanEnvironment({ BANDOLIER_DATA_DIR: dataDir }),
  });
  return stdout;
}

async function sources(): Promise<Map<string, SourceView>> {
  const { sources: list } = (await (await fetch(`${serviceUrl()}/v1/catalogs/default/sources`)).json()) as {
    sources: SourceView[];
  };
  return new Map(list.map((source) => [source.name, source]));
}

describe('the servers of a configuration', () => {
  it('are waited for by the first who ask, and those that cannot be read are named', async () => {
    const [list, found] = await Promise.all([
      client.listTools(),
      client.callTool({ name: 'find_tools', arguments: { query: 'say it again' } }),
    ]);
    expect(list.tools[0].description).toContain('of one server (local)');
    const { tools, notes } = found.structuredContent as { tools: { name: string }[]; notes: string[] };
    expect(tools.map(({ name }) => name)).toContain('echo');
    expect(notes).toEqual([
      expect.stringMatching(/^Could not be read: .*secretive \(Server "secretive" needs/),
    ]);
    expect(notes[0]).toMatch(/absent \(/);
    const lines = said.split('\n').filter((line) => line.includes('could not be read'));
    expect(
      lines.map((line) => /^The tools of server "(\w+)" could not be read: ./.exec(line)?.[1]).sort(),
    ).toEqual(['absent', 'secretive']);
    const report = await command('report', '--url', serviceUrl());
    expect(report).toMatch(/^Source "absent" could not be read: .*\nSource "secretive" could not be read: /m);
  });

  it('may be at addresses of this machine, and calls get there', async () => {
    await until(async () => (await sources()).get('local')?.status === 'ok');
    const call = { name: 'call_tool', arguments: { name: 'echo', arguments: { text: 'hello' } } };
    expect(await client.callTool(call)).toMatchObject({ content: [{ type: 'text', text: 'hello' }, {}] });
  });

  it('are called although the decisionId is unknown, which is said', async () => {
    const found = await client.callTool({ name: 'find_tools', arguments: { query: 'say it again' } });
    const { decisionId } = found.structuredContent as { decisionId: string };
    const call = { name: 'echo', arguments: { text: 'hello' }, decisionId: 'nonsense' };
    const text = `(Bandolier: no decision "nonsense" showed this tool; this call counts for decision ${decisionId}.)`;
    expect(await client.callTool({ name: 'call_tool', arguments: call })).toMatchObject({
      content: [{ text: 'hello' }, { text }],
      _meta: { 'bandolier/decisionId': decisionId },
    });
    expect(said).not.toContain('could not be reported');
  });

  it('are errors when a variable is not set, with a pause until the next try', async () => {
    await until(async () => (await sources()).get('secretive')?.status === 'error');
    const { error, nextSync, lastAttempt } = (await sources()).get('secretive') as SourceView;
    expect(error).toBe(
      'Server "secretive" needs the environment variable NOT_SET_ANYWHERE, which is not set.',
    );
    expect(Date.parse(nextSync ?? '') - Date.parse(lastAttempt ?? '')).toBe(30_000);
  });

  it('cannot be read by a service that has no configuration, which says so at once and keeps their tools', async () => {
    await client.close();
    const service = await RunningService.start(dataDir);
    const { status, body } = await service.request<SourceView>(
      'POST',
      '/v1/catalogs/default/sources/local/sync',
    );
    expect([status, body.status, body.error]).toEqual([
      200,
      'error',
      expect.stringMatching(/^Server "local" is not in the configuration that this process was started with/),
    ]);
    expect(body.tools).toBeGreaterThan(0);
    expect(await service.stop()).toBe(0);
  });
});
