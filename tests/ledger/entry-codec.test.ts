import { deepStrictEqual } from 'node:assert/strict';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ObservationEntry } from '../../src/ledger/entry.ts';
import { decodeEntry, encodeEntry } from '../../src/ledger/entry-codec.ts';
import { packDocument } from '../../src/storage/packed-document.ts';
import { goldenRecord } from '../storage/golden-record.ts';
import { entry } from './arbitrary-entry.ts';

describe('the entry codec', () => {
  it('gives back every kind of entry, bit for bit', () => {
    fc.assert(
      fc.property(entry, (original) => {
        // Compares prototypes and the bytes of arrays: −0 is not 0, and every NaN is itself.
        deepStrictEqual(decodeEntry(encodeEntry(original)), original);
      }),
      { seed: 4, numRuns: 500 },
    );
  });

  it('encodes what it decoded to the same bytes', () => {
    fc.assert(
      fc.property(entry, (original) => {
        const bytes = encodeEntry(original);
        expect(encodeEntry(decodeEntry(bytes)).equals(bytes)).toBe(true);
      }),
      { seed: 5, numRuns: 300 },
    );
  });

  it('reads and writes the bytes of its version', () => {
    const { value, bytes } = goldenRecord<ObservationEntry>('observation.json');
    deepStrictEqual(decodeEntry(bytes), value);
    expect(encodeEntry(value).toString('hex')).toBe(bytes.toString('hex'));
  });

  it('refuses damaged bytes, or reads an entry', () => {
    fc.assert(
      fc.property(entry, fc.nat(), fc.nat(7), fc.boolean(), (original, at, bit, isCut) => {
        const bytes = encodeEntry(original);
        const damaged = isCut ? bytes.subarray(0, at % bytes.length) : Buffer.from(bytes);
        if (!isCut) damaged[at % damaged.length] ^= 1 << bit;
        try {
          decodeEntry(damaged);
        } catch (error) {
          expect((error as Error).message).toMatch(DAMAGED);
        }
      }),
      { seed: 10, numRuns: 1000 },
    );
  });

  it('does not tell an optional number that is undefined from one that is absent', () => {
    const observation = {
      kind: 'observation',
      key: 'k',
      at: 1,
      closes: true,
      decision: { ...DECISION },
      reports: [
        { rewardId: 'r', tool: 't', outcome: 'success', value: 1, weight: 1, at: 1, latencyMs: undefined },
      ],
    } as const satisfies ObservationEntry;
    const decoded = decodeEntry(encodeEntry(observation)) as ObservationEntry;
    expect(Object.keys(decoded.reports[0])).not.toContain('latencyMs');
  });

  it('refuses entries of another version by name', () => {
    const before = packDocument(1, { kind: 'settings', patch: {} }, []);
    const later = packDocument(1, [15, { kind: 'settings', patch: {} }], []);
    expect(() => decodeEntry(before)).toThrow('entries of version 1, and this Bandolier reads version 14');
    expect(() => decodeEntry(later)).toThrow('entries of version 15');
  });

  it('names a kind that it does not know', () => {
    expect(() => decodeEntry(packDocument(1, [14, { kind: 'from-the-future' }], []))).toThrow(
      '"from-the-future"',
    );
    expect(() => decodeEntry(packDocument(2, { kind: 'tools' }, []))).toThrow('tag is 2');
  });
});

/** What is said of bytes that are damaged, or of another version. */
const DAMAGED = /^(This (is not the expected )?document|The (store|ledger) holds)/;

const DECISION = {
  id: 'd',
  at: 1,
  deadline: 2,
  fingerprint: null,
  embedding: null,
  terms: { terms: new Uint32Array(0), weights: new Float32Array(0) },
  tools: ['t'],
  shown: 1,
  columns: {
    similarity: Float32Array.of(0.5),
    lexical: Float32Array.of(1),
    dense: Float32Array.of(0.25),
    retrieval: Float32Array.of(0.625),
  },
  features: {},
  unit: 0,
  learn: true,
};
