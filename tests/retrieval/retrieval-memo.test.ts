import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Kernels } from '../../bandit/kernels/kernels.ts';
import type { Recall } from '../../bandit/policy.ts';
import { ToolVectors } from '../../bandit/tool-vectors.ts';
import { RetrievalMemo } from '../../src/retrieval/retrieval-memo.ts';
import { SearchedTexts } from '../../src/retrieval/searched-texts.ts';
import { tokenise } from '../../src/retrieval/tokenise.ts';
import { type CreateVectorIndex, ToolIndex } from '../../src/retrieval/tool-index.ts';
import { ExactIndex } from '../../src/retrieval/vectors/exact-index.ts';
import type { VectorIndex } from '../../src/retrieval/vectors/vector-index.ts';
import { createTypescriptKernels } from '../bandit/kernels/typescript-kernels.ts';

const DIMENSIONS = 6;
const SLOTS = 130;

/** Finds the nearest so many alone, as a graph does, until it says that it finds others from now on. */
class PartialIndex implements VectorIndex {
  readonly #exact: ExactIndex;
  readonly #onChange: () => void;
  found = 20;

  constructor(kernels: Kernels, vectors: ToolVectors, onChange: () => void) {
    this.#exact = new ExactIndex(kernels, vectors);
    this.#onChange = onChange;
  }

  put(slot: number): void {
    this.#exact.put(slot);
  }

  remove(slot: number): void {
    this.#exact.remove(slot);
  }

  search(query: Float32Array): ReturnType<VectorIndex['search']> {
    const hits = this.#exact.search(query);
    const nearest = [...hits.slots].sort((a, b) => hits.similarity(b) - hits.similarity(a) || a - b);
    return { ...hits, slots: Int32Array.from(nearest.slice(0, this.found)) };
  }

  find(count: number): void {
    this.found = count;
    this.#onChange();
  }

  report(): ReturnType<VectorIndex['report']> {
    return this.#exact.report();
  }

  free(): void {
    this.#exact.free();
  }
}

const partials: PartialIndex[] = [];
const INDEXES: Readonly<Record<string, CreateVectorIndex>> = {
  'all cosines': (kernels, vectors) => new ExactIndex(kernels, vectors),
  'codes first': (kernels, vectors) => new ExactIndex(kernels, vectors, { roughFrom: 0 }),
  'the nearest alone': (kernels, vectors, onChange) => {
    partials.push(new PartialIndex(kernels, vectors, onChange));
    return partials.at(-1)!;
  },
};

const vector = fc
  .array(fc.integer({ min: -9, max: 9 }), { minLength: DIMENSIONS, maxLength: DIMENSIONS })
  .map((values) => Float32Array.from(values, (value) => value / (Math.hypot(...values) || 1)));
const words = fc
  .array(fc.constantFrom('mail', 'send', 'file', 'read', 'bank', 'city'), { maxLength: 5 })
  .map((some) => some.join(' '));
const searched = fc.record({ text: words, embedding: vector });
const question = fc.record({ whole: searched, parts: fc.array(searched, { maxLength: 2 }) });
const slot = fc.nat(SLOTS - 1);
const slots = fc.uniqueArray(slot, { maxLength: 6 });
const change = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('put' as const), slot, text: words, vector }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('remove' as const), slot }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('vectors' as const), seed: fc.nat() }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('graph' as const), found: fc.integer({ min: 1, max: SLOTS }) }),
  },
);
const search = fc.record({
  kind: fc.constant('search' as const),
  asked: fc.nat(2),
  limit: fc.constantFrom(0, 1, 10, 50, 80, 90),
  exclude: fc.oneof(
    slots,
    fc.constant(Array.from({ length: 60 }, (_, at) => 2 * at)),
    fc.constant([...Array(SLOTS).keys()]),
  ),
  pin: slots,
  recalled: slots,
  reranked: slots,
});
const steps = fc.array(fc.oneof({ weight: 3, arbitrary: search }, { weight: 1, arbitrary: change }), {
  minLength: 5,
  maxLength: 25,
});

/** Vectors of all slots that depend on a seed. */
function fill(vectors: ToolVectors, seed: number): void {
  for (let at = 0; at < SLOTS; at++) {
    vectors.put(
      at,
      Float32Array.from({ length: DIMENSIONS }, (_, axis) => Math.sin(seed + at * (axis + 1))),
    );
  }
}

function recallOf(recalled: readonly number[]): Recall {
  const column = Float64Array.from(recalled, (_, at) => 1 + (at % 3));
  return {
    slots: Int32Array.from(recalled),
    votes: column,
    nearest: column,
    taught: { slots: new Int32Array(0), values: new Float64Array(0) },
  } as unknown as Recall;
}

