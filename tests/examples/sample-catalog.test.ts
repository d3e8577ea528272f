import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { toolSchema } from '../../src/http/wire/tool.ts';
import type { ToolDefinition } from '../../src/ledger/tool-definition.ts';
import { schemaFaults } from './schema-faults.ts';

interface LabelledQuery {
  readonly id: string;
  readonly query: string;
  readonly relevant: readonly string[];
}

const folder = new URL('../../examples/sample-catalog/', import.meta.url);
const tools = (JSON.parse(readText('tools.json')) as { tools: ToolDefinition[] }).tools;
const files = { learn: readQueries('learn'), unseen: readQueries('unseen') };
const names = tools.map(({ name }) => name);

describe('the tools of the sample catalog', () => {
  it('are 150 of 12 servers with 12 or 13 each, no name twice', () => {
    expect(tools).toHaveLength(150);
    expect(repeated(names)).toEqual([]);
    const servers = countsOf(tools.map(({ server }) => server ?? 'none'));
    const expected = 'mail calendar payments tickets git files weather travel sql crm home docs'.split(' ');
    expect([...servers.keys()].sort()).toEqual(expected.sort());
    for (const count of servers.values()) expect([12, 13]).toContain(count);
  });

  it.each(tools.map((tool) => [tool.name, tool] as const))('%s has the wire shape', (name, tool) => {
    const fields = ['name', 'description', 'inputSchema', 'server', 'tags'];
    expect(Object.keys(tool).filter((key) => !fields.includes(key))).toEqual([]);
    expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    expect(tool.description.trim().length).toBeGreaterThan(0);
    expect(toolSchema.safeParse(tool).error?.issues).toBeUndefined();
  });

  it.each(tools.map((tool) => [tool.name, tool] as const))('%s takes 1 to 8 parameters', (_, tool) => {
    expect(schemaFaults(tool.inputSchema)).toEqual([]);
    expect(tool.inputSchema.type).toBe('object');
    const parameters = Object.keys(tool.inputSchema.properties as object).length;
    expect(parameters).toBeGreaterThanOrEqual(1);
    expect(parameters).toBeLessThanOrEqual(8);
  });

  it('would be caught with a broken schema', () => {
    const broken = { type: 'object', properties: { a: { type: 'text' }, b: { enum: [] } }, required: ['c'] };
    expect(schemaFaults(broken)).toEqual([
      '$: requires c, which is no property',
      '$.a: bad type',
      '$.b: bad enum',
    ]);
  });
});

describe.each([
  ['learn', 480],
  ['unseen', 120],
] as const)('the %s queries', (file, count) => {
  const queries = files[file];

  it(`are ${count}, none twice`, () => {
    expect(queries).toHaveLength(count);
    expect(repeated(queries.map(({ query }) => normalised(query)))).toEqual([]);
  });

  it('have an id, a text and known tools, and nothing else', () => {
    const known = new Set(names);
    for (const one of queries) {
      expect(Object.keys(one)).toEqual(['id', 'query', 'relevant']);
      expect(one.query.trim()).toBe(one.query);
      expect(one.query.length).toBeGreaterThan(0);
      expect(one.relevant.length).toBeGreaterThanOrEqual(1);
      expect(repeated(one.relevant)).toEqual([]);
      expect(one.relevant.filter((name) => !known.has(name))).toEqual([]);
    }
  });

  it('need one tool in about 70 %, two in 22 %, three in 8 %', () => {
    const sizes = countsOf(queries.map(({ relevant }) => relevant.length));
    expect([...sizes.keys()].sort()).toEqual([1, 2, 3]);
    for (const [size, share] of [0.7, 0.22, 0.08].entries()) {
      expect(Math.abs((sizes.get(size + 1) ?? 0) / queries.length - share)).toBeLessThanOrEqual(0.03);
    }
  });
});

describe('the two query files together', () => {
  it('never use an id twice', () => {
    expect(repeated([...files.learn, ...files.unseen].map(({ id }) => id))).toEqual([]);
  });

  it('need every tool at least twice in learn', () => {
    const uses = countsOf(files.learn.flatMap(({ relevant }) => relevant));
    expect(names.filter((name) => (uses.get(name) ?? 0) < 2)).toEqual([]);
  });

  it('share no query, and no near-copy with a token Jaccard of .7 or more', () => {
    const learned = files.learn.map(({ query }) => ({ query, words: wordsOf(query) }));
    const copies = files.unseen.flatMap(({ query }) => {
      const words = wordsOf(query);
      return learned.filter((one) => jaccard(words, one.words) >= 0.7).map((one) => [query, one.query]);
    });
    expect(copies).toEqual([]);
    expect(jaccard(wordsOf('Close it, please!'), wordsOf('please close it'))).toBe(1);
  });
});

function readText(file: string): string {
  return readFileSync(new URL(file, folder), 'utf8');
}

function readQueries(file: string): LabelledQuery[] {
  const lines = readText(`queries.${file}.jsonl`).trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line) as LabelledQuery);
}

function wordsOf(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu));
}

function normalised(text: string): string {
  return (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).join(' ');
}

function jaccard(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const shared = [...a].filter((word) => b.has(word)).length;
  return shared / (a.size + b.size - shared);
}

function countsOf<T>(values: readonly T[]): Map<T, number> {
  const counts = new Map<T, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

function repeated<T>(values: readonly T[]): T[] {
  return [...countsOf(values)].filter(([, count]) => count > 1).map(([value]) => value);
}
