import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RunningService, temporaryFolder } from './running-service.ts';
import { SHOP_TOOLS, Shop } from './shop.ts';

const folder = temporaryFolder();
let service: RunningService;
let shop: Shop;
beforeAll(async () => {
  service = await RunningService.start(folder.path);
  shop = await Shop.open(service, 'requests');
});
afterAll(async () => {
  expect(await service.stop()).toBe(0);
  folder.remove();
});

interface Operation {
  readonly requestBody: { readonly content: Record<string, { readonly example: object }> };
}

const QUERY = 'where is my parcel';
const names = SHOP_TOOLS.map(({ name }) => name);

describe('what a routing request may ask for', () => {
  it('serves every tool when there are fewer than asked for', async () => {
    const { tools } = await shop.route(QUERY, { k: 50 });
    expect(tools.map(({ name }) => name).sort()).toEqual([...names].sort());
    expect(tools.map(({ rank }) => rank)).toEqual(names.map((_, index) => index + 1));
    expect(tools.every(({ propensity }) => propensity === 1)).toBe(true);
  });

  it('answers the example of its own documentation', async () => {
    const { paths } = await service.ask<{ paths: Record<string, Record<string, Operation>> }>(
      'GET',
      '/openapi.json',
    );
    const { example } = paths['/v1/route'].post.requestBody.content['application/json'];
    expect((await service.request('POST', '/v1/route', example)).status).toBe(200);
  });

  it('takes a query or messages, not both', async () => {
    const messages = [{ role: 'user', content: QUERY }];
    const both = await service.request('POST', '/v1/route', { query: QUERY, messages });
    expect(both.body).toMatchObject({
      code: 'validation-failed',
      violations: [{ path: 'query', message: 'send `query` or `messages`, not both' }],
    });
  });

  it('gives propensities that add up to the size of the slate', async () => {
    const { decisionId, tools } = await shop.route(QUERY, { k: 3 });
    const { candidates, slateProbability } = await shop.explain(decisionId);
    const sum = candidates.reduce((total, { propensity }) => total + propensity, 0);
    expect(sum).toBeCloseTo(3, 3);
    expect(candidates).toHaveLength(names.length);
    expect(candidates.slice(0, 3).map(({ name }) => name)).toEqual(tools.map(({ name }) => name));
    expect(slateProbability).toBeGreaterThan(0);
    expect(slateProbability).toBeLessThanOrEqual(1);
  });

  it('puts pinned tools first and leaves excluded ones out', async () => {
    const pin = ['send_newsletter', 'export_report'];
    const exclude = ['close_ticket', 'track_parcel'];
    const { tools } = await shop.route(QUERY, { k: 4, pin, exclude });
    expect(tools.map(({ name }) => name).slice(0, 2)).toEqual(['send_newsletter', 'export_report']);
    expect(tools.slice(0, 2)).toMatchObject([
      { reason: 'pinned', propensity: 1 },
      { reason: 'pinned', propensity: 1 },
    ]);
    expect(tools).toHaveLength(4);
    for (const { name } of tools) expect(exclude).not.toContain(name);
    expect((await shop.route(QUERY, { exclude: names })).tools).toEqual([]);
  });

  it('gives definitions in the shape that the model takes', async () => {
    const ask = async (format?: string) => {
      const more = { k: 1, pin: ['track_parcel'], ...(format && { format }) };
      return (await shop.route(QUERY, more)).tools[0].definition;
    };
    const { name, description, inputSchema } = SHOP_TOOLS.find((tool) => tool.name === 'track_parcel')!;
    expect(await ask()).toEqual({ name, description, inputSchema });
    expect(await ask('mcp')).toEqual({ name, description, inputSchema });
    expect(await ask('openai')).toEqual({
      type: 'function',
      function: { name, description, parameters: inputSchema },
    });
    expect(await ask('openai-responses')).toEqual({
      ...{ type: 'function', name, description, parameters: inputSchema, strict: false },
    });
    expect(await ask('anthropic')).toEqual({ name, description, input_schema: inputSchema });
    expect(await ask('names')).toBeUndefined();
  });

  it('gives the definitions as one part of the request, where the provider wants more than a list', async () => {
    const ask = (format: string) => shop.route(QUERY, { k: 2, format, detail: 'brief', explore: false });
    const { tools, definitions } = await ask('openai-tool-search-output');
    expect(definitions).toEqual({
      ...{ type: 'tool_search_output', execution: 'client', status: 'completed' },
      tools: tools.map(({ definition }) => definition),
    });
    const references = await ask('anthropic-tool-reference');
    expect(references.definitions).toEqual(
      references.tools.map((tool) => ({ type: 'tool_reference', tool_name: tool.name })),
    );
    const addition = await ask('anthropic-tool-addition');
    expect(addition.definitions).toEqual({
      role: 'system',
      content: addition.tools.map(({ definition }) => definition),
    });
    for (const format of ['mcp', 'openai', 'anthropic']) {
      expect(await ask(format)).not.toHaveProperty('definitions');
    }
  });

  it('reads the last user turn of a conversation, in either shape', async () => {
    const openai = [
      { role: 'system', content: 'You are a helpful shop.' },
      { role: 'user', content: 'Send a newsletter' },
      { role: 'assistant', content: null, tool_calls: [{ id: '1', function: { name: 'send_newsletter' } }] },
      { role: 'tool', tool_call_id: '1', content: 'sent' },
      { role: 'user', content: QUERY },
      { role: 'assistant', content: null, tool_calls: [{ id: '2', function: { name: 'track_parcel' } }] },
    ];
    const anthropic = [
      { role: 'user', content: 'Send a newsletter' },
      { role: 'assistant', content: [{ type: 'tool_use', id: '1', name: 'send_newsletter', input: {} }] },
      { role: 'user', content: [{ type: 'text', text: QUERY }] },
      { role: 'assistant', content: [{ type: 'tool_use', id: '2', name: 'track_parcel', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: '2', content: 'in Lyon' }] },
    ];
    const expected = await shop.greedy(QUERY);
    expect(expected[0]).toBe('track_parcel');
    for (const messages of [openai, anthropic]) {
      expect(await shop.greedy(QUERY, { query: undefined, messages })).toEqual(expected);
    }
  });

  it("reads a conversation of OpenAI's Responses, whatever items it has", async () => {
    const messages = [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Send a newsletter' }] },
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAA' },
      { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'send_newsletter', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_1', output: 'sent' },
      { type: 'item_reference', id: 'msg_1' },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: QUERY }] },
      { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'x' } },
      { type: 'file_search_call', id: 'fs_1', status: 'completed', queries: ['x'], results: null },
      { type: 'mcp_call', id: 'mcp_1', server_label: 'a', name: 'b', arguments: '{}', output: null },
      { type: 'custom_tool_call', call_id: 'call_2', name: 'code', input: 'print(1)' },
      { type: 'custom_tool_call_output', call_id: 'call_2', output: '1' },
      { type: 'of_next_year', value: { type: 'unknown' } },
    ];
    const expected = await shop.greedy(QUERY);
    expect(expected[0]).toBe('track_parcel');
    expect(await shop.greedy(QUERY, { query: undefined, messages })).toEqual(expected);
    const nothing = await service.request('POST', '/v1/route', { messages: [{ content: 'x' }, ...messages] });
    expect(nothing).toMatchObject({
      status: 422,
      body: {
        violations: [
          { path: 'messages[0].role', message: "is needed, or `type` in an item of OpenAI's Responses" },
        ],
      },
    });
  });

  it('has no confidence in what has no words, and learns nothing from it', async () => {
    const quiet = await Shop.open(service, 'wordless');
    for (const query of ['...', '?!', '-', 'hello!', 'Thanks!', 'OK', 'hi there', 'yes please', '谢谢']) {
      const { decisionId, fallback, tools } = await quiet.route(query);
      expect([query, fallback]).toEqual([query, 'low_confidence']);
      await quiet.report(decisionId, { tool: tools[0].name, outcome: 'success' });
    }
    await service.settled('wordless');
    const health = await service.ask('GET', '/v1/rewards/health?catalog=wordless');
    expect(health).toMatchObject({ unlearned: { 'learning-off': 9 } });
    for (const query of ['ok, track it', 'hello parcel', 'no refund']) {
      expect([query, (await quiet.route(query)).fallback]).toEqual([query, null]);
    }
    const messages = [
      { role: 'user', content: 'i was charged twice' },
      { role: 'assistant', content: 'I can refund the second payment. Shall I?' },
      { role: 'user', content: 'yes please' },
    ];
    const agreed = await quiet.route('', { query: undefined, messages, explore: false });
    expect(agreed).toMatchObject({ fallback: null, tools: [{ name: 'refund_payment' }, {}, {}, {}, {}] });
  });

  it('says how to create a catalog that it does not have', async () => {
    const tools = '/v1/catalogs/new-one/tools';
    for (const [method, body] of [
      ['PUT', { tools: SHOP_TOOLS }],
      ['PATCH', { put: SHOP_TOOLS }],
    ] as const) {
      expect(await service.request(method, tools, body)).toMatchObject({
        status: 404,
        body: {
          code: 'catalog-not-found',
          suggestedFix: expect.stringContaining('PUT /v1/catalogs/new-one and the body {}'),
        },
      });
    }
    await service.ask('PUT', '/v1/catalogs/new-one', {});
    expect(await service.ask('PATCH', tools, { put: SHOP_TOOLS })).toMatchObject({ added: 10 });
  });

  it('says so when nothing fits, and does what the catalog wants then', async () => {
    const nonsense = { query: '∅ ∅', explore: false };
    const wordless = await RunningService.start(`${folder.path}/wordless`, [], { BANDOLIER_MODEL: 'none' });
    try {
      const blind = await Shop.open(wordless, 'blind');
      await blind.teach('newsletter to subscribers', 'send_newsletter', 2);
      const open = await blind.route(nonsense.query, { k: 2 });
      expect(open).toMatchObject({ fallback: 'low_confidence', tools: [{ name: 'send_newsletter' }, {}] });
      expect((await blind.explain(open.decisionId)).propensityMethod).toBe('deterministic');
      await blind.configure({ failMode: 'closed' });
      expect(await blind.route(nonsense.query, { k: 2 })).toMatchObject({
        fallback: 'low_confidence',
        tools: [],
      });
      await blind.configure({ failMode: 'passthrough' });
      expect((await blind.route(nonsense.query, { k: 2 })).tools).toHaveLength(names.length);
      const without = await blind.route(nonsense.query, { exclude: [names[0], 'no_tool'], pin: [names[2]] });
      expect(without.tools.map(({ name }) => name)).toEqual([names[2], names[1], ...names.slice(3)]);
    } finally {
      expect(await wordless.stop()).toBe(0);
    }
  });
});
