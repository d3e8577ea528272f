/**
 * What does the Model Context Protocol cost? The same search over POST /v1/route and over find_tools at /mcp, in turns; and how long
 * an MCP client waits for its first list of tools from `bandolier mcp` with ten configured servers, which it knows already.
 *
 *   npx tsx bench/mcp.ts [--searches 300] [--starts 7]
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { packageRoot } from '../config/package-root.ts';
import { RunningService, temporaryFolder } from '../tests/e2e/running-service.ts';
import { measuredOn } from './measured-on.ts';
import { median } from './median.ts';

const { values } = parseArgs({
  options: { searches: { type: 'string', default: '300' }, starts: { type: 'string', default: '7' } },
});
const main = join(packageRoot(), 'dist', 'src', 'main.js');
const loadBefore = loadavg()[0];

async function searches(count: number): Promise<{ route: number; mcp: number }> {
  const folder = temporaryFolder();
  const service = await RunningService.start(folder.path, ['--sample']);
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 'find_tools',
  };
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const asked = async (path: string, body: object): Promise<number> => {
    const start = performance.now();
    const response = await fetch(service.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    const text = await response.text();
    if (!response.ok || !text.includes('decisionId')) throw new Error(`${path}: ${response.status} ${text}`);
    return performance.now() - start;
  };
  const times = { route: [] as number[], mcp: [] as number[] };
  for (let i = 0; i < count + 50; i++) {
    const query = `search the mails of customer ${i} for an invoice`;
    const route = await asked('/v1/route', { query, sessionId: 'bench' });
    const params = { name: 'find_tools', arguments: { query }, _meta };
    const mcp = await asked('/mcp', { jsonrpc: '2.0', id: i, method: 'tools/call', params });
    if (i < 50) continue;
    times.route.push(route);
    times.mcp.push(mcp);
  }
  await service.stop();
  folder.remove();
  return { route: median(times.route), mcp: median(times.mcp) };
}

async function firstLists(count: number): Promise<number[]> {
  const folder = mkdtempSync(join(tmpdir(), 'bandolier-bench-mcp-'));
  const everything = join(
    packageRoot(),
    'node_modules/@modelcontextprotocol/server-everything/dist/index.js',
  );
  const server = { command: process.execPath, args: [everything] };
  const mcpServers = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`server-${i}`, server]));
  const config = join(folder, 'mcp.json');
  writeFileSync(config, JSON.stringify({ mcpServers }));
  const started = async (): Promise<Client> => {
    const client = new Client({ name: 'bench', version: '1' });
    const env = {
      ...process.env,
      BANDOLIER_DATA_DIR: join(folder, 'data'),
      BANDOLIER_PORT: '0',
    } as Record<string, string>;
    const args = [main, 'mcp', '--config', config];
    await client.connect(
      new StdioClientTransport({ command: process.execPath, args, env, stderr: 'ignore' }),
    );
    return client;
  };
  const first = await started();
  while (!(await first.listTools()).tools[0].description?.includes('10 servers')) await wait(500);
  await first.close();
  const times: number[] = [];
  for (let i = 0; i < count; i++) {
    const start = performance.now();
    const client = await started();
    await client.listTools();
    times.push(performance.now() - start);
    await client.close();
  }
  rmSync(folder, { recursive: true, force: true });
  return times;
}

const { route, mcp } = await searches(Number(values.searches));
console.log(
  `POST /v1/route p50 ${route.toFixed(2)} ms, find_tools at /mcp p50 ${mcp.toFixed(2)} ms: ${(mcp / route).toFixed(2)} ×`,
);
const starts = await firstLists(Number(values.starts));
console.log(
  `first tools/list with ten known servers: median ${median(starts).toFixed(0)} ms, longest ${Math.max(...starts).toFixed(0)} ms`,
);
const load = [loadBefore, loadavg()[0]].map((one) => one.toFixed(1)).join(' to ');
console.log(`load ${load}`);
writeFileSync(
  join(packageRoot(), 'bench/results/mcp.json'),
  `${JSON.stringify({ ...measuredOn('npx tsx bench/mcp.ts'), load, routeMs: route, findToolsMs: mcp, ratio: mcp / route, firstListMs: starts }, null, 2)}\n`,
);
