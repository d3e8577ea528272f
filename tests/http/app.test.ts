import { describe, expect, it } from 'vitest';
import { Problem } from '../../src/errors/problem.ts';
import { providerName } from '../../src/ledger/provider-name.ts';
import type { RouteRequest } from '../../src/routing/route-request.ts';
import { hasFastProperties } from '../fast-properties.ts';
import { appWith, notFound } from './fake-nouns.ts';

const ANSWER = { decisionId: 'default.1', tools: [] } as never;

function recordingRouter() {
  const asked: RouteRequest[] = [];
  const options: object[] = [];
  const route = async (request: RouteRequest, given: object) => {
    asked.push(request);
    options.push(given);
    return ANSWER;
  };
  return { asked, options, ...appWith({ routing: { route } }) };
}

describe('a request', () => {
  it('reaches its noun with every default filled in', async () => {
    const { json, asked, options } = recordingRouter();
    const response = await json('POST', '/v1/route', { query: 'q' }, { 'idempotency-key': 'k-1' });
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual(ANSWER);
    const defaults = { catalog: 'default', k: 5, format: 'mcp', activate: 'now', explore: true, learn: true };
    expect(asked).toEqual([{ query: 'q', ...defaults }]);
    expect(options).toHaveLength(1);
    expect(options[0]).toMatchObject({ idempotencyKey: 'k-1', signal: expect.any(AbortSignal) });
  });

  it('leaves nothing among old objects by its options, as an object literal with a getter would', async () => {
    const { json, options } = recordingRouter();
    await json('POST', '/v1/route', { query: 'q' });
    expect(hasFastProperties(options[0])).toBe(true);
    const literal = {
      get signal() {
        return null;
      },
    };
    expect(hasFastProperties(literal)).toBe(false);
  });

  it('keeps its X-Request-Id, and gets one if it has none or a bad one', async () => {
    const { json } = recordingRouter();
    const idOf = async (given?: string) => {
      const response = await json(
        'POST',
        '/v1/route',
        {},
        given === undefined ? {} : { 'x-request-id': given },
      );
      const { requestId } = (await response.json()) as { requestId: string };
      expect(response.headers.get('x-request-id')).toBe(requestId);
      return requestId;
    };
    expect(await idOf('trace-1.a/b')).toBe('trace-1.a/b');
    expect(await idOf()).toMatch(/^[0-9a-f-]{36}$/);
    expect(await idOf('has blanks')).toMatch(/^[0-9a-f-]{36}$/);
    expect(await idOf('x'.repeat(129))).toMatch(/^[0-9a-f-]{36}$/);
  });

  it.each([
    ['empty', '', 400, 'malformed-request'],
    ['broken', '{"query": ', 400, 'malformed-request'],
    ['NaN', '{"query": "q", "k": NaN}', 400, 'malformed-request'],
    ['not UTF-8', Buffer.from([0x22, 0xff, 0x22]), 400, 'malformed-request'],
    ['no object', '[]', 422, 'validation-failed'],
    ['infinite', '{"query": "q", "k": 1e999}', 422, 'validation-failed'],
    ['a key too many', '{"query": "q", "tokens": 5}', 422, 'validation-failed'],
    ['both query and messages', '{"query": "q", "messages": [{"role": "user"}]}', 422, 'validation-failed'],
    ['neither', '{}', 422, 'validation-failed'],
    ['polluting', '{"query": "q", "__proto__": {"k": 1}}', 422, 'validation-failed'],
    ['too large', JSON.stringify({ query: 'x'.repeat(1024 * 1024) }), 413, 'body-too-large'],
  ])('with a body that is %s is refused', async (_, body, status, code) => {
    const { app, asked } = recordingRouter();
    const response = await app.request('/v1/route', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    expect(response.status).toBe(status);
    expect(response.headers.get('content-type')).toBe('application/problem+json');
    expect(await response.json()).toMatchObject({ code, status, suggestedFix: expect.stringMatching(/\w/) });
    expect(asked).toEqual([]);
  });

  it('with a body in chunks is limited as well', async () => {
    const { app } = recordingRouter();
    const chunk = new Uint8Array(64 * 1024).fill(0x20);
    const body = new ReadableStream({ pull: (controller) => controller.enqueue(chunk) });
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body, duplex: 'half' };
    expect((await app.request('/v1/route', init as RequestInit)).status).toBe(413);
  });

  it.each([
    [{ 'content-type': 'text/plain' }],
    [{ 'content-type': 'application/jsonx' }],
    [{}],
    [{ 'content-type': 'application/json', 'content-encoding': 'gzip' }],
  ])('with the headers %j is refused as 415', async (headers) => {
    const { app } = recordingRouter();
    const body = new Uint8Array(Buffer.from('{"query":"q"}'));
    expect((await app.request('/v1/route', { method: 'POST', headers, body })).status).toBe(415);
  });

  it('accepts application/json with parameters and +json types', async () => {
    const { app } = recordingRouter();
    for (const type of ['application/json; charset=utf-8', 'application/vnd.agent+json']) {
      const init = { method: 'POST', headers: { 'content-type': type }, body: '{"query":"q"}' };
      expect((await app.request('/v1/route', init)).status).toBe(200);
    }
  });

  it('hears of everything that is wrong with it at once, with paths', async () => {
    const { json } = recordingRouter();
    const request = { query: 'q', k: 0, pin: ['ok', '', 7], format: 'xml', catalog: 'Bad Name' };
    const response = await json('POST', '/v1/route', request, { 'idempotency-key': 'ä ö' });
    const { violations } = (await response.json()) as { violations: { path: string }[] };
    expect(violations.map(({ path }) => path).sort()).toEqual([
      'catalog',
      'format',
      'idempotency-key',
      'k',
      'pin[1]',
      'pin[2]',
    ]);
  });
});

