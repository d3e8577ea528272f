import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RunningService, temporaryFolder, until } from './running-service.ts';

const folder = temporaryFolder();
let service: RunningService;
/** A decision that was made before all of this, and the tools it showed. */
let decision: { decisionId: string; tools: { name: string }[] };

beforeAll(async () => {
  service = await RunningService.start(folder.path, ['--sample']);
  decision = (await service.request<typeof decision>('POST', '/v1/route', { query: 'refund order 8812' }))
    .body;
  await service.ask('PUT', CONTEXT, { items: [item()] });
});
afterAll(async () => {
  expect(await service.stop()).toBe(0);
  folder.remove();
});

const ROUTE = '/v1/route';
const TOOLS = '/v1/catalogs/default/tools';
const INSTRUCTIONS = '/v1/catalogs/default/instructions';
const REWARDS = '/v1/decisions/{decision}/rewards';
const CONTEXT = '/v1/catalogs/default/users/ada/context';
const DISCOVER = '/v1/decisions/{decision}/discover';

interface BadRequest {
  readonly what: string;
  readonly send: Send;
  readonly status: number;
  readonly code: string;
  /** Path of a violation that has to be listed. */
  readonly violation?: string;
  /** What `suggestedFix` has to say. */
  readonly fix?: RegExp;
}
type Send = readonly [method: string, path: string, body?: unknown, headers?: Record<string, string>];

const refused = (status: number, code: string) => {
  return (what: string, ...send: Send): BadRequest => ({ what, send, status, code });
};
const malformed = refused(400, 'malformed-request');
const tooLarge = refused(413, 'body-too-large');
const unknownPolicy = refused(422, 'unknown-policy');
const noCatalog = refused(404, 'catalog-not-found');
const noTool = refused(404, 'tool-not-found');
const noInstruction = refused(404, 'instruction-not-found');
const noDecision = refused(404, 'decision-not-found');
const invalid = (violation: string, what: string, ...send: Send): BadRequest => {
  return { what, send, status: 422, code: 'validation-failed', violation };
};

const tool = (fields: object = {}) => ({
  name: 'planted',
  description: 'Plants.',
  inputSchema: {},
  ...fields,
});
const item = (fields: object = {}) => ({ id: 'song', text: 'Morning run', ...fields });
const items = (...fields: object[]) => ({ items: fields.map(item) });
const put = (fields: object) => ({ put: [tool(fields)] });
const putSchema = (schema: string) => `{"put":[{"name":"planted","description":"","inputSchema":${schema}}]}`;
const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
const circular = { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } };
const manyTools = () => Array.from({ length: 100_000 }, (_, i) => tool({ name: `t${i}` }));
const form = { 'content-type': 'application/x-www-form-urlencoded' };
const unknownReward = { decisionId: 'default.unknown', value: 1 };

