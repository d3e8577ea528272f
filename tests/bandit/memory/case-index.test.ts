import { describe, expect, it } from 'vitest';
import { ClusteredCaseIndex } from '../../../bandit/memory/clustered-case-index.ts';
import { ExactCaseIndex } from '../../../bandit/memory/exact-case-index.ts';
import { OutcomeMemory } from '../../../bandit/memory/outcome-memory.ts';
import type { QueryFeatures } from '../../../bandit/policy.ts';
import { caseIndexContract } from '../../contracts/case-index.contract.ts';
import { BOTH, sequence, wasmKernels } from '../kernels/both-kernels.ts';

for (const [, kernelsOf] of BOTH) {
  caseIndexContract('ExactCaseIndex', kernelsOf(), {
    create: (kernels, dimensions) => new ExactCaseIndex(kernels, dimensions),
    load: ExactCaseIndex.load,
    exact: true,
  });
  caseIndexContract('ClusteredCaseIndex of few cases', kernelsOf(), {
    create: (kernels, dimensions) => new ClusteredCaseIndex(kernels, dimensions),
    load: ClusteredCaseIndex.load,
    exact: true,
  });
  caseIndexContract('ClusteredCaseIndex of many cases', kernelsOf(), {
    create: (kernels, dimensions) => new ClusteredCaseIndex(kernels, dimensions, 0),
    load: (kernels, dimensions, saved) => ClusteredCaseIndex.load(kernels, dimensions, saved, 0),
    exact: false,
  });
}

/** Directions without any order, so that hardly two queries merge. */
function anyQuery(at: number, dimensions: number): QueryFeatures {
  const next = sequence(at);
  const vector = Float32Array.from({ length: dimensions }, next);
  const length = Math.hypot(...vector);
  const terms = Uint32Array.from([at % 97, 100 + (at % 89)]);
  return {
    embedding: vector.map((value) => value / length),
    terms: { terms, weights: Float32Array.of(0.6, 0.8) },
  };
}

describe('ClusteredCaseIndex', () => {
  it('makes the same clusters with either kernel', () => {
    const [a, b] = BOTH.map(([, kernelsOf]) => {
      const index = new ClusteredCaseIndex(kernelsOf(), 12, 0);
      for (let at = 0; at < 1500; at++) index.put(at, anyQuery(at, 12));
      for (let at = 0; at < 1500; at += 2) index.remove(at);
      return index.save(1500);
    });
    expect(a).toEqual(b);
    expect(a.clusters!.centroids.length / 12).toBeGreaterThan(3);
  });

  it('gives the memory of clusters back as cases go', () => {
    const kernels = wasmKernels();
    const index = new ClusteredCaseIndex(kernels, 12, 0);
    for (let at = 0; at < 4000; at++) index.put(at, anyQuery(at, 12));
    const full = kernels.allocatedBytes;
    for (let at = 0; at < 4000; at++) if (at % 20 !== 0) index.remove(at);
    expect(index.save(4000).clusters!.centroids.length / 12).toBeLessThanOrEqual(200 / 32);
    expect(kernels.allocatedBytes).toBeLessThan(full / 3);
    index.dispose();
  });

  it('is not loaded from what an exact index saved', () => {
    const exact = new ExactCaseIndex(wasmKernels(), 12);
    expect(() => ClusteredCaseIndex.load(wasmKernels(), 12, exact.save(0))).toThrow(/no clusters/);
    exact.dispose();
  });
});

describe('OutcomeMemory', () => {
  it('of more than 50,000 cases answers as a smaller one does, as long as it has no more', () => {
    const kernels = wasmKernels();
    const [small, large] = [4000, 50_001].map(
      (cases) => new OutcomeMemory(kernels, { dimensions: 12, cases }),
    );
    const script = (memory: OutcomeMemory, from: number, to: number): void => {
      for (let at = from; at < to; at++) {
        const id = memory.remember(anyQuery(at, 12), [{ slot: at % 50, reward: (at % 3) / 2 }], at, at % 400);
        if (at % 10 === 0) memory.amend(id, at % 50, 1, -1, at % 400);
        if (at % 500 === 499) memory.forgetUnit(at % 400);
      }
    };
    script(small, 0, 3000);
    script(large, 0, 1700);
    const loaded = OutcomeMemory.load(kernels, { dimensions: 12, cases: 50_001 }, large.save());
    for (const memory of [large, loaded]) script(memory, 1700, 3000);
    expect(large.size).toBe(small.size);
    expect(loaded.save()).toEqual(large.save());
    const { 'memory.centroids': _, 'memory.clusters': __, ...rest } = large.save();
    expect(rest).toEqual(small.save());
    for (let probe = 5000; probe < 5030; probe++) {
      expect(large.recall(anyQuery(probe, 12))).toEqual(small.recall(anyQuery(probe, 12)));
    }
    expect(() => OutcomeMemory.load(kernels, { dimensions: 12, cases: 50_001 }, small.save())).toThrow(
      /no Float32Array “memory.centroids”/,
    );
    for (const memory of [small, large, loaded]) memory.dispose();
    expect(kernels.allocatedBytes).toBe(0);
  });
});
