import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { inverse, Matrix } from 'ml-matrix';
import { describe, expect, it } from 'vitest';
import { randomFor } from '../../../bandit/random.ts';
import { Ridge } from '../../../bandit/ridge/ridge.ts';
import { BOTH, numbers, sequence, wasmKernels } from '../kernels/both-kernels.ts';

/** A = λI + Σ w·xxᵀ and b = λθ₀ + Σ w·r·x as dense matrices, solved by ml-matrix. */
class DenseRidge {
  readonly matrix: Matrix;
  readonly target: Matrix;

  constructor(size: number, lambda: number, prior: Float64Array) {
    this.matrix = Matrix.eye(size, size).mul(lambda);
    this.target = Matrix.columnVector([...prior]).mul(lambda);
  }

  learn(x: Float64Array, reward: number, weight: number): void {
    const column = Matrix.columnVector([...x]);
    this.matrix.add(column.mmul(column.transpose()).mul(weight));
    this.correct(x, weight * reward);
  }

  correct(x: Float64Array, delta: number): void {
    this.target.add(Matrix.columnVector([...x]).mul(delta));
  }

  predict(x: Float64Array): { mean: number; variance: number } {
    const inverted = inverse(this.matrix);
    const row = Matrix.rowVector([...x]);
    return {
      mean: row.mmul(inverted).mmul(this.target).get(0, 0),
      variance: row.mmul(inverted).mmul(row.transpose()).get(0, 0),
    };
  }
}

const shapes = fc.record({
  seed: fc.integer({ min: 0, max: 2 ** 31 }),
  size: fc.integer({ min: 1, max: 14 }),
  steps: fc.integer({ min: 0, max: 60 }),
});

describe.each(BOTH)('a ridge on %s kernels', (_name, create) => {
  const kernels = create();

  it('is the dense ridge, whatever was learned and corrected', () => {
    fc.assert(
      fc.property(shapes, ({ seed, size, steps }) => {
        const next = sequence(seed);
        const prior = numbers(next, size);
        const lambda = 1 + next() / 2;
        const ridge = new Ridge({ kernels, size, lambda, prior });
        const dense = new DenseRidge(size, lambda, prior);
        for (let step = 0; step < steps; step++) {
          const x = numbers(next, size);
          const reward = next();
          const weight = 1.5 + next();
          ridge.learn(x, reward, weight);
          dense.learn(x, reward, weight);
          if (step % 7 === 3) {
            ridge.correct(x, -reward / 2);
            dense.correct(x, -reward / 2);
          }
        }
        const x = numbers(next, size);
        const expected = dense.predict(x);
        expect(ridge.mean(x)).toBeCloseTo(expected.mean, 9);
        expect(ridge.variance(x)).toBeCloseTo(expected.variance, 9);
        ridge.free();
      }),
      { numRuns: 40 },
    );
  });

  it('predicts exactly θ₀ᵀx before it has learned, also after it was saved and loaded', () => {
    const prior = [0.3, 0.1, 0.7];
    const options = { kernels, size: 3, lambda: 10, prior };
    const ridge = new Ridge(options);
    const x = Float64Array.of(0.123, 0.77, 1);
    const expected = 0.3 * x[0] + 0.1 * x[1] + 0.7 * x[2];
    expect(ridge.mean(x)).toBe(expected);
    expect(Ridge.load(options, ridge.save()).mean(x)).toBe(expected);
  });

  it('comes back from what was saved, and goes on with the same canonical bits', () => {
    const next = sequence(5);
    const options = { kernels, size: 9, lambda: 2, prior: numbers(next, 9) };
    const ridge = new Ridge(options);
    for (let i = 0; i < 21; i++) ridge.learn(numbers(next, 9), next(), 1);
    const loaded = Ridge.load(options, ridge.save());
    const x = numbers(next, 9);
    expect(loaded.mean(x)).toBeCloseTo(ridge.mean(x), 12);
    expect(loaded.variance(x)).toBeCloseTo(ridge.variance(x), 12);
    for (const each of [ridge, loaded]) {
      const more = sequence(6);
      for (let i = 0; i < 11; i++) each.learn(numbers(more, 9), more(), 1);
    }
    expect(loaded.save()).toEqual(ridge.save());
  });

  it('refuses what is not finite, and nothing has changed then', () => {
    const ridge = new Ridge({ kernels, size: 2, lambda: 1 });
    ridge.learn(Float64Array.of(1, 2), 1, 1);
    const before = ridge.save();
    const x = Float64Array.of(1, 1);
    expect(() => ridge.learn(Float64Array.of(1, Number.NaN), 1, 1)).toThrow('x[1] must be finite, got NaN');
    expect(() => ridge.learn(x, Number.POSITIVE_INFINITY, 1)).toThrow('reward must be finite, got Infinity');
    expect(() => ridge.learn(x, 1, 0)).toThrow('weight must be positive');
    expect(() => ridge.learn(x, 1, Number.NaN)).toThrow('weight must be positive');
    expect(() => ridge.learn(Float64Array.of(1e200, 1), 1, 1)).toThrow('products of x');
    expect(() => ridge.learn(Float64Array.of(1), 1, 1)).toThrow('x has 2 elements');
    expect(() => ridge.correct(x, Number.NaN)).toThrow('delta must be finite');
    expect(ridge.save()).toEqual(before);
  });

  it('refuses saved values that are no such ridge', () => {
    const options = { kernels, size: 2, lambda: 1 };
    const target = new Float64Array(2);
    const load = (matrix: number[], b = target) =>
      Ridge.load(options, { updates: 1, matrix: Float64Array.from(matrix), target: b });
    expect(() => load([1, 0, Number.NaN])).toThrow('A[2] must be finite');
    expect(() => load([1, 0])).toThrow('not one of size 2');
    expect(() => load([1, 0, 0])).toThrow('not positive definite');
    expect(() => load([1, 5, 1])).toThrow('not positive definite');
    expect(() => load([1, 0, 1], Float64Array.of(0, Number.POSITIVE_INFINITY))).toThrow('b[1]');
  });

  it('restores the inverse from A when it has lost its definiteness', () => {
    const ridge = new Ridge({ kernels, size: 4, lambda: 1 });
    const dense = new DenseRidge(4, 1, new Float64Array(4));
    const next = sequence(8);
    for (let i = 0; i < 12; i++) {
      if (i === 10) ridge.solution.inverse.matrix.fill(-3);
      const x = numbers(next, 4);
      ridge.learn(x, 1, 1);
      dense.learn(x, 1, 1);
    }
    const x = numbers(next, 4);
    expect(ridge.mean(x)).toBeCloseTo(dense.predict(x).mean, 10);
    expect(ridge.variance(x)).toBeCloseTo(dense.predict(x).variance, 10);
  });

  it('gives all its memory back', () => {
    const before = kernels.allocatedBytes;
    const ridge = new Ridge({ kernels, size: 30, lambda: 1 });
    ridge.beginRefactorisation();
    ridge.free();
    expect(kernels.allocatedBytes).toBe(before);
  });
});