const BAD_REQUESTS: readonly BadRequest[] = [
  malformed('JSON with a comma too many', 'POST', ROUTE, '{"query": "x",}'),
  malformed('an empty body', 'POST', ROUTE, ''),
  malformed('k NaN', 'POST', ROUTE, '{"query": "x", "k": NaN}'),
  malformed('a reward of NaN', 'POST', REWARDS, '{"value": NaN}'),
  refused(415, 'unsupported-media-type')('a form', 'POST', ROUTE, 'query=x', form),

  invalid('query', 'a number as query', 'POST', ROUTE, { query: 7 }),
  invalid('query', 'no query', 'POST', ROUTE, {}),
  invalid('(root)', 'a list as request', 'POST', ROUTE, []),
  invalid('k', 'k 0', 'POST', ROUTE, { query: 'x', k: 0 }),
  invalid('k', 'k 1e9', 'POST', ROUTE, { query: 'x', k: 1e9 }),
  invalid('k', 'k 2.5', 'POST', ROUTE, { query: 'x', k: 2.5 }),
  invalid('k', 'k 1e999', 'POST', ROUTE, '{"query": "x", "k": 1e999}'),
  invalid('query', 'a query of 40,000 characters', 'POST', ROUTE, { query: 'x'.repeat(40_000) }),
  invalid('query', 'a query of nearly 1 MB', 'POST', ROUTE, { query: 'refund '.repeat(140_000) }),
  tooLarge('a query of more than 1 MB', 'POST', ROUTE, { query: 'refund '.repeat(160_000) }),
  invalid('messages', 'no user in the messages', 'POST', ROUTE, {
    messages: [{ role: 'system', content: 'x' }],
  }),
  invalid('topK', 'an unknown field', 'POST', ROUTE, { query: 'x', topK: 3 }),
  invalid('__proto__', '__proto__ in a request', 'POST', ROUTE, '{"query": "x", "__proto__": {"k": 1}}'),
  invalid('pin', '201 pins', 'POST', ROUTE, { query: 'x', pin: Array(201).fill('create_refund') }),
  invalid(
    'idempotency-key',
    'a key with blanks',
    'POST',
    ROUTE,
    { query: 'x' },
    { 'idempotency-key': 'a b' },
  ),

  tooLarge('a body of 10 MB', 'POST', ROUTE, JSON.stringify({ query: 'x'.repeat(10_000_000) })),
  tooLarge('tools of 33 MB', 'PUT', TOOLS, `{"tools":[],"filler":"${'x'.repeat(33 * 1024 * 1024)}"}`),
  refused(413, 'too-many-tools')('100,000 tools in one call', 'PUT', TOOLS, { tools: manyTools() }),
  invalid('rewards', '1,001 rewards', 'POST', '/v1/rewards', { rewards: Array(1001).fill(unknownReward) }),

  ...[
    { tools: [{ type: 'function', function: { name: 'a', parameters: {} } }] },
    { tools: [{ name: 'a', description: 'b', input_schema: {} }] },
    { jsonrpc: '2.0', id: 1, result: { tools: [{ name: 'a', inputSchema: {} }] } },
    { openapi: '3.1.0', paths: {} },
    [tool()],
  ].map((body) => ({
    ...refused(422, 'validation-failed')(`tools as ${JSON.stringify(body)}`, 'PUT', TOOLS, body),
    fix: /bandolier import/,
  })),
  invalid('tools[1].name', 'a name twice', 'PUT', TOOLS, { tools: [tool(), tool()] }),
  invalid('tools[0].name', 'a name that URLs lose', 'PUT', TOOLS, { tools: [tool({ name: '..' })] }),
  invalid('put[0].name', 'the other one', 'PATCH', TOOLS, put({ name: '.' })),
  invalid('put[0].name', 'an empty name', 'PATCH', TOOLS, put({ name: '' })),
  invalid('put[0].name', 'a blank name', 'PATCH', TOOLS, put({ name: ' ' })),
  invalid('put[0].name', 'a control character in a name', 'PATCH', TOOLS, put({ name: 'a\u0007b' })),
  invalid('put[0].name', 'half a character in a name', 'PATCH', TOOLS, put({ name: '\ud800' })),
  invalid('put[0].name', 'a name of 257 characters', 'PATCH', TOOLS, put({ name: 'x'.repeat(257) })),
  invalid('put[0].description', 'a NUL in a description', 'PATCH', TOOLS, put({ description: 'a\u0000b' })),
  invalid(
    'put[0].description',
    'a long description',
    'PATCH',
    TOOLS,
    put({ description: 'x'.repeat(16_385) }),
  ),
  invalid('put[0].inputSchema', 'no schema', 'PATCH', TOOLS, { put: [{ name: 'planted', description: '' }] }),
  invalid(
    'put[0].inputSchema.__proto__',
    '__proto__ in a schema',
    'PATCH',
    TOOLS,
    putSchema('{"__proto__":{}}'),
  ),
  invalid('put[0].inputSchema', 'a schema 65 levels deep', 'PATCH', TOOLS, putSchema(nested(65))),
  refused(422, 'validation-failed')('one of 100,000 levels', 'PATCH', TOOLS, putSchema(nested(100_000))),
  invalid(
    'put[0].inputSchema',
    'one of 65 KB',
    'PATCH',
    TOOLS,
    put({ inputSchema: { a: 'x'.repeat(65_536) } }),
  ),
  invalid('put[0].inputSchema', 'a circular $ref', 'PATCH', TOOLS, put({ inputSchema: circular })),
  invalid('remove[0]', 'a tool put and removed', 'PATCH', TOOLS, { put: [tool()], remove: ['planted'] }),
  refused(412, 'revision-mismatch')(
    'another revision',
    'PUT',
    TOOLS,
    { tools: [] },
    { 'if-match': '"r999999"' },
  ),
  noTool('an unknown tool', 'GET', `${TOOLS}/nothing`),
  noTool('an unknown tool to delete', 'DELETE', `${TOOLS}/nothing`),
  noTool('an unknown tool to forget', 'DELETE', `${TOOLS}/nothing/memory`),
  noInstruction('an unknown instruction to forget', 'DELETE', `${INSTRUCTIONS}/nothing/memory`),
  noCatalog(
    'an instruction of an unknown catalog to forget',
    'DELETE',
    '/v1/catalogs/nowhere/instructions/x/memory',
  ),
  noTool('__proto__ as a tool', 'GET', `${TOOLS}/__proto__/stats`),
  invalid('cursor', 'a cursor that was never given out', 'GET', `${TOOLS}?cursor=%00`),
  invalid('(root)', 'a list of items as it is', 'PUT', '/v1/catalogs/default/users/ada/context', [item()]),
  ...[TOOLS, INSTRUCTIONS, '/v1/catalogs/default/users/ada/context'].map((list) =>
    invalid('cursor', `a cursor of ${list} that is none`, 'GET', `${list}?cursor=zzz`),
  ),

  noDecision('a discovery for an unknown decision', 'POST', '/v1/decisions/default.unknown/discover', {}),
  invalid('k', 'a discovery of no tools', 'POST', DISCOVER, { k: 0 }),
  invalid('k', 'a discovery of too many tools', 'POST', DISCOVER, { k: 51 }),
  invalid('k', 'a summary of so many tools', 'POST', DISCOVER, { k: 3, summary: true }),
  invalid('tokenBudget', 'a discovery for no tokens', 'POST', DISCOVER, { tokenBudget: 0 }),
  invalid('rating', 'a rating above 1', 'POST', DISCOVER, { rating: 1.5 }),
  invalid('count', 'an unknown member of a discovery', 'POST', DISCOVER, { count: 3 }),
  malformed('a discovery that is no JSON', 'POST', DISCOVER, '{"k": '),

  malformed('items that are no JSON', 'PUT', CONTEXT, '{"items": ['),
  invalid('items', 'no items', 'PUT', CONTEXT, {}),
  invalid('items[0].id', 'an item without an id', 'PUT', CONTEXT, { items: [{ text: 'x' }] }),
  invalid('items[0].id', 'an item that no URL can name', 'PUT', CONTEXT, items({ id: '..' })),
  invalid('items[0].id', 'an id of 257 characters', 'PUT', CONTEXT, items({ id: 'x'.repeat(257) })),
  invalid('items[1].id', 'an item twice', 'PUT', CONTEXT, items({}, { text: 'Evening run' })),
  invalid('items[0].text', 'an item without a text', 'PUT', CONTEXT, { items: [{ id: 'x' }] }),
  invalid('items[0].text', 'a blank text', 'PUT', CONTEXT, items({ text: ' \n ' })),
  invalid('items[0].text', 'a NUL in a text', 'PUT', CONTEXT, items({ text: 'a\u0000b' })),
  invalid('items[0].text', 'half a character in a text', 'PUT', CONTEXT, items({ text: 'a\ud800' })),
  invalid('items[0].text', 'a text of 8,193 bytes', 'PUT', CONTEXT, items({ text: `é${'x'.repeat(8191)}` })),
  tooLarge('a text of 1 MB', 'PUT', CONTEXT, items({ text: 'x'.repeat(1024 * 1024) })),
  invalid('items[0].at', 'a time that is none', 'PUT', CONTEXT, items({ at: 'tomorrow' })),
  invalid(
    'items[0].expiresAt',
    'a time that is over',
    'PUT',
    CONTEXT,
    items({ expiresAt: '2001-01-01T00:00:00Z' }),
  ),
  invalid('items[0].ttlSeconds', 'no time to live', 'PUT', CONTEXT, items({ ttlSeconds: 0 })),
  invalid(
    'items[0].ttlSeconds',
    'two ends',
    'PUT',
    CONTEXT,
    items({ ttlSeconds: 60, expiresAt: '2099-01-01T00:00:00Z' }),
  ),
  invalid('items[0].tags', '33 tags', 'PUT', CONTEXT, items({ tags: Array(33).fill('x') })),
  invalid(
    'items[0].numbers.a',
    'a number 1e999',
    'PUT',
    CONTEXT,
    '{"items":[{"id":"x","text":"x","numbers":{"a":1e999}}]}',
  ),
  invalid(
    'items[0].putAt',
    'a time that the service sets',
    'PUT',
    CONTEXT,
    items({ putAt: '2099-01-01T00:00:00Z' }),
  ),
  invalid('items', '2,001 items', 'PUT', CONTEXT, {
    items: Array.from({ length: 2001 }, (_, n) => item({ id: `n${n}` })),
  }),
  refused(413, 'too-many-items')('2,000 items beside the one that is there', 'PUT', CONTEXT, {
    items: Array.from({ length: 2000 }, (_, n) => item({ id: `n${n}` })),
  }),
  refused(413, 'too-many-items')('items of more than 1 MB together', 'PUT', CONTEXT, {
    items: Array.from({ length: 140 }, (_, n) => item({ id: `n${n}`, text: 'x'.repeat(8000) })),
  }),
  invalid(
    'items[0].at',
    'a time that is of the year 10000 in UTC',
    'PUT',
    CONTEXT,
    items({ at: '9999-12-31T23:59:59-23:59' }),
  ),
  tooLarge('items of 9 MB', 'PUT', CONTEXT, `{"items":[],"filler":"${'x'.repeat(9 * 1024 * 1024)}"}`),
  invalid('user', 'a user of 257 characters', 'GET', `/v1/catalogs/default/users/${'x'.repeat(257)}/context`),
  invalid('limit', 'a page of no items', 'GET', `${CONTEXT}?limit=0`),
  noCatalog('context in an unknown catalog', 'GET', '/v1/catalogs/nowhere/users/ada/context'),
  noCatalog('context for an unknown catalog', 'PUT', '/v1/catalogs/nowhere/users/ada/context', items({})),
  noCatalog('a user of an unknown catalog to export', 'GET', '/v1/catalogs/nowhere/users/ada/export'),
  noCatalog('a user of an unknown catalog to erase', 'DELETE', '/v1/catalogs/nowhere/users/ada'),

  noCatalog('an unknown catalog to route in', 'POST', ROUTE, { query: 'x', catalog: 'nowhere' }),
  noCatalog('an unknown catalog to fill', 'PUT', '/v1/catalogs/nowhere/tools', { tools: [tool()] }),
  noCatalog('an unknown catalog to delete', 'DELETE', '/v1/catalogs/nowhere'),
  noCatalog('a unit of an unknown catalog to forget', 'DELETE', '/v1/catalogs/nowhere/units/u/memory'),
  invalid('catalog', '__proto__ as a catalog', 'GET', '/v1/catalogs/__proto__'),
  invalid('catalog', 'a path as a catalog', 'PUT', '/v1/catalogs/..%2F..%2Fetc', {}),
  invalid('domains', 'too many domains', 'PUT', '/v1/catalogs/default', {
    domains: Array.from({ length: 33 }, (_, i) => ({ name: `d${i}`, words: ['x'] })),
  }),
  invalid('domains', 'a domain named twice', 'PUT', '/v1/catalogs/default', {
    domains: [
      { name: 'a', words: ['x'] },
      { name: 'a', words: ['y'] },
    ],
  }),
  invalid('domains', 'an example in two domains', 'PUT', '/v1/catalogs/default', {
    domains: [
      { name: 'a', examples: ['x'] },
      { name: 'b', examples: ['x'] },
    ],
  }),
  invalid('domains[0]', 'a domain of nothing', 'PUT', '/v1/catalogs/default', { domains: [{ name: 'a' }] }),
  invalid('domains[0].examples', 'too many examples', 'PUT', '/v1/catalogs/default', {
    domains: [{ name: 'a', examples: Array.from({ length: 201 }, (_, i) => `query ${i}`) }],
  }),
  invalid('domains[0].examples[0]', 'a blank example', 'PUT', '/v1/catalogs/default', {
    domains: [{ name: 'a', examples: [' '] }],
  }),
  invalid('domains[0].words[0]', 'a long phrase', 'PUT', '/v1/catalogs/default', {
    domains: [{ name: 'a', words: ['x'.repeat(201)] }],
  }),
  invalid('domain', 'a pin for a domain that there is not', 'PUT', '/v1/catalogs/default/pins', {
    pins: [{ tool: 'create_refund', domain: 'nothing' }],
  }),
  unknownPolicy('an unknown policy', 'PUT', '/v1/catalogs/default', { policy: { name: 'magic' } }),
  unknownPolicy('constructor as a policy', 'PUT', '/v1/catalogs/default', {
    policy: { name: 'constructor' },
  }),
  invalid('policy.parameters.luck', 'an unknown parameter', 'PUT', '/v1/catalogs/default', {
    policy: { name: 'sc-linucb', parameters: { luck: 7 } },
  }),
  invalid('policy.parameters.alpha', 'a parameter out of range', 'PUT', '/v1/catalogs/default', {
    policy: { parameters: { alpha: 11 } },
  }),
  invalid('rewards.windowSeconds', 'a window of one second', 'PUT', '/v1/catalogs/default', {
    rewards: { windowSeconds: 1 },
  }),

  noDecision('an unknown decision', 'GET', '/v1/decisions/default.unknown'),
  noDecision('a decision of no catalog', 'GET', '/v1/decisions/__proto__.x'),
  noDecision('a decision with a broken escape', 'GET', '/v1/decisions/%E0%A4%A'),
  noDecision('activation of an unknown decision', 'POST', '/v1/decisions/default.unknown/activate'),
  noDecision('a reward for an unknown decision', 'POST', '/v1/decisions/default.unknown/rewards', {
    value: 1,
  }),
  invalid('outcome', 'a reward of nothing', 'POST', REWARDS, {}),
  invalid('value', 'a reward of 7', 'POST', REWARDS, { value: 7 }),
  invalid('value', 'a reward of 1e999', 'POST', REWARDS, '{"value": 1e999}'),
  invalid('outcome', 'an unknown outcome', 'POST', REWARDS, { outcome: 'great' }),
  invalid('rewards[1].value', 'one bad reward among good ones', 'POST', '/v1/rewards', {
    rewards: [unknownReward, { ...unknownReward, value: -2 }],
  }),
  ...[
    ['rewards[0].decisionId', 'a reward for nothing', {}],
    ['rewards[0].tool', 'a reward for a task without a tool', { task: 'a' }],
    ['rewards[0].task', 'a reward for a decision and a task', { ...unknownReward, task: 'a', tool: 'b' }],
    ['rewards[0].userId', 'a reward for a decision and a user', { ...unknownReward, userId: 'a' }],
    ['rewards[0].task', 'a reward for a task of 257 characters', { task: 'a'.repeat(257), tool: 'b' }],
  ].map(([path, what, reward]) =>
    invalid(path as string, what as string, 'POST', '/v1/rewards', {
      rewards: [{ outcome: 'success', ...(reward as object) }],
    }),
  ),
  invalid('task', 'a route for an empty task', 'POST', ROUTE, { query: 'x', task: '' }),
  invalid('task', 'a task that no URL can name', 'POST', ROUTE, { query: 'x', task: '..' }),
  refused(404, 'task-not-found')('the end of an unknown task', 'POST', '/v1/tasks/unknown/end'),
  refused(404, 'catalog-not-found')('the end of a task in no catalog', 'POST', '/v1/tasks/unknown/end', {
    catalog: 'unknown',
  }),
  invalid('why', 'the end of a task for a reason', 'POST', '/v1/tasks/unknown/end', { why: 'done' }),
  refused(404, 'reward-not-found')('an unknown reward', 'GET', '/v1/rewards/default.unknown.1'),

  refused(404, 'endpoint-not-found')('an unknown path', 'GET', '/v1/nothing'),
  refused(405, 'method-not-allowed')('another method', 'DELETE', ROUTE),
];

