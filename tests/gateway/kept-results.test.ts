import type { CallToolResult } from '@modelcontextprotocol/client';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { KeptResults } from '../../src/gateway/kept-results.ts';

let now = 0;
const kept = (maxShown: number, maxKept = 1e9) =>
  new KeptResults({
    maxShown,
    maxKept,
    keepMs: 1000,
    now: () => now,
    describeRest: (handle) => `REST ${handle}`,
  });

const handleOf = (result: CallToolResult) =>
  (result._meta?.['bandolier/rest'] as { handle: string } | undefined)?.handle;

/** All parts, without the words about the rest. */
function partsOf(results: KeptResults, first: CallToolResult): CallToolResult['content'] {
  const all: CallToolResult['content'] = [];
  for (let result = first; ; ) {
    const handle = handleOf(result);
    all.push(...(handle === undefined ? result.content : result.content.slice(0, -1)));
    if (handle === undefined) return all;
    result = results.read(handle)!;
  }
}

it('all parts together are the whole', () => {
  const block = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 60 }).map((text) => ({ type: 'text' as const, text })),
    fc.string({ maxLength: 60 }).map((data) => ({ type: 'image' as const, data, mimeType: 'image/png' })),
  );
  fc.assert(
    fc.property(fc.array(block, { maxLength: 8 }), fc.integer({ min: 2, max: 80 }), (content, maxShown) => {
      const results = kept(maxShown);
      const parts = partsOf(results, results.cut({ content }));
      const texts = (blocks: CallToolResult['content']) =>
        blocks.map((one) => (one.type === 'text' ? one.text : '')).join('');
      expect(texts(parts)).toBe(texts(content));
      expect(parts.filter(({ type }) => type === 'image')).toEqual(
        content.filter(({ type }) => type === 'image'),
      );
      // Throws for half a pair of surrogates.
      for (const one of parts) if (one.type === 'text') encodeURIComponent(one.text);
    }),
  );
});

it('structured content that is too long becomes text, once', () => {
  const structuredContent = { rows: Array.from({ length: 100 }, (_, i) => i) };
  const text = JSON.stringify(structuredContent);
  const results = kept(100);
  for (const content of [[], [{ type: 'text' as const, text }]]) {
    const first = results.cut({ content, structuredContent });
    expect(first.structuredContent).toBeUndefined();
    expect(
      partsOf(results, first)
        .map((one) => (one.type === 'text' ? one.text : ''))
        .join(''),
    ).toBe(text);
  }
});

it('what fits is left as it is; what is old, or too much, is forgotten', () => {
  const results = kept(10, 250);
  const small: CallToolResult = { content: [{ type: 'text', text: 'small' }], _meta: { a: 1 } };
  expect(results.cut(small)).toBe(small);
  const long = () => handleOf(results.cut({ content: [{ type: 'text', text: 'x'.repeat(100) }] }))!;
  const handles = [long(), long(), long()];
  expect(handles.map((handle) => results.read(handle) === null)).toEqual([true, false, false]);
  now += 2000;
  expect(results.read(handles[2])).toBeNull();
  for (const handle of ['', '..', `${handles[1].split('.')[0]}.x.1`, 'a.-1.5'])
    expect(results.read(handle)).toBeNull();
});