describe('a failure', () => {
  it('inside is logged with its request id and not shown', async () => {
    const route = async () => {
      throw new TypeError('cannot read secret');
    };
    const { json, logged } = appWith({ routing: { route } });
    const response = await json('POST', '/v1/route', { query: 'q' }, { 'x-request-id': 'r1' });
    expect(response.status).toBe(500);
    expect(await response.text()).not.toMatch(/secret/);
    expect(logged).toEqual([expect.objectContaining({ requestId: 'r1', err: expect.any(TypeError) })]);
  });

  it('of the caller’s is not logged', async () => {
    const view = () => {
      throw notFound;
    };
    const { json, logged } = appWith({ catalogs: { view } });
    const response = await json('GET', '/v1/catalogs/x');
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ code: 'catalog-not-found', suggestedFix: 'Create it.' });
    expect(logged).toEqual([]);
  });

  it('names unknown paths and wrong methods, with Allow', async () => {
    const { app } = appWith();
    expect(await (await app.request('/v2/nothing')).json()).toMatchObject({ code: 'endpoint-not-found' });
    const response = await app.request('/v1/catalogs/default/tools', { method: 'DELETE' });
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')?.split(', ').sort()).toEqual(['GET', 'HEAD', 'PATCH', 'PUT']);
    expect(await response.json()).toMatchObject({ code: 'method-not-allowed' });
  });
});

describe('rewards', () => {
  const late = new Problem('reward-late', 'Too late.', 'Sooner.');

  it('takes the id from the path and the key from the header', async () => {
    const reports: unknown[] = [];
    const report = async (given: readonly unknown[]) => {
      reports.push(...given);
      return [{ rewardId: 'default.1.a', status: 'queued' as const }];
    };
    const { json } = appWith({ rewards: { report } });
    const response = await json(
      'POST',
      '/v1/decisions/default.1/rewards',
      { tool: 't', outcome: 'success' },
      { 'idempotency-key': 'k' },
    );
    expect(response.status).toBe(202);
    expect(reports).toEqual([
      { decisionId: 'default.1', tool: 't', outcome: 'success', idempotencyKey: 'k' },
    ]);
  });

  it('refuses a report with two different idempotency keys, and names both', async () => {
    const reported: unknown[] = [];
    const report = async (reports: readonly unknown[]) => {
      reported.push(...reports);
      return [{ rewardId: 'default.1.a', status: 'queued' as const }];
    };
    const { json } = appWith({ rewards: { report } });
    const send = (idempotencyKey: string) =>
      json(
        'POST',
        '/v1/decisions/default.1/rewards',
        { value: 1, idempotencyKey },
        { 'idempotency-key': 'one' },
      );
    const response = await send('other');
    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({
      code: 'validation-failed',
      violations: [
        { path: 'idempotency-key', message: expect.stringContaining('"one"') },
        { path: 'idempotencyKey', message: expect.stringContaining('"other"') },
      ],
    });
    expect(reported).toEqual([]);
    expect((await send('one')).status).toBe(202);
  });

  it('answers one result per item, problems among them', async () => {
    const report = async () => [{ rewardId: 'a', status: 'queued' as const }, { problem: late }];
    const { json } = appWith({ rewards: { report } });
    const item = { decisionId: 'default.1', value: 1 };
    const response = await json('POST', '/v1/rewards', { rewards: [item, item] });
    expect(response.status).toBe(202);
    const { results } = (await response.json()) as { results: unknown[] };
    expect(results).toEqual([
      { rewardId: 'a', status: 'queued' },
      expect.objectContaining({ code: 'reward-late', status: 409 }),
    ]);
    expect((await json('POST', '/v1/decisions/default.1/rewards', { value: 1 })).status).toBe(202);
  });

  it('does not take `health` for a reward id', async () => {
    const health = async (catalog: string) => ({ catalog }) as never;
    const { json } = appWith({ rewards: { health } });
    expect(await (await json('GET', '/v1/rewards/health?catalog=mine')).json()).toEqual({ catalog: 'mine' });
    expect((await json('GET', '/v1/rewards/health?catalogue=mine')).status).toBe(422);
    expect((await json('GET', '/v1/rewards/health?catalog=a&catalog=b')).status).toBe(422);
  });
});

