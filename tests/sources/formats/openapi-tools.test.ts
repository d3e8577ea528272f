import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { toolFaults } from '../../../src/http/wire/tool-faults.ts';
import { type ReadToolsOptions, readTools } from '../../../src/sources/formats/read-tools.ts';

const readText = (text: string, options?: ReadToolsOptions) => readTools(text, toolFaults, options);

const paths = {
  '/invoices/{id}': {
    parameters: [{ $ref: '#/components/parameters/id' }, { name: 'trace', in: 'header', schema: {} }],
    get: { operationId: 'invoices/get', summary: 'Show an invoice.', description: 'With its lines.' },
    post: {
      tags: ['invoices'],
      deprecated: true,
      parameters: [
        { name: 'trace', in: 'header', required: true, schema: { type: 'string' } },
        { name: 'Authorization', in: 'header', schema: { type: 'string' } },
        { name: 'q', in: 'query', content: { 'application/json': { schema: { type: 'number' } } } },
      ],
      requestBody: { $ref: '#/components/requestBodies/Line%7Eone' },
    },
  },
  '/tree': { put: { operationId: 'invoices/get', requestBody: { content: { 'text/plain': {} } } } },
  '/broken': { get: { parameters: [{ $ref: '#/components/parameters/none' }] } },
  '/round': { $ref: '#/paths/~1round' },
  '/far': { get: { operationId: 'far', requestBody: { $ref: 'https://10.0.0.1/body.json' } } },
};
const document = {
  openapi: '3.0.4',
  info: { title: ' Billing ', version: '1' },
  paths,
  components: {
    parameters: {
      id: { name: 'id', in: 'path', required: true, description: 'Its number', schema: { type: 'string' } },
    },
    requestBodies: {
      'Line~one': {
        required: true,
        content: { 'application/merge-patch+json': { schema: { $ref: '#/components/schemas/Line' } } },
      },
    },
    schemas: {
      Line: {
        type: 'object',
        properties: {
          $ref: { type: 'string' },
          sub: { type: 'array', items: { $ref: '#/components/schemas/Line' } },
        },
        example: { $ref: 'kept as it is' },
      },
    },
  },
};

it('keeps the address of the first server that is nearest to an operation, with the defaults of its variables', () => {
  const of = (servers: unknown, more: object = {}) => {
    const get = { operationId: 'show', ...more };
    const text = JSON.stringify({ openapi: '3.1.0', servers, paths: { '/a': { get } } });
    return readText(text).tools[0].metadata?.url;
  };
  const variables = { region: { default: 'eu' } };
  expect(of([{ url: 'https://{region}.example.com/v1/', variables }, { url: 'b' }])).toBe(
    'https://eu.example.com/v1',
  );
  expect(of([{ url: 'https://a' }], { servers: [{ url: '/own' }] })).toBe('/own');
  for (const none of [undefined, [], [7], [{ url: 7 }], [{ url: 'x'.repeat(3000) }]])
    expect(of(none)).toBeUndefined();
});

