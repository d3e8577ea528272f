import { describe, expect, it } from 'vitest';
import { toolFaults } from '../../../src/http/wire/tool-faults.ts';
import { type ReadToolsOptions, readTools } from '../../../src/sources/formats/read-tools.ts';
import { UnreadableError } from '../../../src/sources/formats/unreadable-error.ts';

const readText = (text: string, options?: ReadToolsOptions) => readTools(text, toolFaults, options);

const schema = { type: 'object', properties: { city: { type: 'string' } } };
const expected = [{ name: 'get_weather', description: 'Weather.', inputSchema: schema }];

const ours = { name: 'get_weather', description: 'Weather.', inputSchema: schema };
const openai = {
  type: 'function',
  function: { name: 'get_weather', description: 'Weather.', parameters: schema, strict: true },
};
const openaiFlat = { type: 'function', name: 'get_weather', description: 'Weather.', parameters: schema };
const anthropic = { name: 'get_weather', description: 'Weather.', input_schema: schema };

describe('read', () => {
  it.each<[string, unknown]>([
    ['our own shape', { tools: [ours] }],
    ['an MCP tools/list result', { tools: [ours] }],
    ['the last page of one', { tools: [ours], nextCursor: '' }],
    ['the tools of a request', { model: 'm', messages: [], tools: [openaiFlat] }],
    ['a page of our own API', { tools: [{ ...ours, definitionHash: 'h', addedAt: 't' }], nextCursor: null }],
    ['Anthropic tools with their type', [{ ...anthropic, type: 'custom' }]],
    [
      'lines of an export',
      [
        { kind: 'policy', catalog: 'default' },
        { kind: 'tool', catalog: 'default', tool: ours, removedAt: null },
        { kind: 'tool', catalog: 'default', tool: { ...ours, name: 'old' }, removedAt: 7 },
      ],
    ],
    ['the same tool twice', [ours, ours]],
    ['its JSON-RPC envelope', { jsonrpc: '2.0', id: 1, result: { tools: [ours] } }],
    ['OpenAI function tools', [openai]],
    ['OpenAI function tools, flat', { tools: [openaiFlat] }],
    ['OpenAI functions of old', { functions: [openaiFlat] }],
    ['Anthropic tools', [anthropic]],
    ['an object of tools by name', { get_weather: { description: 'Weather.', parameters: schema } }],
    [
      'tools by name under `tools`',
      { tools: { get_weather: { description: 'Weather.', parameters: schema } } },
    ],
    ['a single tool', ours],
    ['a single OpenAI tool', openai],
  ])('reads %s', (_, file) => {
    expect(readText(JSON.stringify(file)).tools).toEqual(expected);
    expect(readText(JSON.stringify(file, null, 2)).tools).toEqual(expected);
  });

  it('reads JSON lines, blank ones among them', () => {
    const lines = [ours, { ...anthropic, name: 'other' }].map((tool) => JSON.stringify(tool));
    const { tools } = readText(`${lines.join('\r\n\n')}\n`);
    expect(tools.map(({ name }) => name)).toEqual(['get_weather', 'other']);
  });

  const tool =
    'name: get_weather\ndescription: Weather.\ninputSchema: {type: object, properties: {city: {type: string}}}\n';
  const item = `- ${tool.replaceAll('\n', '\n  ').trim()}\n`;

  it.each([
    ['a list', item],
    ['a list under `tools`', `tools:\n${item}`],
    ['a tool', tool],
    ['after comments', `# Our tools\n\n  # by hand\n${item}`],
    ['after a directive', `%YAML 1.2\n---\n${item}`],
    ['documents', `---\n${tool}---\n# the same again\n${tool}`],
    [
      'in braces',
      '# one\n[{name: get_weather, description: Weather., inputSchema: {type: object, properties: {city: {type: string}}}}]',
    ],
    [
      'with anchors',
      `x-city: &city {properties: {city: {type: string}}}\ntools:\n- name: get_weather\n  description: Weather.\n  inputSchema: {type: object, <<: *city}\n`,
    ],
  ])('reads YAML: %s', (_, text) => {
    expect(readText(text).tools).toEqual(expected);
    expect(readText(text.replaceAll('\n', '\r\n')).tools).toEqual(expected);
  });

  it('refuses alone tools whose anchors stand for more and more, or for themselves', () => {
    const letters = [...'abcdefghijklmnopqrstuvwxyz'];
    const laughs = letters.map((letter, at) => {
      const inner = at === 0 ? 'x' : `*${letters[at - 1]}`;
      return `x${letter}: &${letter} [${Array(9).fill(inner).join(', ')}]\n`;
    });
    const bad = ['{properties: {a: *z}}', '&it {type: object, properties: *it}'].map(
      (schema, at) => `- name: bad${at}\n  inputSchema: ${schema}\n`,
    );
    const { tools, refused } = readText(`${laughs.join('')}tools:\n${bad.join('')}${item}`);
    expect(tools).toEqual(expected);
    expect(refused).toEqual([
      { name: 'bad0', why: expect.stringMatching(/more than 10000 values/) },
      { name: 'bad1', why: expect.stringMatching(/deeper than 64 levels/) },
    ]);
  });

  it('reads anchors that are used very often, and merged into each other', () => {
    const names = Array.from({ length: 120 }, (_, at) => `tool${at}`);
    const merges = names.map((_, at) => `m${at + 1}: &m${at + 1} {<<: [*m${at}, *m${at}]}\n`).join('');
    const list = names.map((name) => `- {name: ${name}, description: Weather., inputSchema: *m120}\n`);
    const { tools, refused } = readText(
      `m0: &m0 {type: object, title: 1}\n${merges}tools:\n${list.join('')}`,
    );
    expect(refused).toEqual([]);
    expect(tools.map(({ name }) => name)).toEqual(names);
    expect(tools[119].inputSchema).toEqual({ type: 'object', title: 1 });
  });

  it('returns for a long row of one sign, whatever it is', { timeout: 20_000 }, () => {
    for (const sign of [
      '#',
      '# ',
      '#\n',
      '-',
      '---\n',
      '%\n',
      '"',
      "'",
      ':',
      '$',
      ' ',
      '\n',
      '{',
      '[',
      'a',
      'a: ',
    ]) {
      const row = sign.repeat(500);
      for (const text of [row, `${row}name`, `${row}\n`])
        expect(() => readText(text)).toThrow(UnreadableError);
    }
    for (const sign of ['#', '-', 'a', ' ']) {
      expect(() => readText(sign.repeat(100_000))).toThrow(UnreadableError);
    }
  });

  it('keeps what tools have, known or not, and names what belongs to one provider', () => {
    const listed = {
      ...ours,
      title: 'Weather',
      annotations: { readOnlyHint: true },
      icons: [{ src: 'https://a/b' }],
    };
    const kept = {
      ...listed,
      server: 'weather',
      tags: ['a'],
      replaces: ['old'],
      kind: 'skill',
      'x-cost': [1],
    };
    const left = {
      strict: true,
      defer_loading: false,
      cache_control: {},
      type: 'function',
      id: 7,
      providerName: 'x',
    };
    const { tools, ignored } = readText(JSON.stringify([{ ...kept, ...left }]), { server: 'github' });
    expect(tools).toEqual([kept]);
    expect([...ignored].sort()).toEqual(['cache_control', 'strict']);
    expect(readText(JSON.stringify([ours]), { server: 'github' }).tools[0].server).toBe('github');
    const foreign = readText(JSON.stringify([{ ...ours, kind: 'function' }]));
    expect(foreign).toMatchObject({ tools: [ours], ignored: ['kind'] });
    expect(Object.hasOwn(foreign.tools[0], 'kind')).toBe(false);
  });

  it('fills in what a tool may lack', () => {
    expect(readText('[{"name": "ping", "parameters": null}]').tools).toEqual([
      { name: 'ping', description: '', inputSchema: { type: 'object' } },
    ]);
  });

  it('joins the pages of an MCP list, and refuses a list that goes on', () => {
    const page = (n: number, nextCursor?: string) => ({ tools: [{ ...ours, name: `t${n}` }], nextCursor });
    const answer = (result: unknown, id: number) => ({ jsonrpc: '2.0', id, result });
    const pages = [page(1, 'a'), page(2, 'b'), page(3)];
    const lines = pages.map((one, id) => JSON.stringify(answer(one, id))).join('\n');
    for (const text of [JSON.stringify(pages), lines]) {
      expect(readText(text).tools.map(({ name }) => name)).toEqual(['t1', 't2', 't3']);
    }
    for (const some of [pages.slice(0, 1), pages.slice(0, 2), [page(1, 'a'), ours]]) {
      expect(() => readText(JSON.stringify(some))).toThrow(/longer list.*nextCursor is "[ab]".*all of them/s);
    }
    expect(() => readText(JSON.stringify(page(1, 'a')))).toThrow(/page 1 of a longer list/);
  });

  it('names tools that the provider defines, and puts the others', () => {
    const own = [
      { type: 'web_search' },
      { type: 'web_search_20250305', name: 'search_web', max_uses: 3 },
      { type: 'mcp', server_label: 'deepwiki', server_url: 'https://mcp.example.com' },
      { type: 'custom', name: 'code', description: 'Takes code as it is.' },
    ];
    const read = readText(JSON.stringify({ tools: [own[0], openaiFlat, ...own.slice(1)] }));
    expect(read.tools).toEqual(expected);
    expect(read.providerTools).toEqual(['web_search', 'search_web', 'deepwiki', 'code']);
    expect(() => readText(JSON.stringify(own))).toThrow(/provider itself: "web_search"/);
  });

  it('reads the namespaces of the responses API as servers', () => {
    const file = [{ type: 'namespace', name: 'crm', tools: [openaiFlat] }];
    expect(readText(JSON.stringify(file)).tools).toEqual([{ ...expected[0], server: 'crm' }]);
    expect(readText(JSON.stringify(file[0])).tools).toHaveLength(1);
  });

  it('puts the server before names that several servers have, and a prefix before all', () => {
    const file = ['Git Hub', 'linear', undefined].map((server) => ({ ...ours, name: 'search', server }));
    const { tools, prefixed, refused } = readText(JSON.stringify([...file, { ...ours, server: 'linear' }]));
    expect(tools.map(({ name }) => name)).toEqual([
      'Git_Hub.search',
      'linear.search',
      'search',
      'get_weather',
    ]);
    expect(prefixed).toEqual(['Git_Hub.search', 'linear.search']);
    expect(refused).toEqual([]);
    const named = readText(JSON.stringify(file), { prefix: 'eu.' }).tools;
    expect(named.map(({ name }) => name)).toEqual(['eu.Git_Hub.search', 'eu.linear.search', 'eu.search']);
  });

  it('names tools that cannot go in, and takes the others', () => {
    const deep = JSON.parse(`${'{"items":'.repeat(70)}{}${'}'.repeat(70)}`);
    const { tools, refused } = readText(
      JSON.stringify([
        { ...ours, name: 'long', description: 'x'.repeat(20_000) },
        { ...ours, name: 'deep', inputSchema: deep },
        { ...ours, name: 'listed', parameters: [], inputSchema: [] },
        { ...ours, name: 'n'.repeat(300) },
        ours,
        { ...ours, description: 'Another one.' },
      ]),
    );
    expect(tools).toEqual(expected);
    expect(refused.map(({ name, why }) => [name, why])).toEqual([
      ['listed', 'its input schema is no object'],
      ['long', 'description must not be longer than 16384 characters'],
      ['deep', 'inputSchema must not be nested deeper than 64 levels'],
      ['n'.repeat(100), 'name must not be longer than 256 characters'],
      ['get_weather', expect.stringMatching(/another tool of the file has this name/)],
    ]);
  });

  it.each<[RegExp, unknown]>([
    [
      /looks like a package\.json/,
      { name: 'x', version: '1.0.0', description: 'D', type: 'module', scripts: {} },
    ],
    [/looks like a package-lock/, { name: 'x', lockfileVersion: 3, packages: {} }],
    [/looks like a tsconfig/, { compilerOptions: {} }],
    [/labelled queries.*simulate/, { query: 'q', relevant: ['a'] }],
    [/labelled queries.*simulate/, [{ query: 'q', relevant: ['a'] }]],
    [/a conversation/, [{ role: 'user', content: 'hi' }]],
    [
      /Postman.*OpenAPI 3/,
      { info: { schema: 'https://schema.getpostman.com/json/collection/v2.1.0/' }, item: [] },
    ],
    [
      /JSON Schema/,
      { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object', properties: {} },
    ],
    [/OpenAPI 2\.0.*3\.0 and 3\.1.*Convert/, { swagger: '2.0', paths: { '/a': { get: {} } } }],
    [/reads 3\.0 and 3\.1/, { openapi: '4.0.0', paths: {} }],
    [/no operations/, { openapi: '3.1.0', paths: {} }],
    [
      /MCP servers \("github", "linear"\).*--server github --method tools\/list \| bandolier import/s,
      { mcpServers: { github: { command: 'npx' }, linear: { url: 'https://mcp.example.com' } } },
    ],
    [/MCP servers \("a"\)/, { servers: { a: { command: 'x' } }, inputs: [] }],
    [
      /Number 1, "Ada", is no tool: it has no input schema.*"email"/,
      [{ name: 'Ada', email: 'ada@example.com' }],
    ],
    [/Number 1, "Lamp", is no tool/, [{ name: 'Lamp', description: 'Gives light.', price: 5 }]],
    [/number 1 has no name.*"type", "geometry"/, [{ type: 'Feature', geometry: {} }]],
  ])('says %s', (sentence, file) => {
    expect(() => readText(JSON.stringify(file))).toThrow(UnreadableError);
    expect(() => readText(JSON.stringify(file))).toThrow(sentence);
  });

  it.each([
    ['', /empty/],
    ['{"tools": [', /not JSON/],
    ['{"name": "a"}\n{"name": ', /line 2/],
    ['[]', /no tools/],
    ['7', /an array, or an object/],
    ['[{"description": "x"}]', /number 1 has no name/],
    ['["text"]', /number 1 has no name/],
    ['{"error": "unauthorized", "status": 401}', /holds no tools.*"error", "status".*"error" has neither/],
    [
      '{"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "Method not found"}}',
      /JSON-RPC error.*Method not found/,
    ],
    ['{"jsonrpc": "2.0", "id": 1, "result": {"resources": []}}', /`result`.*no `tools`/],
    ['{"tools": {}}', /no tools/],
    ['{"tools": null}', /tools holds no tools\. This is null/],
    ['{"tools": {"error": {"message": "no"}}}', /tools holds no tools/],
    ['{"get_weather": {"description": "Weather."}, "note": {"text": "x"}}', /"note" has neither/],
    ['paths: [', /not YAML/],
    [`- name: a\n  inputSchema: ${'{a: '.repeat(3000)}1`, /not YAML either: it is nested too deep/],
    ['Dear all,\nhere are the tools.', /neither JSON nor JSON lines: line 1/],
    ['- name: a\n\tdescription: b', /not YAML/],
  ])('says what is wrong with %j', (text, sentence) => {
    expect(() => readText(text)).toThrow(UnreadableError);
    expect(() => readText(text)).toThrow(sentence);
  });

  it.each<[string, string, RegExp]>([
    [
      'a property called __proto__',
      '{"properties":{"__proto__":{"type":"string"}}}',
      /__proto__ is not allowed as a name/,
    ],
    ['a number too large for one', '{"maximum":1e999}', /inputSchema.maximum is too large/],
    ['more values than the service reads', `{"enum":[${'1,'.repeat(10_000)}1]}`, /more than 10000 values/],
    ['a schema nested too deep', `${'{"items":'.repeat(3000)}{}${'}'.repeat(3000)}`, /nested/],
  ])('refuses alone a tool with %s', (_, inputSchema, why) => {
    const bad = `{"name":"bad","description":"Bad.","inputSchema":${inputSchema}}`;
    const { tools, refused } = readText(`[${bad},${JSON.stringify(ours)},${bad}]`);
    expect(tools).toEqual(expected);
    expect(refused).toEqual([1, 2].map(() => ({ name: 'bad', why: expect.stringMatching(why) })));
  });

  it.each(['.', '..'])('refuses a tool called %s, which no URL can name', (name) => {
    const { tools, refused } = readText(JSON.stringify([{ ...ours, name }, ours]));
    expect(tools).toEqual(expected);
    expect(refused).toEqual([{ name, why: 'name must not be . or .., which no URL can name' }]);
    expect(readText(JSON.stringify({ ...ours, name }), { prefix: 'shell' }).refused).toEqual([]);
  });
});
