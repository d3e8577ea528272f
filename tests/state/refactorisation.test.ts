import { afterEach, describe, expect, it } from 'vitest';
import { Ridge } from '../../bandit/ridge/ridge.ts';
import { RefactorisationWatch } from '../../src/state/refactorisation.ts';
import { numbers, sequence, wasmKernels } from '../bandit/kernels/both-kernels.ts';

const kernels = wasmKernels();
const watches: RefactorisationWatch[] = [];

function watch(ridges: Ridge[], dueAfterUpdates: number): RefactorisationWatch {
  const made = new RefactorisationWatch(() => ridges, {
    dueAfterUpdates,
    onError: (message, error) => troubles.push(`${message}: ${(error as Error).message}`),
  });
  watches.push(made);
  return made;
}

const troubles: string[] = [];

afterEach(async () => {
  for (const each of watches.splice(0)) await each.close();
  troubles.length = 0;
});

function learned(updates: number): Ridge {
  const next = sequence(3);
  const ridge = new Ridge({ kernels, size: 12, lambda: 1 });
  for (let i = 0; i < updates; i++) ridge.learn(numbers(next, 12), next(), 1);
  return ridge;
}

describe('the watch over ridges', () => {
  it('renews those that are due, in a thread, while they learn', async () => {
    const due = learned(50);
    const early = learned(10);
    due.solution.inverse.matrix[0] += 0.05;
    const looking = watch([due, early], 50).look();
    const x = numbers(sequence(4), 12);
    await Promise.resolve();
    due.learn(x, 1, 1);
    await looking;
    expect(due.updatesSinceFactorisation).toBe(1);
    expect(early.updatesSinceFactorisation).toBe(10);
    const reference = Ridge.load({ kernels, size: 12, lambda: 1 }, due.save());
    expect(due.variance(x)).toBeCloseTo(reference.variance(x), 11);
    expect(troubles).toEqual([]);
  });

  it('reports a matrix that cannot be factorised, and leaves the ridge usable', async () => {
    const ridge = learned(20);
    const begin = ridge.beginRefactorisation.bind(ridge);
    ridge.beginRefactorisation = () => {
      const begun = begin();
      begun.matrix.fill(-1);
      return begun;
    };
    await watch([ridge], 1).look();
    expect(ridge.updatesSinceFactorisation).toBe(20);
    expect(troubles).toEqual([expect.stringContaining('not positive definite')]);
    ridge.learn(new Float64Array(12).fill(0.5), 1, 1);
    expect(() => begin()).not.toThrow();
  });

  it('touches no ridge that was let go while it renewed another', async () => {
    const ridges = [learned(50), learned(50)];
    const looking = watch(ridges, 50).look();
    await Promise.resolve();
    const [gone] = ridges.splice(1);
    gone.free();
    gone.beginRefactorisation = () => {
      throw new Error('the memory of this ridge belongs to somebody else now');
    };
    await looking;
    expect(ridges[0].updatesSinceFactorisation).toBe(0);
    expect(troubles).toEqual([]);
  });

  it('closes in the middle without a word', async () => {
    const ridge = learned(20);
    const watching = watch([ridge], 1);
    const looking = watching.look();
    await Promise.resolve();
    await watching.close();
    await looking;
    expect(ridge.updatesSinceFactorisation).toBe(20);
    expect(troubles).toEqual([]);
    ridge.learn(new Float64Array(12).fill(0.5), 1, 1);
  });
});