it.each([
  ['JSON', JSON.stringify(document)],
  ['YAML', `# An API\n---\n${stringify(document)}`],
])('reads one tool per operation, with what it refers to, from %s', (_, text) => {
  const { tools, refused } = readText(text);
  expect(tools).toEqual([
    {
      name: 'invoices/get',
      description: 'Show an invoice.\n\nWith its lines.',
      inputSchema: {
        type: 'object',
        properties: { id: { description: 'Its number', type: 'string' }, trace: {} },
        required: ['id'],
      },
      server: 'Billing',
      metadata: { method: 'get', path: '/invoices/{id}' },
    },
    {
      name: 'post_invoices_id',
      description: 'POST /invoices/{id}',
      inputSchema: {
        type: 'object',
        properties: {
          id: { description: 'Its number', type: 'string' },
          trace: { type: 'string' },
          q: { type: 'number' },
          body: { $ref: '#/$defs/Line' },
        },
        required: ['id', 'trace', 'body'],
        $defs: {
          Line: {
            type: 'object',
            properties: { $ref: { type: 'string' }, sub: { type: 'array', items: { $ref: '#/$defs/Line' } } },
            example: { $ref: 'kept as it is' },
          },
        },
      },
      server: 'Billing',
      tags: ['invoices'],
      metadata: { method: 'post', path: '/invoices/{id}' },
    },
    {
      name: 'put_tree',
      description: 'PUT /tree',
      inputSchema: { type: 'object', properties: { body: {} } },
      server: 'Billing',
      metadata: { method: 'put', path: '/tree' },
    },
  ]);
  expect(refused).toEqual([
    { name: 'get_broken', why: expect.stringMatching(/parameters\/none", which is not there/) },
    { name: '/round', why: expect.stringMatching(/round in a circle/) },
    { name: 'far', why: expect.stringMatching(/10\.0\.0\.1.*outside of this document/) },
  ]);
});

it('reads our own API, every operation of it', () => {
  const text = readFileSync(new URL('../../../openapi.json', import.meta.url), 'utf8');
  const { tools, refused } = readText(text);
  const operations = Object.values(JSON.parse(text).paths as object).flatMap((item) => Object.keys(item));
  expect(tools).toHaveLength(operations.length);
  expect(refused).toEqual([]);
  expect(JSON.stringify(tools)).not.toContain('#/components');
});

it('shortens a schema that is too long for a tool to names and types', () => {
  const long = { type: 'object', properties: { a: { type: 'string', description: 'x'.repeat(70_000) } } };
  const body = { content: { 'application/json': { schema: long } } };
  const text = JSON.stringify({ openapi: '3.1.0', paths: { '/a': { post: { requestBody: body } } } });
  expect(readText(text).tools[0].inputSchema).toEqual({
    type: 'object',
    properties: { body: { type: 'object', properties: { a: { type: 'string' } } } },
  });
});

describe('documents out of measure', () => {
  const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
  const post = (operationId: string, schema: object) => ({
    post: { operationId, requestBody: { content: { 'application/json': { schema } } } },
  });
  const good = { '/good': post('good', { type: 'string' }) };
  const read = (more: object, schemas: object = {}) =>
    readText(JSON.stringify({ openapi: '3.1.0', paths: { ...more, ...good }, components: { schemas } }));
  const named = (count: number, schema: (i: number) => object) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`S${i}`, schema(i)]));

  it('follows a long chain of references', () => {
    const chain = named(800, (i) => (i < 799 ? ref(`S${i + 1}`) : { type: 'number' }));
    const { tools, refused } = read({ '/chain': post('chain', ref('S0')) }, chain);
    expect(refused).toEqual([]);
    expect(Object.keys(tools[0].inputSchema.$defs as object)).toHaveLength(800);
  });

  it('refuses operations alone that reach more than a tool may hold', () => {
    const web = named(3000, (i) => ({
      properties: { a: ref(`S${(i * 7 + 1) % 3000}`), b: ref(`S${(i + 1) % 3000}`) },
    }));
    const many = Object.fromEntries(
      Array.from({ length: 1500 }, (_, i) => [`/many/${i}`, post(`many${i}`, ref(`S${i}`))]),
    );
    const { tools, refused } = read(many, web);
    expect(tools.map(({ name }) => name)).toEqual(['good']);
    expect(refused).toHaveLength(1500);
    expect(refused[7]).toEqual({ name: 'many7', why: expect.stringMatching(/64 KB/) });
  });

  it('shortens schemas of many parts, and leaves out what only left parts refer to', () => {
    const parts = named(40, (i) => ({
      description: 'x'.repeat(2000),
      not: ref('Left'),
      items: ref(`S${(i + 1) % 40}`),
    }));
    const { tools, refused } = read({ '/long': post('long', ref('S0')) }, { ...parts, Left: {} });
    expect(refused).toEqual([]);
    expect(tools[0].inputSchema.$defs).toEqual(
      named(40, (i) => ({ items: { $ref: `#/$defs/S${(i + 1) % 40}` } })),
    );
  });

  it('refuses an operation alone whose schema is nested too deep', () => {
    let deep: object = {};
    for (let level = 0; level < 3000; level++) deep = { items: deep };
    const { tools, refused } = read(
      { '/deep': post('deep', deep), '/also': post('also', ref('Deep')) },
      { Deep: deep },
    );
    expect(tools.map(({ name }) => name)).toEqual(['good']);
    expect(refused).toEqual([
      { name: 'deep', why: expect.stringMatching(/deeper than 64 levels/) },
      { name: 'also', why: expect.stringMatching(/deeper than 64 levels/) },
    ]);
  });

  it.each([
    ['itself', '{ a: *self, b: *self }'],
    ['itself as an example', '{ example: { a: *self, b: *self } }'],
  ])('refuses an operation alone whose schema is an anchor that contains %s', (_, schema) => {
    const content = `content: { application/json: { schema: &self ${schema} } }`;
    const text = `openapi: 3.1.0\npaths:\n  /round: { post: { requestBody: { ${content} } } }\n  /good: { get: {} }\n`;
    const { tools, refused } = readText(text);
    expect(tools.map(({ name }) => name)).toEqual(['get_good']);
    expect(refused).toEqual([{ name: 'post_round', why: expect.stringMatching(/levels|values/) }]);
  });

  it('refuses an operation alone that has a parameter called __proto__', () => {
    const parameters = [{ name: '__proto__', in: 'query', schema: { type: 'string' } }];
    const { tools, refused } = read({ '/proto': { get: { parameters } } });
    expect(tools.map(({ name }) => name)).toEqual(['good']);
    expect(refused).toEqual([
      { name: 'get_proto', why: expect.stringMatching(/__proto__ is not allowed as a name/) },
    ]);
  });
});
