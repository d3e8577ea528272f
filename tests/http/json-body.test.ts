import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { elementFaults, guardJson, jsonPath } from '../../src/http/json-body.ts';
import { JsonScanner } from '../../src/http/json-scanner.ts';
import { TOOLS_BODY } from '../../src/http/wire/tool.ts';

describe('guardJson', () => {
  it('accepts any JSON that has no `__proto__` and no overflow', () => {
    const key = fc.string().filter((name) => name !== '__proto__');
    const { tree } = fc.letrec((tie) => ({
      leaf: fc.oneof(
        fc.string(),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.boolean(),
        fc.constant(null),
      ),
      tree: fc.oneof({ maxDepth: 4 }, tie('leaf'), fc.array(tie('tree')), fc.dictionary(key, tie('tree'))),
    }));
    fc.assert(fc.property(tree, (value) => guardJson(value).length === 0));
  });

  it('finds `__proto__` wherever it is, and leaves `constructor` alone', () => {
    const value = JSON.parse(
      '{"tools":[{"a":1,"inner":{"__proto__":{"x":1}}}],"constructor":{"prototype":1}}',
    );
    expect(guardJson(value)).toEqual([{ path: 'tools[0].inner.__proto__', message: expect.any(String) }]);
  });

  it('finds numbers that JSON can write and a double cannot hold', () => {
    expect(guardJson(JSON.parse('{"a":{"b":[1,-1e999]}}'))).toEqual([
      { path: 'a.b[1]', message: 'is too large for a number' },
    ]);
  });

  it('reports a few violations, not a million', () => {
    expect(guardJson(JSON.parse(`[${'1e999,'.repeat(1000)}1]`))).toHaveLength(20);
  });
});

it('jsonPath quotes names that are no identifiers and keeps long paths short', () => {
  expect(jsonPath(['tools', 3, 'input schema', 'ключ'])).toBe('tools[3]["input schema"].ключ');
  expect(jsonPath(['If-Match'])).toBe('If-Match');
  expect(jsonPath(['x'.repeat(5000), 'name']).length).toBeLessThan(200);
});

describe('elementFaults', () => {
  const scan = (element: object) =>
    new JsonScanner(TOOLS_BODY).scan(Buffer.from(JSON.stringify({ tools: [element, element] })));
  const deep = (levels: number): object => (levels === 1 ? {} : { items: deep(levels - 1) });

  it.each<[string, (size: number) => object, number, RegExp]>([
    ['values', (size) => ({ enum: Array(size).fill(1) }), 9997, /more than 10000 values/],
    ['levels', (size) => ({ inputSchema: deep(size) }), 64, /deeper than 64 levels/],
    ['bytes', (size) => ({ description: 'ü'.repeat(size) }), 512 * 1024 - 9, /longer than 1024 KB/],
  ])('accepts no more %s than a body may have in one element', (_, make, most, why) => {
    expect(elementFaults(make(most))).toEqual([]);
    expect(() => scan(make(most))).not.toThrow();
    expect(elementFaults(make(most + 1))).toEqual([
      { path: expect.any(String), message: expect.stringMatching(why) },
    ]);
  });

  it('ends with values that contain themselves, and with few that stand for very many', () => {
    const round: Record<string, unknown> = {};
    round.again = [round, round];
    let wide: unknown = 1;
    for (let level = 0; level < 60; level++) wide = [wide, wide];
    expect(elementFaults({ metadata: round })).toHaveLength(1);
    expect(elementFaults({ metadata: { wide } })[0].message).toMatch(/values/);
  });
});
