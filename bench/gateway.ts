/**
 * What does the gateway add to a call? The same tool of the same kind of server is called with the SDK's client alone and through
 * the gateway, in turns: arguments checked, progress asked for, links in results rewritten, results measured against the limit.
 *
 *   npx tsx bench/gateway.ts [--calls 300] [--rounds 5]
 *
 * One server is one process over stdio; a call has three arguments and a schema, a result 20 KB of text.
 */
import { writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { packageRoot } from '../config/package-root.ts';
import { Gateway } from '../src/gateway/gateway.ts';
import { openMcpConnection } from '../src/outgoing/mcp/open-mcp-connection.ts';
import { measuredOn } from './measured-on.ts';
import { median } from './median.ts';

const { values } = parseArgs({
  options: { calls: { type: 'string', default: '300' }, rounds: { type: 'string', default: '5' } },
});
const calls = Number(values.calls);
const rounds = Number(values.rounds);
const ROOT = packageRoot();
const SERVER = ['tests/set-up/mcp-servers/plain-server.mjs', JSON.stringify({})];
const command = process.execPath;
const args = [join(ROOT, SERVER[0]), SERVER[1]];

const text = 'word '.repeat(4000);
const given = { text, bytes: 1, unit: 'kg' };
const inputSchema = {
  type: 'object',
  properties: {
    text: { type: 'string', maxLength: 100_000 },
    bytes: { type: 'integer' },
    unit: { enum: ['kg', 'g'] },
  },
  required: ['text', 'unit'],
};

const client = new Client({ name: 'bench', version: '1' });
await client.connect(new StdioClientTransport({ command, args, stderr: 'ignore' }));
const gateway = new Gateway({
  open: (_, address, options) => openMcpConnection(address, { ...options, allowPrivate: true, version: '1' }),
  log: () => {},
  describeRest: (handle) => handle,
});
gateway.put('plain', { address: () => ({ command, args }), eager: true });
const target = { source: 'plain', nameThere: 'echo', tool: { name: 'echo', inputSchema } };

const ways = {
  'the SDK alone': async () => {
    const result = await client.callTool({ name: 'echo', arguments: given });
    if (result.isError === true) throw new Error('the call failed');
  },
  'through the gateway': async () => {
    const outcome = await gateway.call(target, given);
    if (outcome.kind !== 'ok') throw new Error(JSON.stringify(outcome));
  },
};

const samples: Record<string, number[]> = Object.fromEntries(Object.keys(ways).map((name) => [name, []]));
const processor: Record<string, number> = Object.fromEntries(Object.keys(ways).map((name) => [name, 0]));
for (const call of Object.values(ways)) for (let i = 0; i < 50; i++) await call();
for (let round = 0; round < rounds; round++) {
  for (const [name, call] of Object.entries(ways)) {
    const before = process.cpuUsage();
    for (let i = 0; i < calls; i++) {
      const start = performance.now();
      await call();
      samples[name].push(performance.now() - start);
    }
    const { user, system } = process.cpuUsage(before);
    processor[name] += (user + system) / 1000;
  }
}
await gateway.close();
await client.close();

const rows = Object.entries(samples).map(([name, times]) => {
  const sorted = [...times].sort((a, b) => a - b);
  return {
    way: name,
    'p50 ms': median(times),
    'p99 ms': sorted[Math.floor(sorted.length * 0.99)],
    'processor ms': processor[name] / times.length,
  };
});
const added = rows[1]['p50 ms'] - rows[0]['p50 ms'];
console.table(
  rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([key, value]) => [key, typeof value === 'number' ? value.toFixed(3) : value]),
    ),
  ),
);
console.log(
  `The gateway adds ${added.toFixed(3)} ms at the median (goal: below 3). Load average ${loadavg()[0].toFixed(1)}.`,
);
writeFileSync(
  join(ROOT, 'bench/results/gateway.json'),
  `${JSON.stringify({ ...measuredOn(`npx tsx bench/gateway.ts --calls ${calls} --rounds ${rounds}`), load: loadavg()[0], calls, rounds, rows, added }, null, 2)}\n`,
);
