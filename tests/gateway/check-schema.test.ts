import fc from 'fast-check';
import { expect, it } from 'vitest';
import { SchemaChecks } from '../../src/gateway/check-schema.ts';

const check = (schema: object, args: Record<string, unknown>) => new SchemaChecks().check(schema, args);

it('says what is wrong where', () => {
  const schema = {
    type: 'object',
    properties: {
      pattern: { type: 'string' },
      list: { type: 'array', items: { $ref: '#/$defs/one' } },
      unit: { enum: ['c', 'f'] },
    },
    required: ['pattern', 'unit'],
    additionalProperties: false,
    $defs: { one: { type: 'object', properties: { n: { type: 'integer', minimum: 1 } } } },
  };
  expect(check(schema, { pattern: 'x', unit: 'c', list: [{ n: 1 }] })).toEqual([]);
  const problems = check(schema, { pattern: 5, list: [{ n: 1 }, { n: 0 }], more: 1 });
  expect(problems.map(({ path }) => path).sort()).toEqual(['', '/list/1/n', '/more', '/pattern']);
  expect(problems.find(({ path }) => path === '')?.message).toContain('unit');
});

it('runs no pattern, and does not refuse what a pattern could allow', () => {
  const schema = {
    type: 'object',
    properties: { text: { type: 'string', pattern: '^(a+)+$' }, list: { type: 'array', uniqueItems: true } },
    patternProperties: { '^(x+)+$': { type: 'number' } },
    additionalProperties: false,
  };
  expect(check(schema, { text: `${'a'.repeat(100_000)}!`, list: [1, 1], xx: 1 })).toEqual([]);
  expect(check({ type: 'object', properties: { text: { format: 'email' } } }, { text: 'no' })).toEqual([]);
});

it('is bounded: what is too large, endless, or no schema refuses nothing', () => {
  const fan: Record<string, unknown> = { $defs: {} };
  for (let i = 0; i < 40; i++) {
    const next = { $ref: `#/$defs/d${i + 1}` };
    (fan.$defs as Record<string, unknown>)[`d${i}`] = { allOf: [next, next] };
  }
  Object.assign(fan.$defs as object, { d40: { type: 'string' } });
  expect(check({ ...fan, $ref: '#/$defs/d0' }, {})).toEqual([]);
  expect(check({ $ref: '#' }, {})).toEqual([]);
  expect(check({ $ref: 'https://example.com/other' }, {})).toEqual([]);
  expect(check({ required: true, properties: 5, allOf: {} }, { a: 1 })).toEqual([]);
  let deep: object = { type: 'string' };
  for (let i = 0; i < 10_000; i++) deep = { properties: { a: deep } };
  expect(check(deep, { a: 1 })).toEqual([]);
});

it('counts what a keyword reads, not only how many schemas are looked at', () => {
  const array = (length: number, item: (i: number) => unknown) => Array.from({ length }, (_, i) => item(i));
  const list = (items: object) => ({ properties: { list: { type: 'array', items } } });
  const text = (count: number) => ({
    properties: { text: { allOf: array(count, () => ({ maxLength: 5 })) } },
  });
  // Each of these is checked where it is small, and left to the server where it is large.
  const choices = list({ enum: array(3_000, (i) => ({ k: i })) });
  expect(check(choices, { list: [null, { k: -1 }, { k: 1 }] })).toHaveLength(2);
  expect(check(choices, { list: array(40_000, () => null) })).toEqual([]);
  expect(check(choices, { list: [Object.fromEntries(array(20_000, (i) => [`k${i}`, i]) as [])] })).toEqual(
    [],
  );
  expect(check(text(900), { text: 'a'.repeat(600) })).toHaveLength(10);
  expect(check(text(900), { text: 'a'.repeat(3_000_000) })).toEqual([]);
  expect(check(text(1), { text: 'a'.repeat(500_000) })).toHaveLength(1);
  const constant = list({ const: array(6_000, (i) => i) });
  expect(check(constant, { list: [[], []] })).toHaveLength(2);
  expect(check(constant, { list: array(2_000, () => []) })).toEqual([]);
  const required = list({ required: array(6_000, (i) => `p${i}`) });
  expect(check(required, { list: [{}] })).toHaveLength(10);
  expect(check(required, { list: array(1_000, () => ({})) })).toEqual([]);
  const names = (count: number) => ({
    allOf: array(count, () => ({ additionalProperties: { type: 'string' } })),
  });
  expect(check(names(1), { [`a~/${'b'.repeat(1_000)}`]: 1 })).toHaveLength(1);
  expect(check(names(900), { ['~/'.repeat(500_000)]: 1 })).toEqual([]);
  expect(check(list({ type: 'string' }), { list: array(8_000, () => 1) })).toHaveLength(10);
  expect(check(list({ type: 'string' }), { list: array(1_000_000, () => 1) })).toEqual([]);
});

it('never throws, whatever the schema', () => {
  const keyword = fc.constantFrom(
    'type',
    'properties',
    '$ref',
    'items',
    'allOf',
    'enum',
    'required',
    'pattern',
    '$id',
    'not',
  );
  fc.assert(
    fc.property(
      fc.dictionary(keyword, fc.jsonValue()),
      fc.dictionary(fc.string(), fc.jsonValue()),
      (schema, args) => {
        expect(Array.isArray(check(schema as object, args))).toBe(true);
      },
    ),
  );
});