describe('tools', () => {
  const changes = { added: 1, changed: 0, removed: 0, unchanged: 0, revision: 'r7' };
  const tool = { name: 'mail/send it', description: 'Send.\n\tNow.', inputSchema: {} };

  it('passes the revision in and out', async () => {
    const conditions: unknown[] = [];
    const sync = async (_catalog: string, _tools: unknown, options: unknown) => {
      conditions.push(options);
      return changes;
    };
    const { json } = appWith({ tools: { sync } });
    const put = (ifMatch: string) =>
      json('PUT', '/v1/catalogs/default/tools', { tools: [tool] }, { 'if-match': ifMatch });
    const response = await put('"r6"');
    expect(response.headers.get('etag')).toBe('"r7"');
    await put('r6');
    expect(conditions).toEqual(new Array(2).fill({ ifMatch: 'r6', signal: expect.any(AbortSignal) }));
    expect((await put('*')).status).toBe(422);
    expect((await put('W/"r6"')).status).toBe(422);
    expect((await put('"r6", "r7"')).status).toBe(422);
  });

  it('finds names with slashes and blanks in the path', async () => {
    const names: string[] = [];
    const statistics = (_catalog: string, name: string) => {
      names.push(name);
      return {} as never;
    };
    const { json } = appWith({ tools: { statistics } });
    for (const name of ['mail/send it', '100%', 'größe', 'a%2Fb', '..']) {
      await json('GET', `/v1/catalogs/default/tools/${encodeURIComponent(name)}/stats`);
    }
    expect(names).toEqual(['mail/send it', '100%', 'größe', 'a%2Fb']);
  });

  it('does not spend time on a hundred thousand of them', async () => {
    const { json } = appWith();
    const tools = Array.from({ length: 100_000 }, (_, i) => ({
      name: `t${i}`,
      description: '',
      inputSchema: {},
    }));
    const response = await json('PUT', '/v1/catalogs/default/tools', { tools });
    expect(response.status).toBe(413);
    expect(await response.json()).toMatchObject({ code: 'too-many-tools' });
  });

  it('refuses a name that is repeated, or both put and removed', async () => {
    const { json } = appWith();
    const repeated = await json('PUT', '/v1/catalogs/default/tools', { tools: [tool, tool] });
    expect(await repeated.json()).toMatchObject({ violations: [{ path: 'tools[1].name' }] });
    const both = await json('PATCH', '/v1/catalogs/default/tools', { put: [tool], remove: ['x', tool.name] });
    expect(await both.json()).toMatchObject({ violations: [{ path: 'remove[1]' }] });
  });

  it.each(['', ' ', 'a\u0000b', 'a\nb', '\ud800', ' a', 'x'.repeat(257)])(
    'refuses the name %j',
    async (name) => {
      const { json } = appWith();
      expect((await json('PUT', '/v1/catalogs/default/tools', { tools: [{ ...tool, name }] })).status).toBe(
        422,
      );
    },
  );

  it('lists a page and where the next one begins', async () => {
    const record = {
      slot: 3,
      tool,
      hash: 'h',
      source: 'api',
      addedAt: 0,
      removedAt: null,
      statistics: {} as never,
    };
    const asked: unknown[] = [];
    const list = async (_catalog: string, page: unknown) => {
      asked.push(page);
      return { revision: 'r1', tools: [record], nextCursor: 'abc' };
    };
    const { json } = appWith({ tools: { list } });
    const response = await json('GET', '/v1/catalogs/default/tools?limit=1&cursor=xyz');
    expect(asked).toEqual([{ limit: 1, cursor: 'xyz' }]);
    expect(await response.json()).toEqual({
      tools: [
        {
          ...tool,
          providerName: providerName(tool.name),
          definitionHash: 'h',
          addedAt: '1970-01-01T00:00:00.000Z',
        },
      ],
      nextCursor: 'abc',
      revision: 'r1',
    });
    for (const limit of ['0', '1001', 'x', '', '1.5']) {
      expect((await json('GET', `/v1/catalogs/default/tools?limit=${limit}`)).status).toBe(422);
    }
  });
});
