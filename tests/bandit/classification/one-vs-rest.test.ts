import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  CLASS_MARGIN,
  type ClassExample,
  classOf,
  trainOneVsRest,
} from '../../../bandit/classification/one-vs-rest.ts';
import { bundledModelFolder, openModelFolder } from '../../../src/models/open-embedder.ts';
import { atOnce } from '../../../src/scheduling/slices.ts';
import { LABELLED, OF_NONE, TRAINED_WITH } from './labelled-queries.ts';

const DIMENSIONS = 5;
const CLASSES = 3;

const example: fc.Arbitrary<ClassExample> = fc.record({
  of: fc.nat(CLASSES - 1),
  embedding: fc
    .array(fc.double({ min: -1, max: 1, noNaN: true }), { minLength: DIMENSIONS, maxLength: DIMENSIONS })
    .map((numbers) => Float32Array.from(numbers)),
});
const examples = fc.array(example, { maxLength: 20 });

const train = (all: readonly ClassExample[], classes = CLASSES, dimensions = DIMENSIONS): Float32Array =>
  atOnce(trainOneVsRest(all, classes, dimensions));

/** The same by the normal equations and Gauss–Jordan elimination, a class at a time. */
function naively(all: readonly ClassExample[], of: number): number[] {
  const used = new Set(all.map((one) => one.of)).size;
  const weight = (one: ClassExample): number =>
    all.length / (used * all.filter((other) => other.of === one.of).length);
  const rows = Array.from({ length: DIMENSIONS }, (_, i) => [
    ...Array.from({ length: DIMENSIONS }, (__, j) =>
      all.reduce((sum, one) => sum + weight(one) * one.embedding[i] * one.embedding[j], i === j ? 1 : 0),
    ),
    all.reduce((sum, one) => sum + (one.of === of ? weight(one) * one.embedding[i] : 0), 0),
  ]);
  for (let pivot = 0; pivot < DIMENSIONS; pivot++) {
    const divisor = rows[pivot][pivot];
    rows[pivot] = rows[pivot].map((value) => value / divisor);
    for (const [i, row] of rows.entries()) {
      if (i === pivot) continue;
      const factor = row[pivot];
      rows[i] = row.map((value, j) => value - factor * rows[pivot][j]);
    }
  }
  return rows.map((row) => row[DIMENSIONS]);
}

describe('one class against the rest', () => {
  it('has the weights of the normal equations', () => {
    fc.assert(
      fc.property(examples, (all) => {
        const weights = train(all);
        for (let of = 0; of < CLASSES; of++) {
          const expected = naively(all, of);
          for (let i = 0; i < DIMENSIONS; i++) {
            expect(weights[of * DIMENSIONS + i]).toBeCloseTo(expected[i], 5);
          }
        }
      }),
    );
  });

  it('gives the same bits again, and no class for what resembles nothing', () => {
    fc.assert(
      fc.property(examples, (all) => {
        const weights = train(all);
        expect(train(all)).toEqual(weights);
        expect(classOf(weights, new Float32Array(DIMENSIONS))).toBeNull();
      }),
    );
  });

  it('weighs classes alike, however many examples each has', () => {
    const axis = (of: number) => ({ of, embedding: new Float32Array(DIMENSIONS).fill(1, of, of + 1) });
    const weights = train([...Array.from({ length: 40 }, () => axis(0)), axis(1), axis(1)]);
    const [many, few] = [0, 1].map((of) => classOf(weights, axis(of).embedding));
    expect([many?.of, few?.of]).toEqual([0, 1]);
    expect(few?.margin).toBeCloseTo(many?.margin ?? 0, 6);
  });

  it('never chooses a class without examples, and names a class only with the margin', () => {
    fc.assert(
      fc.property(examples, example, (all, { embedding }) => {
        const found = classOf(train(all.filter(({ of }) => of !== 1)), embedding);
        if (found === null) return;
        expect(found.of).not.toBe(1);
        expect(found.margin).toBeGreaterThanOrEqual(CLASS_MARGIN);
      }),
    );
  });

  it('refuses vectors of another length, numbers that are none, and classes that there are not', () => {
    const vector = new Float32Array(DIMENSIONS);
    expect(() => train([{ embedding: new Float32Array(4), of: 0 }])).toThrow('5 numbers, not 4');
    expect(() => train([{ embedding: vector.map(() => Number.NaN), of: 0 }])).toThrow('not finite');
    for (const of of [-1, 3, 0.5]) expect(() => train([{ embedding: vector, of }])).toThrow('no class');
  });

  it('names the domain of 37 of 40 queries that it never saw, never another one, and one for 3 of 12 that are of none', async () => {
    const embedder = await openModelFolder(bundledModelFolder());
    const names = Object.keys(LABELLED);
    const split = await Promise.all(
      names.map(async (name, of) => {
        const vectors = await embedder.embedQueries(LABELLED[name]);
        return vectors.map((embedding) => ({ embedding, of }));
      }),
    );
    const trained = split.flatMap((all) => all.slice(0, TRAINED_WITH));
    const heldOut = split.flatMap((all) => all.slice(TRAINED_WITH));
    const weights = train(trained, names.length, embedder.dimensions);
    const found = heldOut.map(({ embedding, of }) => ({ of, found: classOf(weights, embedding)?.of }));
    const strangers = await embedder.embedQueries(OF_NONE);
    expect({
      heldOut: found.length,
      right: found.filter((one) => one.found === one.of).length,
      wrong: found.filter((one) => one.found !== undefined && one.found !== one.of).length,
      strangers: strangers.filter((embedding) => classOf(weights, embedding) !== null).length,
    }).toEqual({ heldOut: 40, right: 37, wrong: 0, strangers: 3 });
    await embedder.close();
  });
});
