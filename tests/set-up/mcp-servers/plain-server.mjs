// An MCP server of 2025-11-25 over stdio, written by hand so that it can do wrong what a library does not let one do.
// Its argument is JSON: {name, tools, pages, silent, greet, exitAtOnce, exitAtProbe, changeWhilePaging, flood, names, needs}:
// `names` are the tools that it has, of those below; `needs` is a file without which it does not start.
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';

const given = JSON.parse(process.argv[2] ?? '{}');
if (given.exitAtOnce) {
  process.stderr.write('no licence found\n');
  process.exit(3);
}
if (given.needs !== undefined && !existsSync(given.needs)) process.exit(4);
if (given.greet) process.stdout.write('Welcome!\n{"broken": \n');
if (given.flood) {
  const line = 'x'.repeat(10_000);
  const flood = () => {
    for (let i = 0; i < 100; i++) process.stderr.write(`${line}\n`);
    setTimeout(flood, 1);
  };
  flood();
}

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const text = (words) => ({ content: [{ type: 'text', text: String(words) }] });
const waiting = new Map();
let asked = 0;
let pagesRead = 0;
let cancelled = 0;
const inputSchema = { type: 'object', properties: { text: { type: 'string' }, bytes: { type: 'integer' } } };
const NAMES = ['echo', 'pid', 'sleep', 'big', 'die', 'elicit', 'steps', 'meta', 'fail', 'nonsense', 'env'];
const names = given.tools
  ? Array.from({ length: given.tools }, (_, i) => `tool-${i}`)
  : (given.names ?? NAMES);
const tools = names.map((name) => ({ name, description: `Does ${name}`, inputSchema, 'x-unknown': 1 }));
for (const tool of tools) {
  const properties = { sum: { type: 'integer' } };
  if (tool.name === 'answer') tool.outputSchema = { type: 'object', properties, required: ['sum'] };
}

const calls = {
  echo: ({ text: words }) => text(words),
  pid: () => text(process.pid),
  env: ({ text: name }) => text(process.env[name]),
  sleep: (_, { _meta }) => {
    const progressToken = _meta?.progressToken;
    const params = { progressToken, progress: 1 };
    if (progressToken !== undefined) send({ method: 'notifications/progress', params });
    return null;
  },
  cancelled: () => text(cancelled),
  answer: (given) => ({ content: [], ...given }),
  fresh: () => text('fresh'),
  swell: () => {
    if (tools.every(({ name }) => name !== 'fresh'))
      tools.push({ name: 'fresh', description: 'Came later', inputSchema });
    send({ method: 'notifications/tools/list_changed' });
    return text('swollen');
  },
  big: ({ bytes }) => text('ä'.repeat(bytes / 2)),
  die: () => process.kill(process.pid, 'SIGKILL'),
  fail: () => ({ ...text('it went wrong'), isError: true }),
  meta: (_, { _meta }) => ({ ...text('see _meta'), _meta }),
  nonsense: (_, __, id) => {
    process.stdout.write(`{"jsonrpc":"2.0","id":${id},"result":"yes"}\n`);
    return null;
  },
  steps: (_, { _meta }, id) => {
    for (const progress of [1, 2, 3]) {
      send({
        method: 'notifications/progress',
        params: { progressToken: _meta.progressToken, progress, total: 3 },
      });
    }
    send({ id, result: text('done') });
    return null;
  },
  elicit: (_, __, id) => {
    const question = `question-${++asked}`;
    const params = {
      message: 'Which city?',
      requestedSchema: { type: 'object', properties: { city: { type: 'string' } } },
    };
    waiting.set(question, (answer) => send({ id, result: text(JSON.stringify(answer)) }));
    send({ id: question, method: 'elicitation/create', params });
    return null;
  },
};

function answer({ id, method, params, result, error }) {
  if (method === 'notifications/cancelled') cancelled++;
  if (method === undefined) return waiting.get(id)?.(result ?? error);
  if (method === 'server/discover' && given.exitAtProbe) process.exit(1);
  if (given.silent && method !== 'initialize') return;
  if (method === 'initialize') {
    const capabilities = { tools: { listChanged: true }, prompts: {}, resources: {} };
    send({
      id,
      result: {
        protocolVersion: '2025-11-25',
        capabilities,
        serverInfo: { name: given.name ?? 'plain', version: '1' },
      },
    });
  } else if (method === 'tools/list') {
    const size = Math.ceil(tools.length / (given.pages ?? 1));
    const from = Number(params?.cursor ?? 0);
    if (given.changeWhilePaging && pagesRead++ === 1) {
      tools.splice(0, 1);
      send({ method: 'notifications/tools/list_changed' });
    }
    const nextCursor = from + size < tools.length ? String(from + size) : undefined;
    send({
      id,
      result: { tools: given.listsNonsense ? 'many' : tools.slice(from, from + size), nextCursor },
    });
  } else if (method === 'tools/call') {
    const call = calls[params.name];
    if (call === undefined) return send({ id, error: { code: -32602, message: `no tool ${params.name}` } });
    const called = call(params.arguments ?? {}, params, id);
    if (called !== null) send({ id, result: called });
  } else if (method === 'prompts/list') {
    send({ id, result: { prompts: [{ name: 'greet', arguments: [{ name: 'who' }] }] } });
  } else if (method === 'prompts/get') {
    const content = { type: 'text', text: `Greet ${params.arguments.who}` };
    send({ id, result: { messages: [{ role: 'user', content }] } });
  } else if (method === 'resources/list') {
    send({ id, result: { resources: [{ uri: 'file:///notes.txt', name: 'notes' }] } });
  } else if (method === 'resources/templates/list') {
    send({ id, result: { resourceTemplates: [{ uriTemplate: 'file:///{name}', name: 'files' }] } });
  } else if (method === 'resources/read') {
    send({ id, result: { contents: [{ uri: params.uri, text: 'noted' }] } });
  } else if (id !== undefined) {
    send({ id, error: { code: -32601, message: 'Method not found' } });
  }
}

createInterface({ input: process.stdin })
  .on('line', (line) => answer(JSON.parse(line)))
  .on('close', () => process.exit(0));
