import { deepStrictEqual } from 'node:assert/strict';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toFixedPoint } from '../../src/models/fixed-point.ts';
import { BitReader } from '../../src/storage/bit-reader.ts';
import { BitWriter } from '../../src/storage/bit-writer.ts';

/** Something to write, and how it is read: what is read must be the same, bit for bit. */
interface Item {
  readonly value: unknown;
  readonly write: (to: BitWriter) => void;
  readonly read: (from: BitReader) => unknown;
}

const MOST_NEAR = 2 ** 24 - 1;
const word = fc.oneof(fc.nat(0xffffffff), fc.constantFrom(0, 1, 0x7fffffff, 0x80000000, 0xffffffff));
/** Integers of every length. */
const upTo = (mostBits: number) => {
  return fc
    .integer({ min: 0, max: mostBits })
    .chain((bits) => fc.maxSafeNat().map((value) => value % 2 ** bits));
};
/** Numbers bit for bit: NaN with any bits, ±0, ±∞ and those next to 0 among them. */
const wildWords = fc.oneof(
  word,
  fc.constantFrom(0, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7f800001, 1, 0x80000001),
);
/** Few numbers, or as many as embeddings have, most of them again and again. */
const lists = <T>(items: fc.Arbitrary<T>): fc.Arbitrary<T[]> => {
  const few = fc.array(items, { maxLength: 60 });
  const many = fc
    .tuple(fc.array(items, { minLength: 1, maxLength: 80 }), fc.integer({ min: 257, max: 3072 }))
    .map(([some, length]) => Array.from({ length }, (_, i) => some[(i * i) % some.length]));
  return fc.oneof({ weight: 9, arbitrary: few }, { weight: 1, arbitrary: many });
};
const floats = (words: fc.Arbitrary<number>) => {
  return lists(words).map((some) => new Float32Array(Uint32Array.from(some).buffer));
};
const tame = fc
  .float({ min: -1, max: 1, noNaN: true })
  .map((value) => new Uint32Array(Float32Array.of(value).buffer)[0]);
const fixed = fc.oneof(floats(wildWords), floats(tame)).map(toFixedPoint);
const vector = fc.oneof(floats(wildWords), floats(tame), fixed);

const kinds = {
  put: fc.integer({ min: 0, max: 32 }).chain((width) => {
    return word.map((any) => {
      const value = any % 2 ** width;
      return item(
        value,
        (to) => to.put(value, width),
        (from) => from.take(width),
      );
    });
  }),
  count: fc
    .oneof(upTo(53), fc.constantFrom(0, 1, 2 ** 32 - 1, 2 ** 32, 2 ** 52 + 1, Number.MAX_SAFE_INTEGER))
    .map((value) =>
      item(
        value,
        (to) => to.count(value),
        (from) => from.count(),
      ),
    ),
  f64: fc.oneof(fc.double(), fc.constantFrom(-0, Number.NaN)).map((value) =>
    item(
      value,
      (to) => to.f64(value),
      (from) => from.f64(),
    ),
  ),
  doubles: fc.array(fc.oneof(fc.double(), fc.float()), { maxLength: 12 }).map((values) =>
    item(
      values,
      (to) => to.doubles(values),
      (from) => from.doubles(),
    ),
  ),
  integers: fc.array(fc.oneof(upTo(32), word), { maxLength: 12 }).map((values) =>
    item(
      values,
      (to) => to.integers(values),
      (from) => from.integers(),
    ),
  ),
  words: fc.array(word, { maxLength: 12 }).map((values) => {
    const words = Uint32Array.from(values);
    const back = new Uint32Array(words.length);
    return item(
      words,
      (to) => to.words(words, words.length),
      (from) => {
        from.words(back, back.length);
        return back;
      },
    );
  }),
  double: fc.oneof(fc.double(), fc.float(), fc.constantFrom(-0, Number.NaN)).map((value) =>
    item(
      value,
      (to) => to.double(value),
      (from) => from.double(),
    ),
  ),
  hex: fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), maxLength: 40 }).map((digits) =>
    item(
      digits,
      (to) => to.hex(`x${digits}`, 1),
      (from) => from.hex(digits.length),
    ),
  ),
  numbers: fc
    .oneof(lists(word), lists(fc.constantFrom(0, 0x80000000, 0x3f800000, 0xbf000001, 0x7fc00000)))
    .map((values) => {
      const words = Uint32Array.from(values);
      const back = new Uint32Array(words.length);
      return item(
        words,
        (to) => to.numbers(words, words.length),
        (from) => {
          from.numbers(back, back.length);
          return back;
        },
      );
    }),
  near: fc
    .tuple(fc.array(fc.oneof(upTo(24), fc.constant(MOST_NEAR)), { maxLength: 40 }), fc.nat(23))
    .map(([values, usual]) => {
      return near(Uint32Array.from(values), usual);
    }),
  vector: vector.map((values) =>
    item(
      values,
      (to) => to.vector(values),
      (from) => from.vector(),
    ),
  ),
  floats: vector.map((values) =>
    item(
      values,
      (to) => to.floats(values),
      (from) => from.floats(),
    ),
  ),
  terms: vector.map((weights) => {
    const terms = { terms: Uint32Array.from(weights, (_, i) => Math.imul(i, 0x9e3779b1)), weights };
    return item(
      terms,
      (to) => to.terms(terms),
      (from) => from.terms(),
    );
  }),
};

