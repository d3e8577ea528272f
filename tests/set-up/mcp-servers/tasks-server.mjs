// An MCP server of 2026-07-28 over stdio with the extension for tasks, written by hand since the SDK has none of it.
import { createInterface } from 'node:readline';

const EXTENSION = 'io.modelcontextprotocol/tasks';
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const text = (words) => ({ content: [{ type: 'text', text: String(words) }] });
const requestedSchema = { type: 'object', properties: { city: { type: 'string' } } };
const inputRequests = {
  where: { method: 'elicitation/create', params: { mode: 'form', message: 'Where?', requestedSchema } },
};
/** What becomes of a task, one step each time that somebody asks for it. */
const COURSES = {
  brew: [{ status: 'working' }, { status: 'completed', result: text('brewed') }],
  choose: [{ status: 'working' }, { status: 'input_required', inputRequests }],
  spill: [{ status: 'failed', error: { code: -32_603, message: 'spilt' } }],
  linger: [{ status: 'working' }],
};
const inputSchema = { type: 'object' };
const tools = [...Object.keys(COURSES), 'lingered'].map((name) => ({
  name,
  description: `Does ${name} in the background`,
  inputSchema,
}));
const tasks = new Map();
let cancelled = 0;

const taskOf = (taskId) => {
  const { steps, step } = tasks.get(taskId);
  const times = { createdAt: '2026-07-28T00:00:00Z', lastUpdatedAt: '2026-07-28T00:00:00Z' };
  return { taskId, ...times, ttlMs: null, pollIntervalMs: 10, ...steps[Math.min(step, steps.length - 1)] };
};

const answers = {
  'server/discover': () => ({
    supportedVersions: ['2026-07-28'],
    capabilities: { tools: {}, extensions: { [EXTENSION]: {} } },
    serverInfo: { name: 'tasks', version: '1' },
    ttlMs: 0,
    cacheScope: 'private',
  }),
  'tools/list': () => ({ tools, ttlMs: 0, cacheScope: 'private' }),
  'tools/call': ({ name, _meta }) => {
    if (name === 'lingered') return text(cancelled);
    const declared = _meta?.['io.modelcontextprotocol/clientCapabilities']?.extensions?.[EXTENSION];
    if (declared === undefined) return null;
    const taskId = `task-${tasks.size + 1}`;
    tasks.set(taskId, { steps: COURSES[name], step: 0 });
    const { progressToken } = _meta;
    const params = { progressToken, progress: 1 };
    if (progressToken !== undefined) send({ method: 'notifications/progress', params });
    return { ...taskOf(taskId), status: 'working', resultType: 'task' };
  },
  'tasks/get': ({ taskId }) => {
    const task = taskOf(taskId);
    tasks.get(taskId).step++;
    return task;
  },
  'tasks/update': ({ taskId, inputResponses }) => {
    const result = text(JSON.stringify(inputResponses.where));
    tasks.set(taskId, { steps: [{ status: 'completed', result }], step: 0 });
    return {};
  },
  'tasks/cancel': ({ taskId }) => {
    cancelled++;
    tasks.set(taskId, { steps: [{ status: 'cancelled' }], step: 0 });
    return {};
  },
};

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) return;
    const answer = answers[method];
    if (answer === undefined) return send({ id, error: { code: -32_601, message: 'Method not found' } });
    const result = answer(params ?? {});
    if (result !== null) return send({ id, result: { resultType: 'complete', ...result } });
    const data = { requiredCapabilities: { extensions: { [EXTENSION]: {} } } };
    send({ id, error: { code: -32_021, message: 'Missing required client capability', data } });
  })
  .on('close', () => process.exit(0));