/** Everything that a bad request must not change. */
async function observedState(): Promise<unknown> {
  const read = async (path: string) => (await service.request('GET', path)).body;
  const { reports, ...health } = (await read('/v1/rewards/health')) as { reports: object };
  return {
    catalogs: await read('/v1/catalogs'),
    tools: await read(`${TOOLS}?limit=1000`),
    context: await read(CONTEXT),
    decision: await read(`/v1/decisions/${decision.decisionId}`),
    stats: await read(`${TOOLS}/${encodeURIComponent(decision.tools[0].name)}/stats`),
    health: { ...health, unlearned: {}, reports: { ...reports, unknownDecision: 0 } },
  };
}

describe('bad input', () => {
  it('is answered with a problem that says what to do, and harms nothing', async () => {
    const { pid } = service.process;
    const before = await observedState();
    for (const { what, send, status, code, violation, fix } of BAD_REQUESTS) {
      const [method, path, body, headers] = send;
      const response = await service.request(
        method,
        path.replace('{decision}', decision.decisionId),
        body,
        headers,
      );
      const problem = response.body as { violations?: { path: string }[]; suggestedFix?: string };
      expect({ what, ...problem }).toMatchObject({
        what,
        code,
        status,
        detail: expect.stringMatching(/\w{3,}.*\.$/s),
        suggestedFix: expect.stringMatching(/\w{3,}.*\.$/s),
        requestId: response.headers.get('x-request-id'),
      });
      expect([what, response.status]).toEqual([what, status]);
      expect(response.headers.get('content-type')).toBe('application/problem+json');
      if (fix !== undefined) expect([what, problem.suggestedFix]).toEqual([what, expect.stringMatching(fix)]);
      if (violation !== undefined)
        expect([what, problem.violations?.map((one) => one.path)]).toEqual([
          what,
          expect.arrayContaining([violation]),
        ]);
    }
    expect(await observedState()).toEqual(before);
    expect(service.isAlive).toBe(true);
    expect(service.process.pid).toBe(pid);
    expect(service.output).not.toMatch(/"level":(50|60)/);
  });

  it('has no name for a test twice', () => {
    const names = BAD_REQUESTS.map(({ what }) => what);
    expect(new Set(names).size).toBe(names.length);
  });
});

