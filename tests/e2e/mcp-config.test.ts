import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SourceView } from '../../src/sources/sources.ts';
import { clientOf, type McpClient, stdioTransport } from '../set-up/mcp-clients.ts';
import { cleanEnvironment, mainFile, temporaryFolder, until } from './running-service.ts';

const folder = temporaryFolder();
const dataDir = join(folder.path, 'data');
const config = join(folder.path, 'mcp.json');
const serverFile = (name: string): string =>
  fileURLToPath(new URL(`../set-up/mcp-servers/${name}`, import.meta.url));
const local = spawn(process.execPath, [serverFile('modern-server.mjs'), '0'], {
  stdio: ['ignore', 'pipe', 'inherit'],
});

let client: McpClient;

beforeAll(async () => {
  const [port] = (await once(createInterface({ input: local.stdout }), 'line')) as [string];
  const mcpServers = {
    local: { url: `http://localhost:${port}/mcp` },
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference
    secretive: { command: process.execPath, args: ['${NOT_SET_ANYWHERE}'] },
    absent: { command: join(folder.path, 'no-such-program') },
  };
  writeFileSync(config, JSON.stringify({ mcpServers }));
  const environment = cleanEnvironment({
    BANDOLIER_DATA_DIR: dataDir,
    BANDOLIER_PORT: '0',
    BANDOLIER_MAX_WAIT_MS: '60000',
  });
  const transport = stdioTransport(
    '2025-11-25',
    process.execPath,
    [mainFile, 'mcp', '--config', config],
    environment,
  );
  client = clientOf('2025-11-25');
  await client.connect(transport);
});

afterAll(async () => {
  await client?.close();
  local.kill();
  folder.remove();
});

async function sources(): Promise<Map<string, SourceView>> {
  const [url] = readFileSync(join(dataDir, 'url'), 'utf8').split('\n');
  const { sources: list } = (await (await fetch(`${url}/v1/catalogs/default/sources`)).json()) as {
    sources: SourceView[];
  };
  return new Map(list.map((source) => [source.name, source]));
}

describe('the servers of a configuration', () => {
  it('may be at addresses of this machine, and calls get there', async () => {
    await until(async () => (await sources()).get('local')?.status === 'ok');
    const call = { name: 'call_tool', arguments: { name: 'echo', arguments: { text: 'hello' } } };
    expect(await client.callTool(call)).toMatchObject({ content: [{ type: 'text', text: 'hello' }, {}] });
  });

  it('are errors when a variable is not set, with a pause until the next try', async () => {
    await until(async () => (await sources()).get('secretive')?.status === 'error');
    const { error, nextSync, lastAttempt } = (await sources()).get('secretive') as SourceView;
    expect(error).toBe(
      'Server "secretive" needs the environment variable NOT_SET_ANYWHERE, which is not set.',
    );
    expect(Date.parse(nextSync ?? '') - Date.parse(lastAttempt ?? '')).toBe(30_000);
  });
});
