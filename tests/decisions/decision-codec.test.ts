import { deepStrictEqual } from 'node:assert/strict';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Float32Columns } from '../../bandit/columns.ts';
import { inclusionPropensities } from '../../bandit/exploration/propensities.ts';
import type { Decision, DecisionColumns } from '../../src/decisions/decision.ts';
import {
  DECISION_TAG,
  decodeDecision,
  encodeDecision,
  indexedFieldsOf,
  namesIn,
} from '../../src/decisions/decision-codec.ts';
import { LostNamesError, nameChecksum } from '../../src/decisions/decision-names.ts';
import { readColumns, writeColumns } from '../../src/decisions/packed-columns.ts';
import { BitReader } from '../../src/storage/bit-reader.ts';
import { BitWriter } from '../../src/storage/bit-writer.ts';
import { packDocument } from '../../src/storage/packed-document.ts';
import { wasmKernels } from '../bandit/kernels/both-kernels.ts';
import { goldenRecord } from '../storage/golden-record.ts';
import { decision, sampleDecision } from './arbitrary-decision.ts';

function numbered(names: readonly string[]) {
  return {
    numberOf: (name: string) => names.indexOf(name),
    at: (number: number) => names[number],
    checksumOf: (number: number) => (number < names.length ? nameChecksum(names[number]) : 0),
  };
}

function packed(columns: readonly Float32Array[]) {
  const bits = new BitWriter();
  writeColumns(bits, columns);
  const { written } = bits;
  return { bytes: written.byteLength, read: readColumns(new BitReader(written), columns.length) };
}

const fewValues = fc.constantFrom(0, -0, 1, Number.NaN, 0.1);
/** Columns of few lengths and few different values, so that some are alike, and some have whole words of what is usual in them. */
const nearlyAlike = fc
  .oneof(
    fc.array(fewValues, { maxLength: 20 }),
    fc
      .tuple(fc.constantFrom(31, 32, 33, 64), fc.array(fewValues, { maxLength: 3 }))
      .map(([length, some]) => [...some, ...new Array<number>(length - some.length).fill(0.5)]),
  )
  .map((values) => Float32Array.from(values));

