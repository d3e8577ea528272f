import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { conversationQuery } from '../../src/queries/conversation.ts';
import {
  beginsRequest,
  FOREIGN_CONNECTION,
  hasRequest,
  isForeign,
  isSubordinate,
  mayBeRelative,
} from '../../src/queries/requests.ts';
import { sentencesOf, splitQuery } from '../../src/queries/split-query.ts';
import { denseText } from '../../src/retrieval/document-text.ts';
import { wordsOf } from '../../src/retrieval/tokenise.ts';

const LENGTH = 100_000;
const READERS: Readonly<Record<string, (text: string) => unknown>> = {
  ...{ sentencesOf, splitQuery, beginsRequest, hasRequest, isForeign, isSubordinate, mayBeRelative, wordsOf },
  FOREIGN_CONNECTION: (text) => [...text.matchAll(FOREIGN_CONNECTION)],
  conversationQuery: (text) => conversationQuery([{ role: 'user', content: text }]),
  denseText: (text) => denseText({ name: text, description: '', inputSchema: {} }),
};
const PIECES = [
  ...[' ', '#', '-', '- ', ', ', '? ', '1. ', 'a. ', '.', '"', '(', 'A', 'Aa', 'a1', 'é', '\n', '`'],
  ...['und ', ', und ', 'so ', 'i also ', 'what ', 'if a, is it a '],
];

/** A pattern whose time grows with the square of a text takes minutes here, and the runner ends the test. */
describe.each(Object.entries(READERS))('%s', (_, read) => {
  it('returns for texts of 100,000 characters', { timeout: 20_000 }, () => {
    for (const piece of PIECES) read(piece.repeat(LENGTH / piece.length));
    const piece = fc.constantFrom(...PIECES);
    fc.assert(
      fc.property(fc.array(piece, { minLength: 2, maxLength: 3 }), piece, (pieces, last) => {
        const share = LENGTH / pieces.length;
        const text = pieces.map((one) => one.repeat(share / one.length)).join('') + last;
        expect(() => read(text)).not.toThrow();
      }),
      { seed: 14, numRuns: 15 },
    );
  });
});
