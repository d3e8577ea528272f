import { describe, expect, it } from 'vitest';
import { Cholesky } from '../../../bandit/ridge/cholesky.ts';
import { Ridge } from '../../../bandit/ridge/ridge.ts';
import { numbers, sequence, wasmKernels } from '../kernels/both-kernels.ts';

const SIZE = 10;

function learned(kernels = wasmKernels()) {
  const next = sequence(11);
  const ridge = new Ridge({ kernels, size: SIZE, lambda: 1, prior: numbers(next, SIZE) });
  const learn = (times: number) => {
    for (let i = 0; i < times; i++) ridge.learn(numbers(next, SIZE), next(), 1);
  };
  learn(40);
  return { ridge, learn, x: numbers(next, SIZE), kernels };
}

/** Runs a generator to its end, doing something after every step. */
function finish(
  steps: Generator<void, boolean>,
  between: () => void = () => {},
): { result: boolean; steps: number } {
  for (let count = 0; ; count++) {
    const step = steps.next();
    if (step.done) return { result: step.value, steps: count };
    between();
  }
}

describe('re-factorising a ridge', () => {
  it('ends where a ridge ends that was computed from A, with all that came meanwhile', () => {
    const { ridge, learn, x } = learned();
    // An inverse that has drifted far: only a new one can repair it.
    ridge.solution.inverse.matrix[0] += 0.05;
    const { matrix, size } = ridge.beginRefactorisation();
    learn(30);
    const answer = Cholesky.of(matrix, size).inverse();
    learn(9);
    let during = 0;
    const { result, steps } = finish(ridge.finishRefactorisation(answer), () => {
      if (during++ < 3) learn(2);
      ridge.mean(x);
    });
    expect(result).toBe(true);
    expect(steps).toBeGreaterThan(4);
    learn(20);
    const reference = Ridge.load(
      { kernels: wasmKernels(), size: SIZE, lambda: 1, prior: ridge.solution.prior },
      ridge.save(),
    );
    expect(ridge.mean(x)).toBeCloseTo(reference.mean(x), 11);
    expect(ridge.variance(x)).toBeCloseTo(reference.variance(x), 11);
    expect(ridge.updatesSinceFactorisation).toBe(30 + 9 + 6 + 20);
  });

  it('does not touch what is canonical', () => {
    const one = learned();
    const other = learned();
    const { matrix, size } = one.ridge.beginRefactorisation();
    one.learn(12);
    other.learn(12);
    finish(one.ridge.finishRefactorisation(Cholesky.of(matrix, size).inverse()));
    expect(one.ridge.save()).toEqual(other.ridge.save());
  });

  it('is given up when too much comes meanwhile, and the old inverse stays', () => {
    const { ridge, learn, x, kernels } = learned();
    const { matrix, size } = ridge.beginRefactorisation();
    learn(5000);
    const before = ridge.mean(x);
    const bytes = kernels.allocatedBytes;
    expect(finish(ridge.finishRefactorisation(Cholesky.of(matrix, size).inverse())).result).toBe(false);
    expect(ridge.mean(x)).toBe(before);
    expect(kernels.allocatedBytes).toBe(bytes);
    expect(() => ridge.beginRefactorisation()).not.toThrow();
  });

  it('is given up when the answer is no inverse, or the ridge is gone', () => {
    const { ridge } = learned();
    ridge.beginRefactorisation();
    expect(finish(ridge.finishRefactorisation(new Float64Array(3))).result).toBe(false);
    const { matrix, size } = ridge.beginRefactorisation();
    const inverse = Cholesky.of(matrix, size).inverse();
    const steps = ridge.finishRefactorisation(inverse);
    steps.next();
    ridge.free();
    expect(finish(steps).result).toBe(false);
  });

  it('happens once at a time', () => {
    const { ridge } = learned();
    ridge.beginRefactorisation();
    expect(() => ridge.beginRefactorisation()).toThrow('under way already');
  });
});
