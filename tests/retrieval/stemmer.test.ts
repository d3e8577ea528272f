import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stem } from '../../src/retrieval/stemmer.ts';

const golden: { stems: Record<string, string> } = JSON.parse(
  readFileSync(new URL('../golden/english-stems.json', import.meta.url), 'utf8'),
);

describe('stem', () => {
  it('gives the stems of the Snowball reference', () => {
    const ours = Object.fromEntries(Object.keys(golden.stems).map((word) => [word, stem(word)]));
    expect(ours).toEqual(golden.stems);
  });

  it('keeps apart what only looks alike', () => {
    expect(new Set(['international', 'internal', 'intern', 'interval'].map(stem)).size).toBe(4);
    expect(stem('organization')).not.toBe(stem('organic'));
    expect(stem('emergency')).not.toBe(stem('emerge'));
  });

  it('answers any letters and digits with something no longer by more than a letter', () => {
    const word = fc.stringMatching(/^[a-z0-9]{0,40}$/);
    fc.assert(
      fc.property(word, (text) => {
        const stemmed = stem(text);
        expect(stemmed.length).toBeLessThanOrEqual(text.length + 1);
        expect(stemmed).toMatch(/^[a-z0-9]*$/);
        expect(stemmed.length > 0).toBe(text.length > 0);
      }),
    );
  });
});
