import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { stringify } from 'yaml';
import { readToolsFile } from '../../src/cli/read-tools-file.ts';

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

it.each([
  ['JSON', JSON.stringify(document)],
  ['YAML', `# An API\n---\n${stringify(document)}`],
])('reads one tool per operation, with what it refers to, from %s', (_, text) => {
  const { tools, refused } = readToolsFile(text);
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
  const text = readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8');
  const { tools, refused } = readToolsFile(text);
  const operations = Object.values(JSON.parse(text).paths as object).flatMap((item) => Object.keys(item));
  expect(tools).toHaveLength(operations.length);
  expect(refused).toEqual([]);
  expect(JSON.stringify(tools)).not.toContain('#/components');
});

it('shortens a schema that is too long for a tool to names and types', () => {
  const long = { type: 'object', properties: { a: { type: 'string', description: 'x'.repeat(70_000) } } };
  const body = { content: { 'application/json': { schema: long } } };
  const text = JSON.stringify({ openapi: '3.1.0', paths: { '/a': { post: { requestBody: body } } } });
  expect(readToolsFile(text).tools[0].inputSchema).toEqual({
    type: 'object',
    properties: { body: { type: 'object', properties: { a: { type: 'string' } } } },
  });
});