describe('input that is odd but right', () => {
  it('routes any text: emoji, control characters, ten scripts', async () => {
    const texts = [
      '🤷',
      '\u0000\u001b[31m',
      'возврат денег 退款 返金 환불 استرداد धनवापसी החזר επιστροφή คืนเงิน remboursement',
    ];
    for (const query of texts) {
      const { status, body } = await service.request('POST', '/v1/route', { query });
      expect([query, status]).toEqual([query, 200]);
      const { tools, fallback } = body as { tools: unknown[]; fallback: string | null };
      expect(tools.length > 0 || fallback !== null).toBe(true);
    }
  });

  it('takes a recursive schema and a parameter called constructor', async () => {
    const inputSchema = {
      properties: { constructor: { type: 'string' }, children: { items: { $ref: '#' } } },
    };
    await service.request('PUT', '/v1/catalogs/odd', {});
    const put = { put: [tool({ inputSchema, description: 'Plants trees of trees.' })] };
    expect((await service.request('PATCH', '/v1/catalogs/odd/tools', put)).status).toBe(200);
    const stored = await service.request('GET', '/v1/catalogs/odd/tools/planted');
    expect(stored.body).toMatchObject({ inputSchema });
    const routed = await service.request<{ tools: object[] }>('POST', '/v1/route', {
      query: 'plant a tree',
      catalog: 'odd',
    });
    expect(routed.body.tools[0]).toMatchObject({ name: 'planted', definition: { inputSchema } });
  });
});

