import { describe, expect, it } from 'vitest';
import type { Kernels } from '../../../bandit/kernels/kernels.ts';
import { Projection } from '../../../bandit/ridge/projection.ts';
import { SemanticRidge, type SemanticRow } from '../../../bandit/ridge/semantic-ridge.ts';
import { ToolVectors } from '../../../bandit/tool-vectors.ts';
import { BOTH, numbers, sequence } from '../kernels/both-kernels.ts';

const D = 30;
const P = 8;
const EXTRAS = 2;
const TOOLS = 20;

function unit(next: () => number): Float32Array {
  const values = numbers(next, D);
  const norm = Math.hypot(...values);
  return Float32Array.from(values, (value) => value / norm);
}

function toolsOf(kernels: Kernels, next: () => number): ToolVectors {
  const vectors = new ToolVectors(kernels, D);
  for (let slot = 0; slot < TOOLS; slot++) vectors.put(slot, unit(next));
  return vectors;
}

describe.each(BOTH)('a projection on %s kernels', (_name, create) => {
  const kernels = create();

  it('has the signs that its seed says, in equal numbers', () => {
    const vectors = new ToolVectors(kernels, 400);
    const projection = new Projection(kernels, vectors, 16);
    let sum = 0;
    const firsts: number[] = [];
    for (let i = 0; i < 400; i++) {
      const column = projection.project(new Float32Array(400).fill(0).fill(1, i, i + 1));
      for (const value of column) {
        expect(Math.abs(value)).toBe(0.25);
        sum += Math.sign(value);
      }
      firsts.push(Math.sign(column[0]));
    }
    expect(Math.abs(sum)).toBeLessThan(4 * Math.sqrt(400 * 16));
    // Saved learners stand on these signs: another matrix needs another seed.
    expect(
      firsts
        .slice(0, 24)
        .map((sign) => (sign > 0 ? '+' : '-'))
        .join(''),
    ).toBe('--++-+++-++-++-+-+++-++-');
    projection.free();
    vectors.free();
  });

  it('keeps scalar products up to noise of 1/√p', () => {
    const next = sequence(5);
    const vectors = new ToolVectors(kernels, D);
    const projection = new Projection(kernels, vectors, 16);
    let squares = 0;
    for (let round = 0; round < 500; round++) {
      const [a, b] = [unit(next), unit(next)];
      const [pa, pb] = [projection.project(a), projection.project(b)];
      const dot = (x: Float32Array, y: Float32Array) => x.reduce((sum, value, i) => sum + value * y[i], 0);
      squares += (dot(pa, pb) - dot(a, b)) ** 2;
    }
    expect(Math.sqrt(squares / 500)).toBeLessThan(1.5 / Math.sqrt(16));
    projection.free();
    vectors.free();
  });

  it('makes of a ridge the ridge over what is projected, bit for bit, while tools come and change', () => {
    const next = sequence(11);
    const before = kernels.allocatedBytes;
    const vectors = toolsOf(kernels, next);
    const projection = new Projection(kernels, vectors, P);
    const prior = [0.1, 0, 0.3, 0.2];
    const shared = { kernels, extras: EXTRAS, lambda: 10, prior };
    const projected = new SemanticRidge({ ...shared, vectors, projection: P });
    const plain = new SemanticRidge({ ...shared, vectors: projection.tools });
    expect(projected.size).toBe(2 * P + 2 + EXTRAS);
    const row = (slot: number): SemanticRow => ({
      embedding: unit(next),
      slot,
      similarity: next(),
      extras: Float32Array.from(numbers(next, EXTRAS)),
    });
    for (let round = 0; round < 150; round++) {
      if (round % 10 === 9) vectors.put(round % 3 === 0 ? TOOLS + round : round % TOOLS, unit(next));
      const learned = row(round % TOOLS);
      projection.refresh([learned.slot]);
      const embedding = projection.project(learned.embedding as Float32Array);
      projected.learn(learned, round % 2, 1);
      plain.learn({ ...learned, embedding }, round % 2, 1);
      const slots = Int32Array.from({ length: TOOLS }, (_, slot) => slot);
      const query = unit(next);
      const similarity = Float64Array.from(slots, () => next());
      const extras = Float32Array.from(numbers(next, TOOLS * EXTRAS));
      projection.refresh(slots);
      const scores = projected.score(query, slots, similarity, extras);
      expect(scores).toEqual(plain.score(projection.project(query), slots, similarity, extras));
      const means = projected.canonicalMeans(query, slots, similarity, extras) as Float64Array;
      for (const [i, mean] of means.entries()) expect(mean).toBeCloseTo(scores.mean[i], 9);
    }
    expect(projected.save()).toEqual(plain.save());
    projected.freeze();
    const slots = Int32Array.of(1, 5, 7);
    const [similarity, extras] = [Float64Array.of(0.1, 0.2, 0.3), new Float32Array(3 * EXTRAS)];
    const query = unit(next);
    projected.prepare([query]);
    const frozen = projected.score(query, slots, similarity, extras);
    const live = plain.score(projection.project(query), slots, similarity, extras);
    for (const [i, mean] of frozen.mean.entries()) expect(mean).toBeCloseTo(live.mean[i], 10);
    for (const one of [projected, plain, projection, vectors]) one.free();
    expect(kernels.allocatedBytes).toBe(before);
  });

  it('solves for means with the same bits in a process that only folds', () => {
    const next = sequence(3);
    const vectors = toolsOf(kernels, next);
    const options = { kernels, vectors, projection: P, extras: EXTRAS, lambda: 1 };
    const [ranking, folding] = [
      new SemanticRidge(options),
      new SemanticRidge({ ...options, derived: false }),
    ];
    for (let round = 0; round < 40; round++) {
      const row = {
        embedding: unit(next),
        slot: round % TOOLS,
        similarity: next(),
        extras: Float32Array.from(numbers(next, EXTRAS)),
      };
      for (const ridge of [ranking, folding]) ridge.learn(row, round % 2, 1);
    }
    const query = unit(next);
    const means = [ranking, folding].map((ridge) =>
      ridge.canonicalMeans(query, Int32Array.of(0, 4), Float64Array.of(0.3, 0.1), new Float32Array(4)),
    );
    expect(means[0]).toEqual(means[1]);
    const large = new SemanticRidge({ ...options, projection: 0, extras: 80 });
    expect(
      large.canonicalMeans(query, Int32Array.of(0), Float64Array.of(1), new Float32Array(80)),
    ).toBeNull();
    for (const one of [ranking, folding, large, vectors]) one.free();
  });

  it('never lets a feature count against a candidate that must not, in scores, frozen scores and solved means', () => {
    const next = sequence(9);
    const vectors = toolsOf(kernels, next);
    const options = { kernels, vectors, projection: P, extras: EXTRAS, lambda: 1, prior: [0, 0, 0.2, 0.2] };
    const [bounded, free] = [
      new SemanticRidge({ ...options, neverAgainst: [1] }),
      new SemanticRidge(options),
    ];
    // Both extras are bad signs: where they are high, the reward is 0.
    for (let round = 0; round < 80; round++) {
      const high = round % 2;
      const extras = Float32Array.of(high, high ? 0.9 : 0.1);
      const row = { embedding: unit(next), slot: round % TOOLS, similarity: 0, extras };
      for (const ridge of [bounded, free]) ridge.learn(row, 1 - high, 1);
    }
    expect(bounded.save()).toEqual(free.save());
    const query = unit(next);
    const slots = Int32Array.of(3, 3);
    const extras = Float32Array.of(0.5, 0, 0.5, 1);
    const scored = (ridge: SemanticRidge) => ridge.score(query, slots, new Float64Array(2), extras);
    expect(scored(free).mean[1]).toBeLessThan(scored(free).mean[0] - 0.1);
    expect(scored(bounded).mean[1]).toBeCloseTo(scored(bounded).mean[0], 12);
    expect(scored(bounded).mean[0]).toBe(scored(free).mean[0]);
    expect(scored(bounded).uncertainty).toEqual(scored(free).uncertainty);
    const { mean, base, gain } = scored(bounded);
    for (const i of [0, 1]) expect(mean[i]).toBe(base[i] + gain[i]);
    const means = bounded.canonicalMeans(query, slots, new Float64Array(2), extras) as Float64Array;
    for (const i of [0, 1]) expect(means[i]).toBeCloseTo(mean[i], 9);
    bounded.freeze();
    for (const i of [0, 1]) expect(scored(bounded).mean[i]).toBeCloseTo(mean[i], 9);
    for (const one of [bounded, free, vectors]) one.free();
  });

  it('refuses an embedding of another length', () => {
    const vectors = toolsOf(kernels, sequence(1));
    const projection = new Projection(kernels, vectors, P);
    expect(() => projection.project(new Float32Array(3))).toThrow('30 dimensions');
    expect(() => projection.refresh([10_000])).toThrow('no slot');
    projection.free();
    vectors.free();
  });
});
