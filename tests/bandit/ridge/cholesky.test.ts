import fc from 'fast-check';
import { CholeskyDecomposition, inverse, Matrix } from 'ml-matrix';
import { describe, expect, it } from 'vitest';
import { Cholesky } from '../../../bandit/ridge/cholesky.ts';
import { numbers, sequence } from '../kernels/both-kernels.ts';

const cases = fc.record({
  seed: fc.integer({ min: 0, max: 2 ** 31 }),
  size: fc.integer({ min: 1, max: 23 }),
});

/** λI + Σ xxᵀ, dense and packed. */
function definite(next: () => number, size: number): { matrix: Matrix; packed: Float64Array } {
  const rows = new Matrix(Array.from({ length: size + 3 }, () => [...numbers(next, size)]));
  const matrix = rows.transpose().mmul(rows).add(Matrix.eye(size, size));
  return { matrix, packed: pack(matrix) };
}

function pack(matrix: Matrix): Float64Array {
  const packed: number[] = [];
  for (let i = 0; i < matrix.rows; i++) for (let j = i; j < matrix.rows; j++) packed.push(matrix.get(i, j));
  return Float64Array.from(packed);
}

function expectClose(actual: Float64Array, expected: ArrayLike<number>): void {
  expect(actual.length).toBe(expected.length);
  for (let i = 0; i < actual.length; i++) expect(actual[i]).toBeCloseTo(expected[i], 9);
}

describe('Cholesky', () => {
  it('factor, inverse and solutions are those of ml-matrix', () => {
    fc.assert(
      fc.property(cases, ({ seed, size }) => {
        const next = sequence(seed);
        const { matrix, packed } = definite(next, size);
        const factor = Cholesky.of(packed, size);
        const lower = new CholeskyDecomposition(matrix).lowerTriangularMatrix;
        expectClose(factor.factor, pack(lower.transpose()));
        expectClose(factor.inverse(), pack(inverse(matrix)));
        const b = numbers(next, size);
        expectClose(
          factor.solve(b),
          inverse(matrix)
            .mmul(Matrix.columnVector([...b]))
            .to1DArray(),
        );
        expectClose(
          factor.solveLower(b),
          inverse(lower)
            .mmul(Matrix.columnVector([...b]))
            .to1DArray(),
        );
        expectClose(
          factor.solveUpper(b),
          inverse(lower.transpose())
            .mmul(Matrix.columnVector([...b]))
            .to1DArray(),
        );
      }),
      { numRuns: 60 },
    );
  });

  it('follows rank-one updates', () => {
    fc.assert(
      fc.property(cases, fc.integer({ min: 1, max: 12 }), ({ seed, size }, updates) => {
        const next = sequence(seed);
        const { matrix, packed } = definite(next, size);
        const factor = Cholesky.of(packed, size);
        for (let k = 0; k < updates; k++) {
          const x = numbers(next, size);
          const weight = 1 + next();
          factor.update(x, weight);
          const column = Matrix.columnVector([...x]);
          matrix.add(column.mmul(column.transpose()).mul(weight));
        }
        expectClose(factor.factor, Cholesky.of(pack(matrix), size).factor);
      }),
      { numRuns: 40 },
    );
  });

  it('of a multiple of the identity needs no elimination', () => {
    expect(Cholesky.ofIdentity(5, 9).factor).toEqual(Cholesky.of(pack(Matrix.eye(5, 5).mul(9)), 5).factor);
  });

  it('refuses what has no factor', () => {
    expect(() => Cholesky.of(Float64Array.of(1, 2, 1), 2)).toThrow('not positive definite: pivot 1 is -3');
    expect(() => Cholesky.of(Float64Array.of(Number.NaN), 1)).toThrow('not positive definite');
    expect(() => Cholesky.of(new Float64Array(4), 2)).toThrow('has 3 elements');
    expect(() => Cholesky.ofIdentity(1, 1).update(Float64Array.of(1), -1)).toThrow('not negative');
  });
});
