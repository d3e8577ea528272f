import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OutcomeMemory } from '../../../bandit/memory/outcome-memory.ts';
import type { QueryFeatures } from '../../../bandit/policy.ts';
import { EMPTY_SPARSE_VECTOR } from '../../../bandit/sparse-vector.ts';
import { createTypescriptKernels } from '../kernels/typescript-kernels.ts';
import { type NaiveCase, NaiveMemory } from './naive-memory.ts';

const kernels = createTypescriptKernels();
const DIMENSIONS = 2;

function memoryOf(cases = 4000, dimensions = DIMENSIONS): OutcomeMemory {
  return new OutcomeMemory(kernels, { dimensions, cases });
}

/** Multiples of ½ are exact in float32, so that the oracle's order of additions does not matter. */
function query(embedding: readonly number[] | null, ...terms: number[]): QueryFeatures {
  const sorted = Uint32Array.from(new Set(terms)).sort();
  return {
    embedding: embedding === null ? null : Float32Array.from(embedding),
    terms: { terms: sorted, weights: new Float32Array(sorted.length).fill(0.5) },
  };
}

const queries = fc
  .record({
    embedding: fc.option(fc.constantFrom([1, 0], [0, 1], [0.5, 0.5], [-1, 0], [0, 0])),
    terms: fc.uniqueArray(fc.nat(8), { maxLength: 4 }),
  })
  .map(({ embedding, terms }) => query(embedding, ...terms));

const outcomes = fc.uniqueArray(fc.record({ slot: fc.nat(80), reward: fc.constantFrom(0, 0.25, 0.5, 1) }), {
  selector: ({ slot }) => slot,
  minLength: 1,
  maxLength: 12,
});

const steps = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('remember' as const),
      query: queries,
      outcomes,
      unit: fc.nat(40),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('amend' as const),
      at: fc.nat(),
      slot: fc.nat(80),
      p: fc.constantFrom(0, 0.5, 1, -1),
      n: fc.constantFrom(0, 1, -1),
      unit: fc.nat(2),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('forgetTool' as const), slot: fc.nat(80) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('forgetUnit' as const), unit: fc.nat(40) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reload' as const) }) },
);

