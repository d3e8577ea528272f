import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CaseIndex, hasDirection } from '../../../bandit/memory/case-index.ts';
import type { QueryFeatures, RecalledCase } from '../../../bandit/policy.ts';
import { sparseDot } from '../../../bandit/sparse-vector.ts';
import { BOTH, sequence } from '../kernels/both-kernels.ts';

const DIMENSIONS = 20;
/** Elements from one row of the index to the next. */
const STRIDE = 32;
const MANY = 3000;
const LIMIT = 30;

for (const [name, kernelsOf] of BOTH) {
  const kernels = kernelsOf();

  describe(`CaseIndex on ${name} kernels`, () => {
    let before: number;
    let index: CaseIndex;

    beforeEach(() => {
      before = kernels.allocatedBytes;
      index = new CaseIndex(kernels, DIMENSIONS);
    });
    afterEach(() => {
      index.dispose();
      expect(kernels.allocatedBytes).toBe(before);
    });

    const reload = (): void => {
      const saved = index.save(MANY);
      index.dispose();
      index = CaseIndex.load(kernels, DIMENSIONS, saved);
    };

    it('finds what is there now, with the right similarities, whatever came and went', () => {
      const queries = fc.record({ seed: fc.nat(200), dense: fc.boolean(), words: fc.boolean() });
      const changes = fc.oneof(
        { weight: 5, arbitrary: fc.record({ place: fc.nat(60), query: queries }) },
        { weight: 2, arbitrary: fc.record({ place: fc.nat(60), query: fc.constant(null) }) },
        { weight: 1, arbitrary: fc.constant('reload' as const) },
      );
      fc.assert(
        fc.property(
          fc.array(changes, { maxLength: 60 }),
          queries,
          fc.integer({ min: 1, max: 40 }),
          (...script) => {
            const [steps, probe, limit] = script;
            const live = new Map<number, QueryFeatures>();
            for (const step of steps) {
              if (step === 'reload') {
                reload();
                continue;
              }
              if (live.delete(step.place)) index.remove(step.place);
              if (step.query === null) continue;
              const query = queryOf(step.query.seed, step.query);
              live.set(step.place, query);
              index.put(step.place, query);
            }
            const asked = queryOf(probe.seed, probe);
            const found = index.nearest(asked, limit);
            const expected = naive(live, asked);
            expect(found.length).toBe(Math.min(limit, expected.length));
            for (const [at, { caseId, similarity }] of found.entries()) {
              expect(similarity).toBeCloseTo(similarityOf(asked, live.get(caseId)!), 5);
              expect(similarity).toBeCloseTo(expected[at].similarity, 5);
            }
            for (const place of live.keys()) index.remove(place);
            expect(index.nearest(asked, limit)).toEqual([]);
          },
        ),
        { numRuns: 80 },
      );
    });

    it('knows the nearest one of a query that was asked before, whatever came and went since', () => {
      const queries = fc.record({ seed: fc.nat(8), dense: fc.boolean(), words: fc.boolean() });
      const steps = fc.oneof(
        { weight: 4, arbitrary: fc.record({ place: fc.nat(12), query: queries }) },
        { weight: 2, arbitrary: fc.record({ place: fc.nat(12), query: fc.constant(null) }) },
        { weight: 3, arbitrary: fc.record({ asked: queries }) },
      );
      fc.assert(
        fc.property(
          fc.array(steps, { maxLength: 60 }),
          fc.array(queries, { maxLength: 6 }),
          (script, probes) => {
            const live = new Set<number>();
            for (const step of script) {
              if ('asked' in step) {
                index.nearest(queryOf(step.asked.seed, step.asked), 3);
                continue;
              }
              if (live.delete(step.place)) index.remove(step.place);
              if (step.query === null) continue;
              live.add(step.place);
              index.put(step.place, queryOf(step.query.seed, step.query));
            }
            for (const probe of probes) {
              const asked = queryOf(probe.seed, probe);
              const known = index.nearestOne(asked);
              expect(known).toEqual(index.nearest(asked, 1)[0] ?? null);
              expect(index.nearestOne(asked)).toEqual(known);
            }
            for (const place of live) index.remove(place);
          },
        ),
        { numRuns: 300 },
      );
    });

    it('searches again when more cases came since than it keeps', () => {
      const asked = queryOf(1, { dense: true, words: true });
      index.put(0, queryOf(2, { dense: true, words: true }));
      index.nearest(asked, 1);
      for (let place = 1; place <= 400; place++) {
        index.put(place, queryOf(place + 2, { dense: true, words: true }));
        if (place % 50 === 0) expect(index.nearestOne(asked)).toEqual(index.nearest(asked, 1)[0]);
      }
      for (let place = 401; place <= 800; place++)
        index.put(place, queryOf(place + 2, { dense: true, words: true }));
      expect(index.nearestOne(asked)).toEqual(index.nearest(asked, 1)[0]);
      for (let place = 0; place <= 800; place++) index.remove(place);
      expect(index.nearestOne(asked)).toBeNull();
    });

    it('finds the nearest of very many, while they come and go', () => {
      const live = new Map<number, QueryFeatures>();
      const put = (place: number, seed: number): void => {
        live.set(place, queryOf(seed));
        index.put(place, queryOf(seed));
      };
      for (let place = 0; place < MANY; place++) put(place, place);
      // A third makes room for queries of other kinds.
      for (let place = 0; place < MANY; place += 3) {
        live.delete(place);
        index.remove(place);
        if (place % 2 === 0) put(place, MANY + place);
      }
      for (let probe = 0; probe < 20; probe++) {
        const asked = queryOf(2 * MANY + probe);
        for (const query of [asked, { ...asked, embedding: null }]) {
          const found = index.nearest(query, LIMIT);
          const expected = naive(live, query).slice(0, LIMIT);
          expect(found.map(({ similarity }) => similarity.toFixed(4))).toEqual(
            expected.map(({ similarity }) => similarity.toFixed(4)),
          );
        }
        const known = 3 * probe + 1;
        expect(index.nearest(queryOf(known), 1)).toMatchObject([{ caseId: known }]);
      }
    });

    it('goes on after saving and loading as if nothing had happened', () => {
      const copy = { index: new CaseIndex(kernels, DIMENSIONS) };
      const step = (at: number): void => {
        const place = (at * 7) % 1200;
        for (const each of [index, copy.index]) {
          if (at >= 1200) each.remove(place);
          if (at % 5 !== 4) each.put(place, queryOf(at));
        }
      };
      for (let at = 0; at < 4000; at++) {
        step(at);
        if (at % 777 === 0) reload();
      }
      expect(index.save(1200)).toEqual(copy.index.save(1200));
      for (let probe = 0; probe < 20; probe++) {
        const asked = queryOf(9000 + probe);
        expect(index.nearest(asked, LIMIT)).toEqual(copy.index.nearest(asked, LIMIT));
      }
      copy.index.dispose();
    });

    it('takes any number of cases with the same vector, and tells them apart by words', () => {
      const vector = queryOf(0).embedding;
      const at = (place: number): QueryFeatures => ({
        embedding: vector,
        terms: { terms: Uint32Array.of(place), weights: Float32Array.of(1) },
      });
      for (let place = 0; place < MANY; place++) index.put(place, at(place));
      for (const place of [0, 1234, MANY - 1]) {
        const [first, second] = index.nearest(at(place), 2);
        expect(first.caseId).toBe(place);
        expect(first.similarity).toBeCloseTo(1, 5);
        expect(second.similarity).toBeCloseTo(0.5, 5);
      }
      for (let place = 0; place < MANY; place++) index.remove(place);
      expect(index.nearest(at(0), 2)).toEqual([]);
    });

    it('takes opposite vectors, and vectors of zeros', () => {
      const { embedding, terms } = queryOf(0);
      const opposite = embedding!.map((value) => -value);
      for (let place = 0; place < 900; place++) {
        const own = [embedding, opposite, new Float32Array(DIMENSIONS)][place % 3];
        index.put(place, { embedding: own, terms });
      }
      // s is 1 where the vectors agree, 0 (but for rounding) where they are opposite, t·t' where there is none.
      const found = index.nearest({ embedding, terms }, 900).filter(({ similarity }) => similarity > 0.01);
      expect(found.every(({ caseId }) => caseId % 3 !== 1)).toBe(true);
      expect(found.filter(({ caseId }) => caseId % 3 === 2)).toHaveLength(300);
      expect(found).toHaveLength(600);
    });

    it('gives the bits of a scan of all cases, near ties and vectors of any length included', () => {
      const vectors = Array.from({ length: 600 }, (_, place) => {
        const { embedding } = queryOf(place % 90);
        const own = sequence(place);
        const nudged = embedding!.map((value) => value + 1e-7 * own());
        if (place % 7 === 0) nudged[place % DIMENSIONS] *= 50;
        return place % 11 === 0 ? nudged.map((value) => value * 1e-3) : nudged;
      });
      const terms = { terms: new Uint32Array(), weights: new Float32Array() };
      const table = kernels.allocateFloat32(vectors.length * STRIDE);
      const asked = kernels.allocateFloat32(STRIDE);
      const cosines = kernels.allocateFloat32(vectors.length);
      for (const [place, embedding] of vectors.entries()) {
        table.set(embedding, place * STRIDE);
        index.put(place, { embedding, terms });
      }
      for (let probe = 0; probe < 60; probe++) {
        const embedding = vectors[(probe * 13) % vectors.length];
        asked.set(embedding);
        kernels.scan(table, STRIDE, vectors.length, asked, cosines);
        const expected = [...cosines.keys()]
          .filter((place) => cosines[place] > 0)
          .sort((a, b) => cosines[b] - cosines[a] || a - b);
        for (const limit of [1, LIMIT]) {
          const found = index.nearest({ embedding, terms }, limit);
          const wanted = expected.slice(0, limit);
          expect(found).toEqual(wanted.map((caseId) => ({ caseId, similarity: 0.5 * cosines[caseId] })));
        }
      }
      for (const array of [table, asked, cosines]) kernels.free(array);
    });

    it('says what it needs, and refuses other dimensions', () => {
      expect(index.bytes).toBeGreaterThan(0);
      const other = { ...queryOf(0), embedding: new Float32Array(DIMENSIONS + 1).fill(1) };
      expect(() => index.put(0, other)).toThrow(/20 dimensions, not 21/);
      expect(() => index.nearest(other, 1)).toThrow(RangeError);
    });

    it('works on words alone without an embedder', () => {
      const wordy = new CaseIndex(kernels, 0);
      for (let place = 0; place < 50; place++) wordy.put(place, { ...queryOf(place), embedding: null });
      const copy = CaseIndex.load(kernels, 0, wordy.save(50));
      for (const each of [wordy, copy]) expect(each.nearest(queryOf(7), 1)).toMatchObject([{ caseId: 7 }]);
      wordy.dispose();
      copy.dispose();
    });
  });
}