describe.each(Object.entries(INDEXES))(
  'A search with what earlier ones found, of an index with %s',
  (_, create) => {
    it('finds what one without it finds, with more texts and uses as well, to the last bit, however the tools change in between', () => {
      fc.assert(
        fc.property(fc.array(question, { minLength: 3, maxLength: 3 }), steps, (questions, all) => {
          const kernels = createTypescriptKernels();
          let vectors = new ToolVectors(kernels, DIMENSIONS);
          const index = new ToolIndex(kernels, create);
          index.reset(vectors);
          fill(vectors, 0);
          const put = (at: number, description: string): void =>
            index.put({ slot: at, tool: { name: `t${at}`, description, inputSchema: {} } });
          for (let at = 0; at < 110; at++)
            put(at, at % 3 === 0 ? `mail ${at}` : at % 5 === 0 ? 'read file' : 'x');
          const memos = questions.map(() => new RetrievalMemo());
          const known = questions.map(() => new SearchedTexts());
          const textOf = ({ text, embedding }: (typeof questions)[0]['whole']) => ({
            embedding,
            tokens: tokenise(text),
          });
          const texts = questions.map(({ whole, parts }) => ({ ...textOf(whole), parts: parts.map(textOf) }));
          for (const step of all) {
            if (step.kind === 'put') {
              vectors.put(step.slot, step.vector);
              put(step.slot, step.text);
            } else if (step.kind === 'remove') {
              index.remove(step);
            } else if (step.kind === 'vectors') {
              const others = new ToolVectors(kernels, DIMENSIONS);
              fill(others, step.seed);
              index.replaceVectors(others);
              vectors.free();
              vectors = others;
            } else if (step.kind === 'graph') {
              partials.at(-1)?.find(step.found);
            } else {
              const request = {
                ...texts[step.asked],
                limit: step.limit,
                exclude: new Set(step.exclude),
                pin: step.pin,
                recall: recallOf(step.recalled),
                rerank: new Map(step.reranked.map((at) => [at, at % 7])),
              };
              const fresh = index.search(request);
              const searched = known[step.asked];
              expect(index.search({ ...request, searched, memo: memos[step.asked] })).toEqual(fresh);
              const more = {
                ...request,
                parts: [...request.parts, texts[(step.asked + 1) % 3]],
                used: new Map(step.pin.map((at, n) => [at, (n + 1) / 7])),
              };
              expect(index.search({ ...more, searched })).toEqual(index.search(more));
            }
          }
          index.free();
          vectors.free();
          expect(kernels.allocatedBytes).toBe(0);
        }),
        { seed: 17, numRuns: 150 },
      );
    });
  },
);

describe('A memo', () => {
  it('is asked instead of the index, until something is put or removed', () => {
    const kernels = createTypescriptKernels();
    let searches = 0;
    const vectors = new ToolVectors(kernels, DIMENSIONS);
    const index = new ToolIndex(kernels, (own, table) => {
      const exact = new ExactIndex(own, table);
      const counted = exact.search.bind(exact);
      exact.search = (...request) => {
        searches++;
        return counted(...request);
      };
      return exact;
    });
    index.reset(vectors);
    fill(vectors, 0);
    const tool = { name: 't', description: 'mail', inputSchema: {} };
    for (let at = 0; at < 100; at++) index.put({ slot: at, tool });
    const memo = new RetrievalMemo();
    const find = (more: { readonly pin?: readonly number[]; readonly exclude?: ReadonlySet<number> } = {}) =>
      index.search({ embedding: vectors.get(3).slice(), tokens: tokenise('mail'), limit: 50, memo, ...more });
    const first = find();
    find();
    expect(searches).toBe(1);
    const searched = new SearchedTexts();
    const text = { embedding: vectors.get(4).slice(), tokens: tokenise('file') };
    index.search({ ...text, searched, limit: 5 });
    index.search({ ...text, searched, limit: 50, parts: [{ ...text, tokens: tokenise('mail file') }] });
    expect(searches).toBe(3);
    searches = 1;
    // What is proposed in place of others is looked up once, and so is what retrieval does not propose.
    const exclude = new Set(first.candidates.slots.subarray(0, 20));
    const others = find({ exclude });
    find({ exclude });
    expect(searches).toBe(2);
    const seen = [...first.candidates.slots, ...others.candidates.slots];
    const missing = [...Array(100).keys()].filter((at) => !seen.includes(at)).slice(-1);
    find({ pin: missing });
    find({ pin: missing });
    expect(searches).toBe(3);
    // Of the 80 that are listed too few are left.
    find({ exclude: new Set(first.candidates.slots.subarray(0, 40)) });
    expect(searches).toBe(4);
    index.remove({ slot: 99 });
    find();
    expect(searches).toBe(5);
    index.free();
    vectors.free();
  });
});
