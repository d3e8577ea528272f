import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Kernels } from '../../bandit/kernels/kernels.ts';
import { ToolVectors } from '../../bandit/tool-vectors.ts';
import { ExactIndex } from '../../src/retrieval/vectors/exact-index.ts';
import { RecallCheck, RecallMonitor, recallOf } from '../../src/retrieval/vectors/recall.ts';
import { createTypescriptKernels } from '../bandit/kernels/typescript-kernels.ts';

function watched() {
  const alarms: [alarmed: boolean, recall: number][] = [];
  const monitor = new RecallMonitor((alarmed, recall) => alarms.push([alarmed, recall]));
  const observe = (recall: number, times: number): void => {
    for (let time = 0; time < times; time++) monitor.observe(recall);
  };
  return { monitor, alarms, observe };
}

describe('RecallMonitor', () => {
  it('picks one search in a hundred, the first among them', () => {
    const { monitor } = watched();
    const due = Array.from({ length: 301 }, () => monitor.isDue());
    expect(due.flatMap((is, at) => (is ? [at] : []))).toEqual([0, 100, 200, 300]);
  });

  it('raises one alarm when too little is found, and takes it back when enough is', () => {
    const { monitor, alarms, observe } = watched();
    observe(0.5, 9);
    expect(alarms).toEqual([]);
    observe(0.5, 1);
    expect(alarms).toEqual([[true, 0.5]]);
    expect(monitor.recall).toBe(0.5);
    observe(0.5, 100);
    expect(alarms).toHaveLength(1);
    observe(1, 50);
    expect(alarms.map(([alarmed]) => alarmed)).toEqual([true, false]);
    expect(alarms[1][1]).toBeGreaterThanOrEqual(0.97);
  });

  it('begins again with another index', () => {
    const { monitor, alarms, observe } = watched();
    observe(0.5, 10);
    monitor.restart();
    expect(monitor.recall).toBeNull();
    expect(monitor.alarmed).toBe(false);
    expect(alarms.map(([alarmed]) => alarmed)).toEqual([true, false]);
    monitor.restart();
    expect(alarms).toHaveLength(2);
  });
});

describe('recallOf', () => {
  const all = Int32Array.from({ length: 200 }, (_, slot) => slot);

  it('is the share of the 50 nearest that was found', () => {
    const cosine = (slot: number): number => 1 - slot / 1000;
    expect(recallOf([...all].slice(0, 50), all, cosine)).toBe(1);
    expect(recallOf([...all].slice(5, 100), all, cosine)).toBe(0.9);
    expect(recallOf([], all, cosine)).toBe(0);
    expect(recallOf([3], Int32Array.of(3, 4), cosine)).toBe(0.5);
    expect(recallOf([], new Int32Array(0), cosine)).toBe(1);
  });

  it('does not care which of equally near ones were found', () => {
    expect(recallOf([...all].slice(120, 180), all, () => 0.5)).toBe(1);
  });
});

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
