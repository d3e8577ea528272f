import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type CandidateForms,
  codesOf,
  type FormCache,
  type Kernels,
  wideCodesOf,
} from '../../../bandit/kernels/kernels.ts';
import {
  packSymmetric,
  padded,
  rowStart,
  symmetricLength,
  unpackSymmetric,
} from '../../../bandit/kernels/symmetric-layout.ts';
import { BOTH, float32, float64, int32, numbers, sequence } from './both-kernels.ts';

/** Runs the same thing on both kernels and compares the bits of what comes back. */
function sameBits(run: (kernels: Kernels) => ArrayLike<number>[]): void {
  const [[, wasm], [, typescript]] = BOTH;
  const left = run(wasm());
  const right = run(typescript());
  expect(left.map((array) => [...bits(array)])).toEqual(right.map((array) => [...bits(array)]));
}

function bits(values: ArrayLike<number>): BigUint64Array {
  return new BigUint64Array(Float64Array.from(values).buffer);
}

const seeds = fc.integer({ min: 0, max: 2 ** 31 });
const lengths = fc.integer({ min: 0, max: 70 });

describe.each(BOTH)('%s kernels against plain loops', (_name, create) => {
  const kernels = create();

  it('dot', () => {
    fc.assert(
      fc.property(seeds, lengths, (seed, n) => {
        const next = sequence(seed);
        const a = numbers(next, n);
        const b = numbers(next, n);
        const naive = a.reduce((sum, value, i) => sum + value * b[i], 0);
        expect(kernels.dot(float64(kernels, a), float64(kernels, b), n)).toBeCloseTo(naive, 12);
      }),
    );
  });

  it('scan reads only the dimensions of the query, whatever the stride', () => {
    fc.assert(
      fc.property(
        seeds,
        lengths,
        fc.integer({ min: 0, max: 9 }),
        fc.integer({ min: 0, max: 5 }),
        (seed, n, rows, gap) => {
          const next = sequence(seed);
          const stride = n + gap;
          const table = float32(kernels, numbers(next, rows * stride));
          const query = float32(kernels, numbers(next, n));
          const out = kernels.allocateFloat32(rows + 1);
          out[rows] = 7;
          kernels.scan(table, stride, rows, query, out);
          for (let row = 0; row < rows; row++) {
            const naive = query.reduce((sum, value, i) => sum + value * table[row * stride + i], 0);
            expect(out[row]).toBeCloseTo(naive, 4);
          }
          expect(out[rows]).toBe(7);
        },
      ),
    );
  });

  it('scanCodes adds integers exactly', () => {
    fc.assert(
      fc.property(
        seeds,
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 0, max: 9 }),
        (seed, blocks, rows) => {
          const { codes, query, scales, out } = codedRows(kernels, seed, 16 * blocks, rows);
          kernels.scanCodes(codes, 16 * blocks, rows, query, scales, 0.5, out);
          for (let row = 0; row < rows; row++) {
            const own = codesOf(codes).subarray(row * 16 * blocks);
            const sum = wideCodesOf(query).reduce((total, value, i) => total + value * own[i], 0);
            expect(out[row] / (0.5 * scales[row] * sum || 1)).toBeCloseTo(sum === 0 ? 0 : 1, 5);
          }
        },
      ),
    );
  });

  it('symmetricAdd and symmetricTimes are those of the whole matrix', () => {
    fc.assert(
      fc.property(
        seeds,
        fc.integer({ min: 1, max: 30 }),
        fc.integer({ min: 0, max: 9 }),
        (seed, size, count) => {
          const { next, whole, matrix, updates, scales } = symmetricCase(kernels, seed, size, count);
          const width = padded(size);
          const columns = Math.floor(((next() + 1) / 2) * (size + 1));
          const x = kernels.allocateFloat64(width);
          x.set(numbers(next, columns));

          const before = kernels.allocateFloat64(width);
          kernels.symmetricTimes(matrix, size, x, columns, before);
          kernels.lowRankTimes(updates, width, scales, 0, count, x, columns, before);
          kernels.symmetricAdd(matrix, size, updates, scales, 0, count);
          const after = kernels.allocateFloat64(width);
          kernels.symmetricTimes(matrix, size, x, columns, after);

          for (let i = 0; i < size; i++) {
            let naive = 0;
            for (let j = 0; j < columns; j++) naive += whole[i][j] * x[j];
            expect(after[i]).toBeCloseTo(naive, 10);
            expect(before[i]).toBeCloseTo(naive, 10);
          }
          x.fill(0, columns);
          const twice = kernels.allocateFloat64(2 * width);
          twice.set(x);
          twice.set(numbers(next, size), width);
          const forms = kernels.allocateFloat64(2);
          kernels.symmetricForms(matrix, size, twice, 2, forms);
          expect(forms[0]).toBeCloseTo(kernels.dot(x, after, size), 9);
          let naive = 0;
          for (let i = 0; i < size; i++) {
            for (let j = 0; j < size; j++) naive += twice[width + i] * whole[i][j] * twice[width + j];
          }
          expect(forms[1]).toBeCloseTo(naive, 9);
          expect([...after.subarray(size)]).toEqual(new Array(width - size).fill(0));
          const packed = packSymmetric(matrix, size);
          for (let i = 0, at = 0; i < size; i++) {
            for (let j = i; j < size; j++, at++) expect(packed[at]).toBeCloseTo(whole[i][j], 10);
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  it('symmetricAdd of many rows has the bits of one call per row', () => {
    fc.assert(
      fc.property(
        seeds,
        fc.integer({ min: 1, max: 21 }),
        fc.integer({ min: 0, max: 11 }),
        (seed, size, count) => {
          const one = symmetricCase(kernels, seed, size, count);
          const other = symmetricCase(kernels, seed, size, count);
          kernels.symmetricAdd(one.matrix, size, one.updates, one.scales, 0, count);
          for (let k = 0; k < count; k++)
            kernels.symmetricAdd(other.matrix, size, other.updates, other.scales, k, 1);
          expect(bits(packSymmetric(one.matrix, size))).toEqual(bits(packSymmetric(other.matrix, size)));
        },
      ),
      { numRuns: 60 },
    );
  });

  it('refuses foreign arrays and short ones where they could do harm', () => {
    if (kernels.name === 'typescript') return;
    const own = kernels.allocateFloat64(8);
    expect(() => kernels.dot(own, new Float64Array(8), 8)).toThrow('allocate it there');
    expect(() => kernels.dot(own, own, 9)).toThrow('needs 9 elements');
    const table = kernels.allocateFloat32(32);
    const query = kernels.allocateFloat32(8);
    const rows = kernels.allocateInt32(1).fill(4);
    expect(() => kernels.scanRows(table, 8, rows, 1, query, query)).toThrow('needs 40 elements');
    expect(() => kernels.addColumns(table, 8, rows, own, 1, 8, own)).toThrow('needs 40 elements');
    rows[0] = -1;
    expect(() => kernels.scanRows(table, 8, rows, 1, query, query)).toThrow('at least 0');
  });

  it('gives memory out zeroed, aligned, and takes it back once', () => {
    const before = kernels.allocatedBytes;
    const first = kernels.allocateFloat64(1000).fill(5);
    const second = kernels.allocateInt32(3);
    expect(kernels.allocatedBytes - before).toBe(8012);
    kernels.free(first);
    const third = kernels.allocateFloat32(1000);
    expect(third.every((value) => value === 0)).toBe(true);
    if (kernels.name === 'wasm') expect(third.byteOffset % 64).toBe(0);
    kernels.free(second);
    expect(() => kernels.free(second)).toThrow('given back before');
    kernels.free(third);
    expect(kernels.allocatedBytes).toBe(before);
  });

  it('keeps earlier arrays valid while memory grows', () => {
    const first = float64(kernels, [1, 2, 3]);
    const large = Array.from({ length: 5 }, () => kernels.allocateFloat64(1_000_000));
    first[1] = 20;
    expect(kernels.dot(first, first, 3)).toBe(1 + 400 + 9);
    for (const array of large) kernels.free(array);
  });
});

describe('both kernels give the same bits', () => {
  it('dot, scan, and scanRows, which gives what scan gives for those rows', () => {
    fc.assert(
      fc.property(seeds, lengths, fc.integer({ min: 0, max: 6 }), (seed, n, gap) => {
        sameBits((kernels) => {
          const next = sequence(seed);
          const a = float64(kernels, numbers(next, n));
          const table = float32(kernels, numbers(next, 3 * (n + gap)));
          const query = float32(kernels, numbers(next, n));
          const out = kernels.allocateFloat32(3);
          kernels.scan(table, n + gap, 3, query, out);
          const rows = kernels.allocateInt32(3);
          rows.set([2, 0, 2]);
          const some = kernels.allocateFloat32(3);
          kernels.scanRows(table, n + gap, rows, 3, query, some);
          expect(some).toEqual(Float32Array.of(out[2], out[0], out[2]));
          return [[kernels.dot(a, a, n)], out, some];
        });
      }),
      { numRuns: 60 },
    );
  });

  it('scanCodes', () => {
    fc.assert(
      fc.property(
        seeds,
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 0, max: 9 }),
        (seed, blocks, rows) => {
          sameBits((kernels) => {
            const { codes, query, scales, out } = codedRows(kernels, seed, 16 * blocks, rows);
            kernels.scanCodes(codes, 16 * blocks, rows, query, scales, 0.3, out);
            return [out];
          });
        },
      ),
      { numRuns: 60 },
    );
  });

  it('codeProducts', () => {
    fc.assert(
      fc.property(
        seeds,
        fc.integer({ min: 0, max: 32 }),
        fc.integer({ min: 1, max: 9 }),
        (seed, n, count) => {
          sameBits((kernels) => {
            const { codes, scales } = codedRows(kernels, seed, 32, count);
            const next = sequence(seed);
            const query = float64(kernels, numbers(next, n));
            const rows = int32(kernels, [count - 1, 0, count >> 1]);
            const out = kernels.allocateFloat64(3);
            kernels.codeProducts(codes, 32, scales, rows, 3, query, out);
            return [out];
          });
        },
      ),
    );
  });

  it('addColumns', () => {
    fc.assert(
      fc.property(
        seeds,
        fc.integer({ min: 0, max: 40 }),
        fc.integer({ min: 0, max: 5 }),
        (seed, count, gap) => {
          sameBits((kernels) => {
            const next = sequence(seed);
            const stride = count + gap;
            const table = float32(kernels, numbers(next, 4 * stride));
            const weights = float64(kernels, numbers(next, 3));
            const sums = float64(kernels, numbers(next, count + 1));
            const columns = kernels.allocateInt32(3);
            columns.set([3, 0, 3]);
            kernels.addColumns(table, stride, columns, weights, 3, count, sums);
            return [sums];
          });
        },
      ),
      { numRuns: 60 },
    );
  });

  it('symmetric products and updates', () => {
    fc.assert(
      fc.property(
        seeds,
        fc.integer({ min: 1, max: 30 }),
        fc.integer({ min: 0, max: 9 }),
        (seed, size, count) => {
          sameBits((kernels) => {
            const { next, matrix, updates, scales } = symmetricCase(kernels, seed, size, count);
            const columns = Math.floor(((next() + 1) / 2) * (size + 1));
            const x = kernels.allocateFloat64(padded(size));
            x.set(numbers(next, columns));
            const y = kernels.allocateFloat64(padded(size));
            const first = Math.min(1, count);
            kernels.symmetricAdd(matrix, size, updates, scales, first, count - first);
            kernels.symmetricTimes(matrix, size, x, columns, y);
            kernels.lowRankTimes(updates, padded(size), scales, first, count - first, x, columns, y);
            const forms = kernels.allocateFloat64(1);
            kernels.symmetricForms(matrix, size, x, 1, forms);
            return [matrix, y, forms];
          });
        },
      ),
      { numRuns: 60 },
    );
  });

  it('forms per slot and scores, updated or computed again', () => {
    fc.assert(
      fc.property(
        seeds,
        fc.integer({ min: 0, max: 25 }),
        fc.integer({ min: 1, max: 9 }),
        (seed, dimensions, specials) => {
          sameBits((kernels) => formsCase(kernels, seed, dimensions, specials));
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe('the layout of symmetric matrices', () => {
  it('round-trips, and rows start on even elements', () => {
    fc.assert(
      fc.property(seeds, fc.integer({ min: 1, max: 40 }), (seed, size) => {
        const packed = numbers(sequence(seed), (size * (size + 1)) / 2);
        const matrix = new Float64Array(symmetricLength(size));
        unpackSymmetric(packed, size, matrix);
        expect(packSymmetric(matrix, size)).toEqual(packed);
        for (let row = 0; row < size; row++) expect(rowStart(size, row) % 2).toBe(0);
        expect(rowStart(size, padded(size) - 1) + padded(size)).toBe(symmetricLength(size));
      }),
    );
  });
});

/** Rows of int8, as many as their number rounded up to four. */
function codedRows(kernels: Kernels, seed: number, stride: number, rows: number) {
  const next = sequence(seed);
  const room = padded(rows);
  const codes = kernels.allocateInt32((room * stride) / 4);
  codesOf(codes).set(numbers(next, room * stride).map((value) => Math.round(127 * value)));
  const query = kernels.allocateInt32(stride / 2);
  wideCodesOf(query).set(numbers(next, stride).map((value) => Math.round(32_767 * value)));
  const scales = float32(kernels, numbers(next, room));
  return { codes, query, scales, out: kernels.allocateFloat32(room) };
}

function symmetricCase(kernels: Kernels, seed: number, size: number, count: number) {
  const next = sequence(seed);
  const width = padded(size);
  const packed = numbers(next, (size * (size + 1)) / 2);
  const matrix = kernels.allocateFloat64(symmetricLength(size));
  unpackSymmetric(packed, size, matrix);
  const updates = kernels.allocateFloat64(count * width);
  for (let k = 0; k < count; k++) updates.set(numbers(next, size), k * width);
  const scales = float64(kernels, numbers(next, count));
  const whole = Array.from({ length: size }, () => new Array<number>(size).fill(0));
  for (let i = 0, at = 0; i < size; i++) {
    for (let j = i; j < size; j++, at++) {
      let value = packed[at];
      for (let k = 0; k < count; k++) value += scales[k] * updates[k * width + i] * updates[k * width + j];
      whole[i][j] = value;
      whole[j][i] = value;
    }
  }
  return { next, matrix, updates, scales, whole };
}

function formsCase(
  kernels: Kernels,
  seed: number,
  dimensions: number,
  specials: number,
): ArrayLike<number>[] {
  const next = sequence(seed);
  const size = 2 * dimensions + specials;
  const width = padded(size);
  const capacity = 8;
  const stride = padded(dimensions);
  const count = 6;
  const matrix = kernels.allocateFloat64(symmetricLength(size));
  unpackSymmetric(numbers(next, (size * (size + 1)) / 2), size, matrix);
  const values = kernels.allocateFloat32(count * stride);
  for (let slot = 0; slot < count; slot++) values.set(numbers(next, dimensions), slot * stride);
  const updates = kernels.allocateFloat64(capacity * width);
  for (let k = 0; k < capacity; k++) updates.set(numbers(next, size), k * width);
  const cache: FormCache = {
    matrix,
    size,
    dimensions,
    specials,
    updates,
    scales: float64(kernels, numbers(next, capacity)),
    capacity,
    folded: 16,
    head: 21,
    stamps: float64(kernels, [Number.NEGATIVE_INFINITY, 21, 15, 13, 12, 0]),
    quadratic: float64(kernels, numbers(next, count)),
    cross: float64(kernels, numbers(next, count * specials)),
    vector: kernels.allocateFloat64(dimensions),
  };
  const forms: CandidateForms = {
    slots: int32(kernels, [5, 4, 3, 2, 1, 0]),
    special: float64(kernels, numbers(next, count * specials)),
    projection: float64(kernels, numbers(next, width)),
    gainWeights: float64(kernels, numbers(next, width)),
    specialMatrix: float64(kernels, numbers(next, specials * specials)),
    queryGain: next(),
    queryForm: next(),
    gain: kernels.allocateFloat64(count),
    variance: kernels.allocateFloat64(count),
  };
  const table = { values, stride };
  kernels.refreshForms(cache, table, forms.slots, count);
  kernels.scoreForms(cache, table, forms, count);
  return [cache.stamps, cache.quadratic, cache.cross, forms.gain, forms.variance];
}
