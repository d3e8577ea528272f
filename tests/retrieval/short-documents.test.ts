import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Bm25Index } from '../../src/retrieval/bm25.ts';
import { ShortDocuments } from '../../src/retrieval/short-documents.ts';

// Terms that share their last bits among them.
const token = fc.oneof(
  fc.nat(12),
  fc.nat(12).map((n) => n * 1024 + 3),
  fc.constant(2 ** 32 - 1),
);
const tokens = fc.array(token, { maxLength: 30 }).map((all) => Uint32Array.from(all));

it('short documents have the scores of the inverted index, bit for bit, query after query', () => {
  fc.assert(
    fc.property(
      fc.array(tokens, { maxLength: 40 }),
      fc.array(tokens, { maxLength: 4 }),
      (documents, queries) => {
        const index = new Bm25Index();
        for (const [at, document] of documents.entries()) index.put(at, document);
        const short = new ShortDocuments(documents);
        for (const query of queries) {
          const expected = index.search(query).scores.slice(0, documents.length);
          expect(short.scores(query)).toEqual(expected);
        }
      },
    ),
    { numRuns: 500 },
  );
});
