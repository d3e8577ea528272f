import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { randomFor } from '../../bandit/random.ts';
import { ToolVectors } from '../../bandit/tool-vectors.ts';
import { tokenise } from '../../src/retrieval/tokenise.ts';
import { ToolIndex } from '../../src/retrieval/tool-index.ts';
import { ExactIndex } from '../../src/retrieval/vectors/exact-index.ts';
import { type GraphLibrary, loadGraphLibrary } from '../../src/retrieval/vectors/hnsw-graph.ts';
import { HnswIndex } from '../../src/retrieval/vectors/hnsw-index.ts';
import { BOTH } from '../bandit/kernels/both-kernels.ts';
import { createTypescriptKernels } from '../bandit/kernels/typescript-kernels.ts';
import { vectorIndexContract } from '../contracts/vector-index.contract.ts';

const library = await loadGraphLibrary().catch(() => null);
const folder = mkdtempSync(join(tmpdir(), 'bandolier-graphs-'));
afterAll(() => rmSync(folder, { recursive: true }));
if (library === null)
  it.skip('needs hnswlib-node, which could not be built on this machine', () => undefined);

describe.skipIf(library === null)('with hnswlib-node', () => {
  const options = { library: library as GraphLibrary, folder, onNotice: () => undefined };
  for (const [name, kernels] of BOTH) {
    vectorIndexContract(`HnswIndex on ${name} kernels, few tools`, kernels(), {
      create: (own, vectors) => new HnswIndex(own, vectors, options),
      exact: true,
    });
  }

  const DIMENSIONS = 24;
  const kernels = createTypescriptKernels();
  const random = randomFor('hnsw-index.test');
  let draws = 0;
  const draw = (): number => random.uniform(draws++);
  const notices: string[] = [];
  let vectors: ToolVectors;
  let index: HnswIndex;
  let exact: ExactIndex;

  const unit = (): Float32Array => {
    // Around a few centres, as the texts of tools are.
    const centre = Math.floor(draw() * 12);
    const values = Float32Array.from(
      { length: DIMENSIONS },
      (_, at) => Math.sin((centre + 1) * (at + 1)) + draw() - 0.5,
    );
    const length = Math.hypot(...values);
    return values.map((value) => value / length);
  };
  const put = (slot: number, vector = unit()): void => {
    vectors.put(slot, vector);
    index.put(slot);
    exact.put(slot);
  };
  const remove = (slot: number): void => {
    index.remove(slot);
    exact.remove(slot);
  };
  const built = () =>
    vi.waitFor(
      () => expect([index.report(), notices]).toMatchObject([{ kind: 'graph', building: false }, notices]),
      {
        timeout: 30_000,
        interval: 5,
      },
    );
  /** Recall@10 over some queries; every hit must be live and carry its true cosine. */
  const recall = (queries = 30): number => {
    let found = 0;
    for (let query = 0; query < queries; query++) {
      const vector = unit();
      const truth = exact.search(vector);
      const cosines = [...truth.slots].map(truth.similarity).sort((a, b) => b - a);
      const tenth = cosines[9];
      const hits = index.search(vector, 10);
      expect(new Set(hits.slots).size).toBe(hits.slots.length);
      expect(hits.maximum).toBeCloseTo(cosines[0], 5);
      expect(Math.abs(hits.minimum - truth.minimum)).toBeLessThan(0.05);
      for (const slot of hits.slots) {
        expect(exact.has(slot)).toBe(true);
        expect(hits.similarity(slot)).toBeCloseTo(truth.similarity(slot), 5);
      }
      found += [...hits.slots].filter((slot) => truth.similarity(slot) >= tenth - 1e-6).length;
    }
    return found / (10 * queries);
  };

  beforeEach(() => {
    notices.length = 0;
    vectors = new ToolVectors(kernels, DIMENSIONS);
    exact = new ExactIndex(kernels, vectors);
    index = new HnswIndex(kernels, vectors, {
      ...options,
      exactUpTo: 300,
      onNotice: (message) => notices.push(message),
    });
  });
  afterEach(async () => {
    index.free();
    exact.free();
    vectors.free();
    expect(kernels.allocatedBytes).toBe(0);
    await vi.waitFor(() => expect(readdirSync(folder)).toEqual([]), { timeout: 20_000 });
  });

  it('takes over from the exact scan when there are many tools, and hands back when there are few', async () => {
    for (let slot = 0; slot < 300; slot++) put(slot);
    expect(index.report()).toMatchObject({ kind: 'exact', building: false });
    put(300);
    expect(index.report()).toMatchObject({ kind: 'exact', building: true });
    expect(recall()).toBe(1);
    await built();
    expect(recall()).toBeGreaterThan(0.97);
    for (let slot = 0; slot < 152; slot++) remove(slot);
    expect(index.report().kind).toBe('exact');
    expect(recall()).toBe(1);
  });

  it('knows every change at once: before, while and after a graph is built', async () => {
    for (let slot = 0; slot < 400; slot++) put(slot);
    // These are under way to the thread, or there already.
    for (let slot = 0; slot < 400; slot += 7) put(slot);
    for (let slot = 3; slot < 400; slot += 11) remove(slot);
    await built();
    expect(recall()).toBeGreaterThan(0.97);
    for (let slot = 1; slot < 300; slot += 5) put(slot);
    for (let slot = 2; slot < 300; slot += 9) remove(slot);
    for (let slot = 600; slot < 640; slot++) put(slot);
    expect(recall()).toBeGreaterThan(0.97);
    const vector = unit();
    put(5, vector);
    put(5, vector);
    expect(index.search(vector, 1).similarity(5)).toBeCloseTo(1, 5);
    expect([...index.search(vector, 1).slots]).toContain(5);
    remove(5);
    expect([...index.search(vector, 1).slots]).not.toContain(5);
  });

  it('builds the next graph when much is dead, and serves the old one meanwhile', async () => {
    for (let slot = 0; slot < 1_000; slot++) put(slot);
    await vi.waitFor(() => expect(index.report()).toMatchObject({ building: false, outside: 0, dead: 0 }), {
      timeout: 30_000,
    });
    for (let slot = 0; slot < 299; slot++) remove(slot);
    expect(index.report()).toMatchObject({ kind: 'graph', building: false, dead: 299 });
    for (let slot = 299; slot < 320; slot++) remove(slot);
    expect(index.report()).toMatchObject({ kind: 'graph', building: true });
    expect(recall()).toBeGreaterThan(0.97);
    await built();
    expect(index.report().dead).toBeLessThan(30);
    expect(recall()).toBeGreaterThan(0.97);
  });

  it('keeps vectors of zeros out of the graph and nevertheless knows them', async () => {
    for (let slot = 0; slot < 50; slot++) put(slot, new Float32Array(DIMENSIONS));
    for (let slot = 50; slot < 400; slot++) put(slot);
    await built();
    const query = unit();
    expect(index.search(query, 10).similarity(3)).toBe(0);
    put(3);
    put(60, new Float32Array(DIMENSIONS));
    expect(index.search(query, 10).similarity(60)).toBe(0);
    expect(index.search(query, 399).slots.length).toBeGreaterThanOrEqual(399);
  });

  it('compares one search in a hundred, tells when too little is found, and scans then', async () => {
    // Finds every other one only, until it is mended.
    let forgets = true;
    class Forgetful extends options.library.HierarchicalNSW {
      override searchKnn(query: number[], count: number) {
        const { neighbors, distances } = super.searchKnn(query, count);
        return { distances, neighbors: neighbors.filter((_, at) => !forgets || at % 2 === 0) };
      }
    }
    index.free();
    index = new HnswIndex(kernels, vectors, {
      ...options,
      library: { HierarchicalNSW: Forgetful },
      exactUpTo: 300,
      onNotice: (message) => notices.push(message),
    });
    for (let slot = 0; slot < 600; slot++) put(slot);
    await built();
    const searches = async (count: number): Promise<void> => {
      for (let search = 0; search < count; search++) {
        index.search(unit(), 50);
        await nextTurn();
      }
    };
    await searches(902);
    expect(index.report()).toMatchObject({ kind: 'graph', alarmed: true });
    expect(index.report().recall).toBeLessThan(0.95);
    expect(notices).toEqual([
      expect.stringMatching(/finds only \d+ % of the 50 nearest tools: exact scans serve/),
    ]);
    expect(index.search(unit(), 50).slots).toHaveLength(600);
    forgets = false;
    await searches(5_000);
    expect(index.report().alarmed).toBe(false);
    expect(notices[1]).toMatch(/finds the nearest 50 tools again/);
    expect(index.search(unit(), 50).slots.length).toBeLessThan(600);
  });

  it('takes a new graph over little by little, with all that changed meanwhile', async () => {
    let turn = 0;
    let counting = true;
    const count = (): void => {
      turn++;
      if (counting) setImmediate(count);
    };
    count();
    const buried = new Map<number, number>();
    const last = unit();
    const changeAgain = (): void => {
      put(1, last);
      remove(2);
    };
    class Counting extends options.library.HierarchicalNSW {
      override markDelete(label: number): void {
        // When the first lot is through.
        if (buried.size === 0) queueMicrotask(changeAgain);
        buried.set(turn, (buried.get(turn) ?? 0) + 1);
        super.markDelete(label);
      }
    }
    index.free();
    index = new HnswIndex(kernels, vectors, {
      ...options,
      library: { HierarchicalNSW: Counting },
      exactUpTo: 1_599,
      onNotice: (message) => notices.push(message),
    });
    for (let slot = 0; slot < 1_600; slot++) put(slot);
    for (let slot = 0; slot < 1_400; slot++) slot % 3 === 0 ? remove(slot) : put(slot);
    expect(index.report()).toMatchObject({ kind: 'exact', building: true });
    await built();
    counting = false;
    const lots = [...buried.values()];
    expect(lots.reduce((sum, one) => sum + one)).toBe(1_400);
    expect(Math.max(...lots)).toBeLessThanOrEqual(500);
    expect(index.search(last, 10).similarity(1)).toBeCloseTo(1, 5);
    expect([...index.search(last, 10).slots]).not.toContain(2);
    expect(recall()).toBeGreaterThan(0.97);
  });

  it('can be given up in the middle of a comparison', async () => {
    for (let slot = 0; slot < 400; slot++) put(slot);
    await built();
    index.search(unit(), 10); // the first one is compared
  });

  it('goes on with exact scans when a graph cannot be built, says so, and tries again', async () => {
    index.free();
    const blocked = join(folder, 'blocked');
    writeFileSync(blocked, 'a file where a folder should be');
    index = new HnswIndex(kernels, vectors, {
      ...options,
      folder: blocked,
      exactUpTo: 300,
      retryMs: 1,
      onNotice: (message) => notices.push(message),
    });
    for (let slot = 0; slot < 400; slot++) put(slot);
    await vi.waitFor(() => expect(notices.length).toBeGreaterThan(1), { timeout: 20_000 });
    expect(notices[0]).toMatch(/could not be built .* compared one by one/);
    expect(index.report().kind).toBe('exact');
    expect(recall()).toBe(1);
    rmSync(blocked);
    await built();
    rmSync(blocked, { recursive: true });
  });

  it('lets a ToolIndex lose nothing to exclusions, and find what only words find', async () => {
    const own = new ToolVectors(kernels, DIMENSIONS);
    const tools = new ToolIndex(kernels, (k, v) => new HnswIndex(k, v, { ...options, exactUpTo: 300 }));
    tools.reset(own);
    const query = unit();
    const opposite = query.map((value) => -value);
    for (let slot = 0; slot < 900; slot++) {
      own.put(slot, slot < 800 ? query : slot === 851 ? opposite : unit());
      const description = slot === 850 ? 'the zeppelin' : 'a thing';
      tools.put({ slot, tool: { name: `t${slot}`, description, inputSchema: {} } });
    }
    await vi.waitFor(() => expect(tools.report()).toMatchObject({ kind: 'graph', building: false }), {
      timeout: 30_000,
    });
    const tokens = tokenise('zeppelin');
    const found = tools.search({ embedding: query, tokens, limit: 50 });
    expect(found.candidates.base[1]).toBeGreaterThan(0.4);
    expect([...found.candidates.slots]).toContain(850);
    const exclude = new Set(Array.from({ length: 800 }, (_, slot) => slot));
    const rest = tools.search({ embedding: query, tokens: tokenise(''), limit: 50, exclude, pin: [850] });
    expect(rest.candidates.slots.length).toBeGreaterThanOrEqual(50);
    tools.free();
    own.free();
  });
});