describe('the canonical bits', () => {
  it.each(BOTH)('are those of the golden trace, on %s kernels', (_name, create) => {
    const golden = JSON.parse(readFileSync(new URL('../../golden/ridge.json', import.meta.url), 'utf8'));
    const random = randomFor(golden.key);
    let counter = 0;
    const ridge = new Ridge({ kernels: create(), ...golden });
    for (let step = 0; step < golden.steps; step++) {
      const x = Float64Array.from({ length: golden.size }, () =>
        Math.fround(2 * random.uniform(counter++) - 1),
      );
      const reward = random.uniform(counter++);
      const weight = 0.5 + random.uniform(counter++);
      ridge.learn(x, reward, weight);
      if (step % 5 === 4) ridge.correct(x, weight * (0.25 - reward));
    }
    const { matrix, target } = ridge.save();
    expect([...matrix]).toEqual(golden.matrix);
    expect([...target]).toEqual(golden.target);
    for (const [i, weight] of ridge.solution.theta().entries())
      expect(weight).toBeCloseTo(golden.theta[i], 13);
  });

  it('are the same on both kernels, with and without derived values, however reads come between', () => {
    fc.assert(
      fc.property(shapes, ({ seed, size, steps }) => {
        const run = (create: (typeof BOTH)[number][1], derived: boolean, reads: boolean) => {
          const next = sequence(seed);
          const ridge = new Ridge({
            kernels: create(),
            size,
            lambda: 3,
            prior: numbers(next, size),
            derived,
          });
          for (let step = 0; step < steps; step++) {
            const x = numbers(next, size);
            ridge.learn(x, next(), 1.2 + next());
            if (step % 5 === 0) ridge.correct(x, next());
            if (reads) {
              if (derived) ridge.variance(x);
              ridge.save();
            }
          }
          return { saved: ridge.save(), theta: derived ? ridge.solution.theta() : null };
        };
        const [[, wasm], [, typescript]] = BOTH;
        const reference = run(wasm, true, false);
        expect(run(typescript, true, true)).toEqual(reference);
        expect(run(wasm, false, false).saved).toEqual(reference.saved);
        expect(run(typescript, false, true).saved).toEqual(reference.saved);
      }),
      { numRuns: 25 },
    );
  });

  it('a process that only folds says so when it is asked to score', () => {
    const ridge = new Ridge({ kernels: wasmKernels(), size: 3, lambda: 1, derived: false });
    expect(() => ridge.mean(new Float64Array(3))).toThrow('only folds');
  });
});