describe('the decision codec', () => {
  it('gives back every decision, bit for bit', () => {
    fc.assert(
      fc.property(decision, (original) => {
        // Compares prototypes and the bytes of arrays: −0 is not 0, and every NaN is itself.
        deepStrictEqual(decodeDecision(encodeDecision(original)), original);
        const names = numbered(namesIn(original));
        deepStrictEqual(decodeDecision(encodeDecision(original, names), names), original);
      }),
      { seed: 6, numRuns: 500 },
    );
  });

  it.each([
    // Columns of every form, foretold ones with every number that foretells them, a late feature, two shadow versions.
    'decision.json',
    // Probabilities of 1 to 10⁻³⁵, a vector of few different numbers, an id and a hash as the service makes them.
    'decision-drawn.json',
    // One candidate so far below the others that these are e⁷⁷ times as likely.
    'decision-far-apart.json',
  ])('reads and writes the bytes of its version: %s', (file) => {
    const { value, bytes } = goldenRecord<Decision>(file);
    const names = numbered(namesIn(value));
    deepStrictEqual(decodeDecision(bytes, names), value);
    expect(encodeDecision(value, names).toString('hex')).toBe(bytes.toString('hex'));
  });

  it('refuses a decision of another version by name', () => {
    const before = packDocument(DECISION_TAG, { id: 'default.a', embedded: false, versions: [] }, []);
    expect(() => decodeDecision(before)).toThrow(
      'a decision of version 1, and this Bandolier reads version 13',
    );
  });

  it('refuses a decision whose numbers stand for other names now, or for none', () => {
    fc.assert(
      fc.property(decision, fc.nat(), fc.option(fc.string()), (original, at, name) => {
        const texts = [...new Set(namesIn(original))];
        const bytes = encodeDecision(original, numbered(texts));
        const others: string[] = texts.slice();
        if (name === null) others.pop();
        else others[at % others.length] = name;
        fc.pre(others.join('/') !== texts.join('/'));
        expect(() => decodeDecision(bytes, numbered(others))).toThrow(LostNamesError);
      }),
      { seed: 8, numRuns: 300 },
    );
  });

  it('writes a column that is just like another one, or nearly constant, in few bytes', () => {
    fc.assert(
      fc.property(fc.array(nearlyAlike, { maxLength: 30 }), (columns) => {
        deepStrictEqual(packed(columns).read, columns);
      }),
      { seed: 7, numRuns: 300 },
    );
    const some = Float32Array.from({ length: 60 }, (_, i) => 1 + Math.sin(i) ** 2);
    const rare = new Float32Array(60).fill(Number.NaN, 0, 2);
    const constant = new Float32Array(60).fill(-0);
    // Numbers from 1 to 2 have 23 bits beside their sign.
    expect(packed([some, some.slice(), rare, constant]).bytes).toBeLessThan((60 * 24) / 8 + 40);
  });

  it('gives back more columns than an index of one that is the same can name', () => {
    const columns = Array.from({ length: 300 }, (_, i) => Float32Array.of(i, -i, i / 2));
    const all = [...columns, ...columns];
    deepStrictEqual(packed(all).read, all);
  });

  it('writes a column that follows from others in a few bits a number', () => {
    const length = 60;
    const column = (of: (row: number) => number) => Float64Array.from({ length }, (_, row) => of(row));
    const lexical = column((row) => 1 / (1 + row));
    const dense = column((row) => (1 + Math.sin(row)) / 2);
    const retrieval = column((row) => (lexical[row] + dense[row]) / 2);
    const base = column((row) => 0.6 * retrieval[row] + 0.3 * (retrieval[row] / 2));
    const gain = column((row) => -0.1 - Math.cos(row) / 20);
    const mean = column((row) => base[row] + gain[row]);
    const bonus = column((row) => 0.1 * 0.25 + 0.5 * retrieval[row]);
    const zero = new Float64Array(length);
    const all = {
      ...{ lexical, dense, retrieval, base, gain, mean, bonus, trials: zero },
      similarity: column((row) => 0.1 + 0.7 * dense[row]),
      uncertainty: new Float64Array(length).fill(0.25),
      score: column((row) => mean[row] + bonus[row]),
      propensity: new Float64Array(length).fill(0.5),
    };
    const extras = ['h', 'c', 'mx', 'vote', 'rho', 'rate', 'taught', 'mean'];
    const rows = [lexical, dense, zero, zero, retrieval.map((value) => value / 2), zero, zero, mean];
    const features = Float32Array.from({ length: 8 * length }, (_, i) => rows[i % 8][Math.floor(i / 8)]);
    const usual = sampleDecision('default.0123456789', 1, length);
    const copies = new Float32Columns(length, 12);
    const columns = Object.fromEntries(Object.entries(all).map(([name, one]) => [name, copies.copy(one)]));
    const learned = {
      ...usual,
      columns: columns as unknown as DecisionColumns,
      extras,
      features: { v: features },
    };
    const without = { ...usual, columns: NO_COLUMNS, features: {} };
    const names = numbered([...namesIn(learned), ...namesIn(without)]);
    const bytes = encodeDecision(learned, names);
    deepStrictEqual(decodeDecision(bytes, names), learned);
    // Three columns are new, and the other nine with the features hardly more: all as they are would be 4,800 bytes.
    expect(bytes.length - encodeDecision(without, names).length).toBeLessThan(1200);
  });

  it('writes the probabilities of a Plackett–Luce slate by their scores', () => {
    const length = 60;
    const usual = sampleDecision('default.0123456789', 1, length);
    const scores = Float64Array.from({ length }, (_, row) => 0.5 / (1 + row / 7) + Math.sin(row) / 50);
    const drawn = inclusionPropensities(scores, usual.k, usual.temperature, wasmKernels());
    const bytesOf = (propensity: Float32Array) => {
      const columns = { ...NO_COLUMNS, score: Float32Array.from(scores), propensity };
      const decision = { ...usual, columns, features: {} };
      const bytes = encodeDecision(decision);
      deepStrictEqual(decodeDecision(bytes), decision);
      return bytes.length;
    };
    const none = bytesOf(new Float32Array(0));
    expect(bytesOf(Float32Array.from(drawn)) - none).toBeLessThan(2 * length);
    expect(bytesOf(Float32Array.from(drawn).reverse()) - none).toBeGreaterThan(3 * length);
  });

  it('refuses damaged bytes, or reads a decision, and never more than was written', () => {
    const usual = fc.constant(sampleDecision('default.0123456789', 1, 60));
    fc.assert(
      fc.property(
        fc.oneof(decision, usual),
        fc.nat(),
        fc.nat(7),
        fc.boolean(),
        (original, at, bit, isCut) => {
          const bytes = encodeDecision(original);
          const damaged = isCut ? bytes.subarray(0, at % bytes.length) : Buffer.from(bytes);
          if (!isCut) damaged[at % damaged.length] ^= 1 << bit;
          for (const read of [decodeDecision, indexedFieldsOf]) {
            try {
              read(damaged);
            } catch (error) {
              expect((error as Error).message).toMatch(DAMAGED);
            }
          }
        },
      ),
      { seed: 9, numRuns: 1000 },
    );
  });

  it('refuses columns that are together longer than their bytes can say', () => {
    const bits = new BitWriter();
    bits.bit(false);
    bits.count(500_000);
    for (let i = 0; i < 600; i++) bits.put(0xffffffff, 32);
    expect(() => readColumns(new BitReader(bits.written), 2_000)).toThrow(
      'This document is damaged: it says that it holds 2000 columns of 500000 numbers.',
    );
  });

  it('needs less than 4 KB for a decision whose columns have nothing to do with each other', () => {
    const decision = sampleDecision('default.0123456789', 1, 60);
    expect(encodeDecision(decision, numbered(namesIn(decision))).length).toBeLessThan(4000);
  });
});

/** What is said of bytes that are damaged, or of another version. */
const DAMAGED = /^(This (is not the expected )?document|The store holds)/;

const NO_COLUMNS = Object.fromEntries(
  Object.keys(sampleDecision('default.0', 1).columns).map((name) => [name, new Float32Array(0)]),
) as unknown as Decision['columns'];
