import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { briefSchema } from '../../src/routing/brief-schema.ts';

type Schema = Readonly<Record<string, unknown>>;

describe('a brief schema', () => {
  it('keeps names, types, choices and what is required, at every depth, and nothing else', () => {
    const full = {
      type: 'object',
      title: 'Arguments',
      required: ['description'],
      additionalProperties: false,
      properties: {
        // Parameters may be called like keywords.
        description: { type: 'string', description: 'What it is', minLength: 3, examples: ['a'] },
        default: { type: ['integer', 'null'], minimum: 1, default: 5 },
        unit: { enum: ['day', 'week'], description: 'How long', 'x-widget': { deep: [1, 2] } },
        tags: { type: 'array', maxItems: 3, items: { type: 'string', pattern: '^a' } },
        place: {
          type: 'object',
          description: 'Where',
          properties: { lat: { type: 'number', description: 'Latitude' }, any: true },
          required: ['lat'],
        },
      },
    };
    expect(briefSchema(full)).toEqual({
      type: 'object',
      required: ['description'],
      additionalProperties: false,
      properties: {
        description: { type: 'string' },
        default: { type: ['integer', 'null'] },
        unit: { enum: ['day', 'week'] },
        tags: { type: 'array', items: { type: 'string' } },
        place: {
          type: 'object',
          properties: { lat: { type: 'number' }, any: true },
          required: ['lat'],
        },
      },
    });
  });

  it('changes nothing of the schema it is made from', () => {
    const full = { properties: { a: { $ref: '#/not', oneOf: [{}] } }, not: {} };
    const before = structuredClone(full);
    briefSchema(full);
    expect(full).toEqual(before);
  });

  it('keeps references, and what they refer to; one to what is left out is left out', () => {
    const node = {
      type: 'object',
      properties: { next: { $ref: '#/$defs/a~1b' }, value: { type: 'string' } },
    };
    const full = {
      properties: {
        list: { $ref: '#/$defs/a~1b', description: 'The list' },
        other: { $ref: '#/components/schemas/Other' },
        elsewhere: { $ref: 'https://example.com/schema.json' },
        all: { $ref: '#' },
      },
      $defs: { 'a/b': { ...node, title: 'Node' } },
      components: { schemas: { Other: { type: 'string' } } },
    };
    expect(briefSchema(full)).toEqual({
      type: 'object',
      properties: {
        list: { $ref: '#/$defs/a~1b' },
        other: {},
        elsewhere: { $ref: 'https://example.com/schema.json' },
        all: { $ref: '#' },
      },
      $defs: { 'a/b': node },
    });
    expect(briefSchema({ $ref: '#/components/A', components: { A: {} } })).toEqual({
      type: 'object',
      properties: {},
    });
  });

  it('is not confused by names of object members', () => {
    const full = JSON.parse(
      '{"properties": {"__proto__": {"type": "string", "title": "x"}, "constructor": true}}',
    );
    const brief = JSON.stringify(briefSchema(full));
    expect(brief).toBe('{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":true}}');
  });

  it('takes every value that the whole schema takes', () => {
    const takes = (schema: unknown, value: unknown) => isValid(schema, value);
    let taken = 0;
    fc.assert(
      fc.property(schemas, values, (properties, value) => {
        const full: Schema = { type: 'object', properties: { a: properties } };
        if (!takes(full, { a: value })) return;
        taken++;
        expect(takes(briefSchema(full), { a: value })).toBe(true);
      }),
      { seed: 4, numRuns: 3000 },
    );
    expect(taken).toBeGreaterThan(500);
  });
});

const values = fc.oneof(
  fc.constantFrom('a', 'ab', 'abc', 1, 2, 3, true, null),
  fc.array(fc.constantFrom('a', 'abc', 1, 3), { maxLength: 3 }),
  fc.dictionary(fc.constantFrom('a', 'b', 'ab'), fc.constantFrom('a', 'abc', 1, 3), { maxKeys: 3 }),
);

/** Schemas of every keyword that can make a value invalid, in the subset that `isValid` knows. */
const schemas = fc.letrec<{ schema: unknown }>((tie) => {
  const list = fc.array(tie('schema'), { minLength: 1, maxLength: 3 });
  const names = fc.constantFrom('a', 'b', 'ab');
  return {
    schema: fc.oneof(
      { maxDepth: 3, depthIdentifier: 'schema' },
      fc.constantFrom(true, {}, { type: 'string' }, { minimum: 2 }, { const: 'a' }),
      fc.record(
        {
          type: fc.constantFrom('string', 'number', 'array', 'object', ['string', 'null']),
          enum: fc.constantFrom(['a', 1], ['ab', null, 3]),
          minLength: fc.constantFrom(1, 2),
          minimum: fc.constantFrom(1, 2),
          maxItems: fc.constantFrom(1, 2),
          items: tie('schema'),
          properties: fc.dictionary(names, tie('schema'), { maxKeys: 2 }),
          patternProperties: fc.constantFrom({ b: { type: 'string' } }, { a: { minLength: 2 } }),
          additionalProperties: fc.oneof(fc.constant(false), tie('schema')),
          required: fc.array(names, { maxLength: 1 }),
          anyOf: list,
          oneOf: list,
          allOf: list,
          not: tie('schema'),
        },
        { requiredKeys: [] },
      ),
    ),
  };
}).schema;

/** JSON Schema 2020-12, as far as the schemas above go, without a thought for speed. */
function isValid(schema: unknown, value: unknown): boolean {
  if (typeof schema === 'boolean') return schema;
  const s = schema as Record<string, never>;
  const has = (keyword: string) => Object.hasOwn(s, keyword);
  const inList = (keyword: string) => (s[keyword] as unknown[]).filter((one) => isValid(one, value)).length;
  const types = [value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value];
  if (has('type') && ![s.type].flat().some((type) => types.includes(type))) return false;
  if (has('enum') && !(s.enum as unknown[]).includes(value)) return false;
  if (has('const') && s.const !== value) return false;
  if (has('minLength') && typeof value === 'string' && value.length < s.minLength) return false;
  if (has('minimum') && typeof value === 'number' && value < s.minimum) return false;
  if (has('maxItems') && Array.isArray(value) && value.length > s.maxItems) return false;
  if (has('items') && Array.isArray(value) && !value.every((one) => isValid(s.items, one))) return false;
  if (has('not') && isValid(s.not, value)) return false;
  if (has('anyOf') && inList('anyOf') === 0) return false;
  if (has('oneOf') && inList('oneOf') !== 1) return false;
  if (has('allOf') && inList('allOf') < (s.allOf as unknown[]).length) return false;
  if (types[0] !== 'object') return true;
  const object = value as Record<string, unknown>;
  if (has('required') && !(s.required as string[]).every((name) => Object.hasOwn(object, name))) return false;
  return Object.entries(object).every(([name, one]) => {
    const patterns = Object.entries(s.patternProperties ?? {}).filter(([pattern]) => name.includes(pattern));
    const own = Object.hasOwn(s.properties ?? {}, name) ? [s.properties[name]] : [];
    const fitting = [...own, ...patterns.map(([, fits]) => fits)];
    if (fitting.length > 0) return fitting.every((fits) => isValid(fits, one));
    return !has('additionalProperties') || isValid(s.additionalProperties, one);
  });
}
