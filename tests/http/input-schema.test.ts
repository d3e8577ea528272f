import { describe, expect, it } from 'vitest';
import { inputSchema } from '../../src/http/wire/input-schema.ts';
import { MAX_SCHEMA_DEPTH, MAX_SCHEMA_LENGTH } from '../../src/ledger/tool-definition.ts';

const faultOf = (schema: unknown) => inputSchema.safeParse(schema).error?.issues[0].message;

const deep = (levels: number): unknown => (levels === 0 ? 1 : { properties: deep(levels - 1) });

describe('inputSchema', () => {
  it.each([
    ['nothing at all', {}],
    [
      'a tree that contains itself',
      { $defs: { node: { properties: { children: { items: { $ref: '#/$defs/node' } } } } } },
    ],
    ['the whole schema inside itself', { properties: { child: { $ref: '#' } } }],
    ['a reference through another one', { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: {} } }],
    ['a reference to nowhere', { $ref: '#/$defs/missing' }],
    ['a reference elsewhere', { $ref: 'https://example.org/schema.json' }],
    ['a parameter called constructor', { properties: { constructor: { type: 'string' } } }],
    ['the deepest there may be', deep(MAX_SCHEMA_DEPTH)],
  ])('accepts %s', (_, schema) => {
    expect(faultOf(schema)).toBeUndefined();
  });

  it.each([
    ['itself', { $ref: '#' }],
    ['each other', { $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } }],
    [
      'one further down',
      { properties: { x: { $ref: '#/$defs/a~1b' } }, $defs: { 'a/b': { $ref: '#/$defs/a~1b' } } },
    ],
  ])('refuses references that only lead back to %s', (_, schema) => {
    expect(faultOf(schema)).toMatch(/only leads back to itself: #/);
  });

  it('refuses schemas that are too deep or too long', () => {
    expect(faultOf(deep(MAX_SCHEMA_DEPTH + 1))).toMatch(/nested deeper/);
    expect(faultOf({ description: 'x'.repeat(MAX_SCHEMA_LENGTH) })).toMatch(/64 KB/);
  });

  it.each([[[]], [null], ['{}'], [3]])('refuses %j', (schema) => {
    expect(faultOf(schema)).toMatch(/expected/i);
  });

  it('looks at a long chain of references only once', () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 1500 }, (_, i) => [`d${i}`, { $ref: `#/$defs/d${i + 1}` }]),
    );
    expect(faultOf({ $defs })).toBeUndefined();
  });
});