describe('OutcomeMemory', () => {
  it('does what the naive memory does, whatever happens and whenever it is saved', () => {
    let merges = 0;
    fc.assert(
      fc.property(
        fc.array(steps, { minLength: 20, maxLength: 60 }),
        fc.array(queries, { minLength: 3, maxLength: 3 }),
        fc.integer({ min: 2, max: 6 }),
        (script, probes, limit) => {
          let memory = memoryOf(limit);
          const naive = new NaiveMemory(limit);
          const written: { id: number; found: NaiveCase }[] = [];
          for (const [at, step] of script.entries()) {
            if (step.kind === 'remember') {
              const id = memory.remember(step.query, step.outcomes, at, step.unit);
              const place = naive.remember(step.query, step.outcomes, at, step.unit);
              if (id >= 0) written.push({ id, found: naive.cases[place]! });
              else expect(place).toBe(-1);
            } else if (step.kind === 'amend' && written.length > 0) {
              const { id, found } = written[step.at % written.length];
              memory.amend(id, step.slot, step.p, step.n, step.unit);
              naive.amend(found, step.slot, step.p, step.n, step.unit);
            } else if (step.kind === 'forgetTool') {
              memory.forgetTool(step.slot);
              naive.forgetTool(step.slot);
            } else if (step.kind === 'forgetUnit') {
              expect(memory.forgetUnit(step.unit)).toBe(naive.forgetUnit(step.unit));
            } else if (step.kind === 'reload') {
              memory = OutcomeMemory.load(kernels, { dimensions: DIMENSIONS, cases: limit }, memory.save());
            }
          }
          expect(memory.size).toBe(naive.cases.filter((found) => found !== null).length);
          for (const probe of probes) expectSame(memory, naive, probe);
          merges += naive.merges;
        },
      ),
      { numRuns: 100 },
    );
    expect(merges).toBeGreaterThan(20);
  });

  it('says nothing as long as it is empty', () => {
    const recall = memoryOf().recall(query([1, 0], 1));
    expect([recall.slots.length, recall.cases.length]).toEqual([0, 0]);
  });

  it('discounts cases when even the best match is far away', () => {
    const memory = memoryOf();
    memory.remember(query([1, 0]), [{ slot: 3, reward: 1 }], 0, 0);
    // e·e' = .5 and no common term: s = .25, and the reference stays at .7.
    const far = memory.recall(query([0.5, 0.5]));
    expect(far.positives[0]).toBeCloseTo(Math.exp((0.25 - 0.7) / 0.1), 12);
    expect(far.nearest[0]).toBe(0.25);
  });

  it('forgets by keeping at most five trials per tool and case', () => {
    const memory = memoryOf();
    const same = query(null, 1, 2, 3, 4);
    for (let i = 0; i < 20; i++) memory.remember(same, [{ slot: 0, reward: 1 }], i, 0);
    for (let i = 0; i < 3; i++) memory.remember(same, [{ slot: 0, reward: 0 }], i, 0);
    const { positives, trials } = memory.recall(same);
    expect(memory.size).toBe(1);
    expect(trials[0]).toBeCloseTo(5, 5);
    expect(positives[0]).toBeCloseTo(5 * 0.8 ** 3, 5);
  });

  it('lets one unit alone put no more than two trials into a case, however often and heavily it reports', () => {
    const memory = memoryOf();
    const same = query(null, 1, 2, 3, 4);
    for (let i = 0; i < 5; i++) memory.remember(same, [{ slot: 0, reward: 0 }], i, 0);
    for (let i = 0; i < 20; i++) memory.remember(same, [{ slot: 0, reward: 1, weight: 10 }], i, 77);
    const { positives, trials } = memory.recall(same);
    expect(trials[0]).toBeCloseTo(5, 5);
    expect(positives[0]).toBeCloseTo(2, 5);
    // It may change its mind: its own trials make room, those of the others stay.
    for (let i = 0; i < 20; i++) memory.remember(same, [{ slot: 0, reward: 0 }], i, 77);
    expect(memory.recall(same).positives[0]).toBeCloseTo(0, 3);
    const late = memory.remember(same, [{ slot: 1, reward: 0 }], 30, 77);
    for (let i = 0; i < 9; i++) memory.amend(late, 1, 3, -1, 77);
    expect(memory.recall(same).positives[1]).toBeCloseTo(2, 5);
  });

  it('lets a 65th tool take the place of the one that did worst', () => {
    const memory = memoryOf();
    const same = query(null, 1, 2, 3, 4);
    const slate = (from: number, to: number, reward: number) =>
      Array.from({ length: to - from }, (_, i) => ({ slot: from + i, reward }));
    memory.remember(same, [...slate(0, 10, 1), ...slate(10, 64, 0)], 0, 0);
    memory.remember(same, slate(10, 12, 0), 1, 0);
    memory.remember(same, slate(100, 102, 1), 2, 0);
    const known = [...memory.recall(same).slots];
    // Slots 12 and 13 had no success and the fewest failures, and came first among those.
    expect(known).toEqual(
      [...slate(0, 12, 0), ...slate(100, 102, 0), ...slate(14, 64, 0)].map(({ slot }) => slot),
    );
  });

  it('knows the author of a case and the 31 units that came last', () => {
    const units = Array.from({ length: 40 }, (_, i) => i + 1);
    const written = () => {
      const memory = memoryOf();
      for (const unit of units) memory.remember(query(null, 1, 2, 3, 4), [{ slot: 0, reward: 1 }], 0, unit);
      return memory;
    };
    const known = units.filter((unit) => written().forgetUnit(unit) === 1);
    expect(known).toEqual([1, ...units.slice(9)]);
  });

  it('gives the place of a forgotten case a new id, so that late amendments miss it', () => {
    const memory = memoryOf();
    const first = memory.remember(query(null, 1, 2, 3, 4), [{ slot: 0, reward: 0 }], 0, 77);
    expect(memory.forgetUnit(77)).toBe(1);
    const second = memory.remember(query(null, 5, 6, 7, 8), [{ slot: 0, reward: 0 }], 1, 0);
    expect(second).not.toBe(first);
    memory.amend(first, 0, 1, -1, 0);
    expect(memory.recall(query(null, 5, 6, 7, 8)).positives[0]).toBe(0);
    memory.amend(second, 0, 1, -1, 0);
    expect(memory.recall(query(null, 5, 6, 7, 8)).positives[0]).toBe(1);
  });

  it('merges two old cases when that loses less than merging the new one', () => {
    const memory = memoryOf(3);
    const seen = (terms: number[], slot: number, at: number) =>
      memory.remember(query(null, ...terms), [{ slot, reward: 1 }], at, 0);
    seen([1, 2, 3, 4], 0, 0);
    seen([1, 2, 3, 5], 1, 1);
    seen([11, 12, 13, 14], 2, 2);
    // s = .75 between the first two, 0 between the new one and all others.
    seen([21, 22, 23, 24], 3, 3);
    expect(memory.size).toBe(3);
    expect([...memory.recall(query(null, 21, 22, 23, 24)).slots]).toEqual([3]);
    expect([...memory.recall(query(null, 11, 12, 13, 14)).slots]).toEqual([2]);
    expect([...memory.recall(query(null, 1, 2, 3)).slots].sort()).toEqual([0, 1]);
  });

  it('merges the new one when old cases stand for too much', () => {
    const memory = memoryOf(2);
    const often = (terms: number[], slot: number) => {
      for (let at = 0; at < 10; at++) memory.remember(query(null, ...terms), [{ slot, reward: 1 }], at, 0);
    };
    often([1, 2, 3, 4], 0);
    often([1, 2, 3, 5], 1);
    memory.remember(query(null, 1, 6, 7, 8), [{ slot: 2, reward: 1 }], 99, 0);
    expect(memory.recall(query(null, 1, 2, 3, 4)).cases.length).toBe(2);
    expect([...memory.recall(query(null, 7, 8)).slots]).toEqual([]);
  });

  it('follows a case into the one it merged with when an outcome is late', () => {
    const memory = memoryOf(2);
    const first = memory.remember(query(null, 1, 2, 3, 4), [{ slot: 0, reward: 0 }], 0, 0);
    memory.remember(query(null, 1, 2, 3, 5), [{ slot: 1, reward: 1 }], 1, 0);
    memory.remember(query(null, 21, 22, 23, 24), [{ slot: 3, reward: 1 }], 3, 0);
    const again = OutcomeMemory.load(kernels, { dimensions: DIMENSIONS, cases: 2 }, memory.save());
    for (const one of [memory, again]) {
      one.amend(first, 0, 1, -1, 0);
      const recall = one.recall(query(null, 1, 2, 3, 5));
      expect(recall.positives[recall.slots.indexOf(0)]).toBe(1);
    }
  });

  it('does not keep a query by which it could never be found again', () => {
    const memory = memoryOf();
    const nothing = { embedding: new Float32Array(DIMENSIONS), terms: EMPTY_SPARSE_VECTOR };
    expect(memory.remember(nothing, [{ slot: 0, reward: 1 }], 0, 0)).toBe(-1);
    expect(memory.remember(query([1, 0], 1), [], 0, 0)).toBe(-1);
    expect(memory.size).toBe(0);
  });

  it('refuses rewards that are none, and writes nothing then', () => {
    const memory = memoryOf();
    for (const reward of [Number.NaN, -0.1, 1.1, Number.POSITIVE_INFINITY]) {
      const bad = [
        { slot: 0, reward: 1 },
        { slot: 1, reward },
      ];
      expect(() => memory.remember(query([1, 0]), bad, 0, 0)).toThrow(RangeError);
    }
    expect(memory.size).toBe(0);
    expect(() => memory.amend(0, 0, Number.NaN, 0, 0)).toThrow(RangeError);
    expect(() => memory.recall(query([1, 0, 0]))).toThrow(/2 dimensions/);
  });

  it('works on terms alone without an embedder', () => {
    const memory = memoryOf(10, 0);
    memory.remember(query(null, 1, 2, 3, 4), [{ slot: 5, reward: 1 }], 0, 0);
    memory.remember(query(null, 11, 12, 13, 14), [{ slot: 6, reward: 1 }], 0, 0);
    expect([...memory.recall(query(null, 1, 2, 3)).slots]).toEqual([5]);
    expect([
      ...OutcomeMemory.load(kernels, { dimensions: 0, cases: 10 }, memory.save()).recall(query(null, 11))
        .slots,
    ]).toEqual([6]);
  });

  it('refuses a saved memory whose arrays do not fit', () => {
    const memory = memoryOf();
    memory.remember(query([1, 0], 1), [{ slot: 0, reward: 1 }], 0, 0);
    const saved = memory.save();
    const limits = { dimensions: 3, cases: 10 };
    expect(() => OutcomeMemory.load(kernels, limits, saved)).toThrow(
      /memory.embeddings.*2 values instead of 3/,
    );
    expect(() => OutcomeMemory.load(kernels, limits, {})).toThrow(/no Float64Array “memory.lastSeen”/);
  });

  it('keeps 4,000 full cases far below the budget of a learner, and gives its kernel memory back', () => {
    const before = kernels.allocatedBytes;
    const memory = memoryOf(4000, 384);
    // 64 tools each is the most that fits; without embeddings the rows are there all the same.
    for (let i = 0; i < 4000; i++) {
      for (let from = 0; from < 64; from += 16) {
        const slate = Array.from({ length: 16 }, (_, slot) => ({ slot: from + slot, reward: 0 }));
        memory.remember(query(null, 4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3), slate, i, i);
      }
    }
    expect(memory.size).toBe(4000);
    expect(memory.bytes).toBeLessThan(20 * 2 ** 20);
    memory.dispose();
    expect(kernels.allocatedBytes).toBe(before);
  });
});

function expectSame(memory: OutcomeMemory, naive: NaiveMemory, probe: QueryFeatures): void {
  const recall = memory.recall(probe);
  const expected = naive.recall(probe);
  expect(recall.cases.map(({ similarity }) => similarity)).toEqual(expected.cases.map(({ s }) => s));
  expect(new Set(recall.slots)).toEqual(new Set(expected.tools.keys()));
  for (const [row, slot] of recall.slots.entries()) {
    const { p, n, mx, vote } = expected.tools.get(slot)!;
    expect(recall.positives[row]).toBeCloseTo(p, 6);
    expect(recall.trials[row]).toBeCloseTo(n, 6);
    expect(recall.nearest[row]).toBe(mx);
    expect(recall.votes[row]).toBeCloseTo(vote, 6);
  }
}