/** Queries about forty subjects: vectors lie near one of forty directions, and words go with them. */
function queryOf(seed: number, { dense = true, words = true } = {}): QueryFeatures {
  const own = sequence(seed + 1);
  const subject = Math.floor(20 * (own() + 1));
  const direction = sequence(1_000_000 + subject);
  const vector = Float32Array.from({ length: DIMENSIONS }, () => direction() + 0.6 * own());
  const length = Math.hypot(...vector);
  const terms = Uint32Array.from(
    new Set([subject, 100 + Math.floor(50 * (own() + 1)), 300 + Math.floor(500 * (own() + 1))]),
  );
  return {
    embedding: dense ? vector.map((value) => value / length) : null,
    terms: words
      ? { terms, weights: Float32Array.of(0.3, 0.5, Math.sqrt(1 - 0.09 - 0.25)) }
      : { terms: new Uint32Array(), weights: new Float32Array() },
  };
}

function similarityOf(a: QueryFeatures, b: QueryFeatures): number {
  const lexical = sparseDot(a.terms, b.terms);
  if (!hasDirection(a.embedding) || !hasDirection(b.embedding)) return lexical;
  return 0.5 * a.embedding.reduce((sum, value, i) => sum + value * b.embedding![i], 0) + 0.5 * lexical;
}

function naive(live: ReadonlyMap<number, QueryFeatures>, asked: QueryFeatures): RecalledCase[] {
  return [...live]
    .map(([caseId, query]) => ({ caseId, similarity: similarityOf(asked, query) }))
    .filter(({ similarity }) => similarity > 0)
    .sort((a, b) => b.similarity - a.similarity || a.caseId - b.caseId);
}
