import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Kernels } from '../../bandit/kernels/kernels.ts';
import { ToolVectors } from '../../bandit/tool-vectors.ts';
import { ExactIndex } from '../../src/retrieval/vectors/exact-index.ts';
import { RecallCheck } from '../../src/retrieval/vectors/recall-check.ts';
import { createTypescriptKernels } from '../bandit/kernels/typescript-kernels.ts';

const SIZE = 5_000;
const QUERY = Float32Array.of(1, 0);
/** The lower the slot the nearer to the query. */
const vectorOf = (slot: number): Float32Array =>
  Float32Array.of(Math.cos((3 * slot) / SIZE), Math.sin((3 * slot) / SIZE));

describe('RecallCheck', () => {
  let scanned: number[];
  let kernels: Kernels;
  let vectors: ToolVectors;
  let exact: ExactIndex;
  const check = (slots: readonly number[]): RecallCheck =>
    new RecallCheck(kernels, vectors, exact, { query: QUERY, slots });
  const range = (from: number, to: number): number[] =>
    Array.from({ length: to - from }, (_, at) => from + at);

  beforeEach(() => {
    scanned = [];
    kernels = createTypescriptKernels();
    const scan = kernels.scan.bind(kernels);
    kernels.scan = (table, stride, count, query, out) => {
      scanned.push(count);
      scan(table, stride, count, query, out);
    };
    vectors = new ToolVectors(kernels, 2);
    exact = new ExactIndex(kernels, vectors);
    for (let slot = 0; slot < SIZE; slot++) {
      vectors.put(slot, vectorOf(slot));
      exact.put(slot);
    }
  });
  afterEach(() => {
    exact.free();
    vectors.free();
    expect(kernels.allocatedBytes).toBe(0);
  });

  it('says how many of the 50 nearest were found', async () => {
    expect(await check(range(0, 200)).run()).toBe(1);
    expect(await check(range(5, 200)).run()).toBe(0.9);
    expect(await check(range(4_000, 4_200)).run()).toBe(0);
  });

  it('looks at some thousands in one turn, and at none in the turn of the search', async () => {
    const running = check(range(0, 200)).run();
    expect(scanned).toEqual([]);
    await nextTurn();
    expect(scanned.length).toBeLessThanOrEqual(1);
    await running;
    expect(scanned).toEqual([2_048, 2_048, 904]);
  });

  it('leaves out what changes or goes meanwhile, on either side', async () => {
    const running = check([...range(0, 40), ...range(4_900, 5_000)]);
    const recall = running.run();
    // Forty of the fifty nearest were found. Ten of those go, and a far one that was found comes near.
    for (const slot of range(0, 10)) {
      exact.remove(slot);
      running.forget(slot);
    }
    vectors.put(4_950, QUERY);
    exact.put(4_950);
    running.forget(4_950);
    // 10…59 are the nearest that stayed, and 10…39 of them were found.
    expect(await recall).toBe(0.6);
  });

  it('ends early when it is freed', async () => {
    const early = check(range(0, 200));
    const recall = early.run();
    await nextTurn();
    early.free();
    expect(await recall).toBeNull();
    expect(scanned.length).toBeLessThan(3);
  });
});
