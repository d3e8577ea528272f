import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_PARTS, type Splitter } from '../../src/queries/splitter.ts';
import { tokenise } from '../../src/retrieval/tokenise.ts';

/** What every splitter keeps to. @param create a splitter that is ready; called once per test. */
export function splitterContract(name: string, create: () => Splitter): void {
  describe(`${name} keeps the contract of splitters`, () => {
    it('tells apart what a query asks for, in its order', async () => {
      const { parts } = await create().split(
        'Book a hotel in Lisbon for two nights. Then send the invoice of March to the accountant.',
      );
      expect(parts).toHaveLength(2);
      expect(parts[0]).toContain('hotel');
      expect(parts[0]).not.toContain('invoice');
      expect(parts[1]).toContain('invoice');
    });

    it.each([
      'Book a hotel in Lisbon for two nights',
      'Which of my meetings on Friday clash with the dentist?',
      'refund',
    ])('answers a single need with exactly the query: %s', async (query) => {
      expect((await create().split(query)).parts).toEqual([query]);
    });

    it.each([
      ['nothing', ''],
      ['space', ' '],
      ['a mark', '?'],
      ['emoji', '😀😀'],
      ['half a character', '\uD800'],
      ['Japanese', '今日の天気は？'],
      ['a very long word', 'x'.repeat(100_000)],
      ['endless clauses', 'do it and '.repeat(5_000)],
      ['endless marks', `${'…'.repeat(50_000)} ${'"'.repeat(50_000)}`],
    ])('stands %s', async (_, query) => {
      expect((await create().split(query)).parts.length).toBeGreaterThanOrEqual(1);
    });

    it('answers 1 to MAX_PARTS parts of the query’s words, the same each time', async () => {
      const splitter = create();
      const words = fc.constantFrom(
        ...'book send find the a hotel mail report , . ? and then please it " \' ( ) 1. - \n 酒店。 für'.split(
          ' ',
        ),
      );
      const query = fc.array(words, { maxLength: 60 }).map((some) => some.join(' '));
      await fc.assert(
        fc.asyncProperty(fc.oneof(query, fc.string({ unit: 'grapheme' })), async (text) => {
          const { parts } = await splitter.split(text);
          expect(parts.length).toBeGreaterThanOrEqual(1);
          expect(parts.length).toBeLessThanOrEqual(MAX_PARTS);
          if (parts.length === 1) expect(parts).toEqual([text]);
          const known = new Set(tokenise(text));
          for (const part of parts) expect([...tokenise(part)].every((term) => known.has(term))).toBe(true);
          expect((await splitter.split(text)).parts).toEqual(parts);
        }),
        { numRuns: 200 },
      );
    });
  });
}