describe('a reward', () => {
  const settled = async (catalog: string) => {
    const health = () => service.request<{ pending: number }>('GET', `/v1/rewards/health?catalog=${catalog}`);
    while ((await health()).body.pending > 0);
  };

  it('that comes twice counts once', async () => {
    const { name } = decision.tools[0];
    const path = `/v1/decisions/${decision.decisionId}/rewards`;
    const report = { tool: name, outcome: 'success', more: true, idempotencyKey: 'step-1' };
    expect((await service.request('POST', path, report)).body).toMatchObject({ status: 'queued' });
    await settled('default');
    expect((await service.request('POST', path, report)).body).toMatchObject({ status: 'duplicate' });
    await settled('default');
    const stats = await service.request('GET', `${TOOLS}/${encodeURIComponent(name)}/stats`);
    expect(stats.body).toMatchObject({ called: 1, successes: 1, rewardSum: 1 });
  });

  it('after the window is logged or refused, as the catalog says, and teaches nothing', async () => {
    const rewards = { windowSeconds: 5, onLate: 'reject' };
    await service.request('PUT', '/v1/catalogs/brief', { rewards });
    await service.request('PUT', '/v1/catalogs/brief/tools', { tools: [tool()] });
    const { decisionId, rewardDeadline } = (
      await service.request<{ decisionId: string; rewardDeadline: string }>('POST', '/v1/route', {
        query: 'plant',
        catalog: 'brief',
      })
    ).body;
    const deadline = Date.parse(rewardDeadline);
    await until(() => Date.now() > deadline);

    const path = `/v1/decisions/${decisionId}/rewards`;
    const report = { tool: 'planted', outcome: 'success' };
    const refused = await service.request('POST', path, report);
    expect(refused).toMatchObject({ status: 409, body: { code: 'reward-late' } });

    await service.request('PUT', '/v1/catalogs/brief', { rewards: { onLate: 'log' } });
    expect(await service.request('POST', path, report)).toMatchObject({
      status: 202,
      body: { status: 'late' },
    });
    await settled('brief');
    const health = await service.request('GET', '/v1/rewards/health?catalog=brief');
    expect(health.body).toMatchObject({ reports: { late: 1, applied: 0 } });
  });

  it('before activation is refused when the slate was to be activated', async () => {
    const request = { query: 'refund', activate: 'later' };
    const { decisionId } = (await service.request<{ decisionId: string }>('POST', '/v1/route', request)).body;
    const path = `/v1/decisions/${decisionId}`;
    const early = await service.request('POST', `${path}/rewards`, { value: 1 });
    expect(early).toMatchObject({ status: 409, body: { code: 'decision-not-activated' } });
    expect((await service.request('POST', `${path}/activate`)).status).toBe(200);
    expect((await service.request('POST', `${path}/rewards`, { value: 1 })).status).toBe(202);
  });
});