function item(value: unknown, write: Item['write'], read: Item['read']): Item {
  return { value, write, read };
}

function near(words: Uint32Array, usual: number): Item {
  const back = new Uint32Array(words.length);
  return item(
    words,
    (to) => to.near(words, words.length, usual),
    (from) => {
      from.near(back, back.length, usual);
      return back;
    },
  );
}

/** @param to what it has written before does not matter */
function written(items: readonly Item[], to = new BitWriter()): Uint32Array {
  to.emptied();
  for (const { write } of items) write(to);
  return to.written.slice();
}

function expectSame(items: readonly Item[]): void {
  const from = new BitReader(written(items));
  // Compares the bytes of arrays: −0 is not 0.
  for (const { value, read } of items) deepStrictEqual(bitsOf(read(from)), bitsOf(value));
}

/** Of a NaN, the comparison of numbers sees no bits. */
function bitsOf(value: unknown): unknown {
  if (value instanceof Float32Array) return new Uint32Array(value.slice().buffer);
  if (typeof value !== 'object' || value === null || !('weights' in value)) return value;
  return { ...value, weights: bitsOf(value.weights) };
}

describe('bits', () => {
  it.each(Object.entries(kinds))('come back as they were written, wherever they begin: %s', (_, kind) => {
    fc.assert(
      fc.property(fc.nat(32), fc.array(kind as fc.Arbitrary<Item>, { maxLength: 6 }), (before, items) => {
        const ones = 2 ** before - 1;
        const first = item(
          ones,
          (to) => to.put(ones, before),
          (from) => from.take(before),
        );
        expectSame([first, ...items, first]);
      }),
      { seed: 11, numRuns: 300 },
    );
  });

  it('come back in any order, in more words than there was room for at first', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(...Object.values(kinds)), { minLength: 40, maxLength: 300 }), expectSame),
      { seed: 12, numRuns: 60 },
    );
  });

  it('are the same from a writer that was used before', () => {
    const used = new BitWriter();
    fc.assert(
      fc.property(fc.array(fc.oneof(...Object.values(kinds)), { maxLength: 60 }), (items) => {
        deepStrictEqual(written(items, used), written(items));
      }),
      { seed: 13, numRuns: 200 },
    );
  });

  it('find room for the longest that can come at once', () => {
    for (const count of [400, 600, 700, 3000]) {
      expectSame([near(new Uint32Array(count).fill(MOST_NEAR), 0), near(new Uint32Array(count), 23)]);
    }
    const wild = Float32Array.from({ length: 3000 }, (_, i) => (i % 2 === 0 ? -(2 ** -i) : 2 ** (i % 100)));
    expectSame([
      item(
        wild,
        (to) => to.vector(wild),
        (from) => from.vector(),
      ),
    ]);
  });

  it('take two bytes a number where numbers have a fixed point, and few where few are different', () => {
    // Normally distributed, as the numbers of embeddings are.
    const some = Float32Array.from({ length: 256 }, (_, i) => {
      return Math.sqrt(-2 * Math.log((i + 0.5) / 256)) * Math.cos(2.4 * i);
    });
    const bytesOf = (values: Float32Array) =>
      4 *
      written([
        item(
          values,
          (to) => to.vector(values),
          () => 0,
        ),
      ]).length;
    expect(bytesOf(some)).toBeGreaterThan(800);
    expect(bytesOf(toFixedPoint(some))).toBeLessThan(530);
    expect(bytesOf(some.map((_, i) => some[i % 4]))).toBeLessThan(256 / 4 + 30);
  });

  it('refuse a list that is longer than they can hold, and read what was cut off without an end of their own', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(...Object.values(kinds)), { maxLength: 20 }),
        fc.nat(),
        fc.nat(31),
        fc.boolean(),
        (items, at, bit, isCut) => {
          const words = written(items);
          const damaged = isCut ? words.slice(0, at % (words.length + 1)) : words;
          if (!isCut && words.length > 0) damaged[at % words.length] ^= 1 << bit;
          const from = new BitReader(damaged);
          try {
            for (const { read } of items) read(from);
          } catch (error) {
            expect(error).toBeInstanceOf(Error);
            expect((error as Error).message).toContain('damaged');
          }
        },
      ),
      { seed: 15, numRuns: 500 },
    );
  });

  it('take no more room than they need', () => {
    const bitsFor = (value: number) =>
      written([
        item(
          0,
          (to) => to.count(value),
          () => 0,
        ),
      ]).length;
    expect([0, 2 ** 26 - 1, 2 ** 26, Number.MAX_SAFE_INTEGER].map(bitsFor)).toEqual([1, 1, 2, 2]);
    // 0 has the usual bits and the one that ends none before them.
    expect(written([near(new Uint32Array(64), 3)])).toHaveLength(8);
  });
});
