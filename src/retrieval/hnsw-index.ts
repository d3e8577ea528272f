import type { Kernels } from '../../bandit/kernels/kernels.ts';
import type { ToolVectors } from '../../bandit/tool-vectors.ts';
import { ExactIndex } from './exact-index.ts';
import { buildGraph, type GraphBuildOptions } from './graph-build.ts';
import type { HnswGraph } from './hnsw-graph.ts';
import { PackedVectors } from './packed-vectors.ts';
import { COMPARED, RecallMonitor, recallOf } from './recall-monitor.ts';
import { SlotSet } from './slot-set.ts';
import type { IndexReport, VectorHits, VectorIndex } from './vector-index.ts';

export interface HnswIndexOptions extends GraphBuildOptions {
  /** So many vectors an exact scan compares in no time: no graph for fewer, and so many may be outside of it. */
  readonly exactUpTo?: number;
  /** Pause after a graph could not be built, ms. */
  readonly retryMs?: number;
  /** Something that whoever runs this will want to know. */
  onNotice(message: string): void;
}

const EXACT_UP_TO = 10_000;
const RETRY_MS = 5 * 60_000;
/** With more dead nodes than this the graph is built anew: they are walked over by every search. */
const MOST_DEAD = 0.3;
/** A graph that serves fewer than this share of `exactUpTo` is dropped. */
const WORTH_A_GRAPH = 0.5;
/** The graph is asked for so many, because words may lift a tool from far down the list. */
const NEIGHBOURS = 200;
/** Tools whose cosines have a say in the smallest one. */
const SAMPLE = 64;
/** Asked for more (a long list of exclusions), an exact scan is the better way. */
const MOST_NEIGHBOURS = 2_000;

/**
 * Compares the query with the tools that a graph finds near it, and with all that came or changed since the graph
 * was built. As long as there are few tools, and until the first graph is there, with every tool. Graphs are built
 * in a thread; the old one serves meanwhile. While recall is too low, exact scans serve.
 */
export class HnswIndex implements VectorIndex {
  readonly #kernels: Kernels;
  readonly #vectors: ToolVectors;
  readonly #options: HnswIndexOptions;
  readonly #exactUpTo: number;
  readonly #exact: ExactIndex;
  readonly #monitor: RecallMonitor;
  /** Live slots whose vector is all zero: near nothing. They stay out of graphs. */
  readonly #blank = new SlotSet();
  #served: ServedGraph | null = null;
  #build: { readonly abort: AbortController; readonly changed: Set<number> } | null = null;
  #retry: NodeJS.Timeout | null = null;
  #freed = false;

  constructor(kernels: Kernels, vectors: ToolVectors, options: HnswIndexOptions) {
    this.#kernels = kernels;
    this.#vectors = vectors;
    this.#options = options;
    this.#exactUpTo = options.exactUpTo ?? EXACT_UP_TO;
    this.#exact = new ExactIndex(kernels, vectors);
    this.#monitor = new RecallMonitor((alarmed, recall) => options.onNotice(alarmText(alarmed, recall)));
  }

  put(slot: number): void {
    this.#exact.put(slot);
    this.#build?.changed.add(slot);
    const vector = this.#vectors.get(slot);
    if (vector.every((value) => value === 0)) {
      this.#blank.add(slot);
      this.#served?.remove(slot);
    } else {
      this.#blank.delete(slot);
      this.#served?.put(slot, vector);
    }
    this.#buildIfDue();
  }

  remove(slot: number): void {
    this.#exact.remove(slot);
    this.#build?.changed.add(slot);
    this.#blank.delete(slot);
    this.#served?.remove(slot);
    this.#buildIfDue();
  }

  search(query: Float32Array, limit: number): VectorHits {
    const served = this.#served;
    if (served === null || limit > MOST_NEIGHBOURS) return this.#exact.search(query);
    const compares = this.#monitor.isDue();
    if (this.#monitor.alarmed && !compares) return this.#exact.search(query);
    const count = Math.max(limit, NEIGHBOURS);
    const slots = served.near(query, count);
    if (compares) {
      const exact = this.#exact.search(query);
      this.#monitor.observe(recallOf(slots, exact.slots, exact.similarity));
      if (this.#monitor.alarmed) return exact;
    }
    return this.#hits(query, slots, served, limit);
  }

  report(): IndexReport {
    return {
      kind: this.#served === null ? 'exact' : 'graph',
      building: this.#build !== null,
      outside: this.#served?.outside ?? 0,
      dead: this.#served?.dead ?? 0,
      recall: this.#monitor.recall,
      alarmed: this.#monitor.alarmed,
    };
  }

  free(): void {
    this.#freed = true;
    if (this.#retry !== null) clearTimeout(this.#retry);
    this.#build?.abort.abort();
    this.#served?.free();
    this.#exact.free();
  }

  #hits(query: Float32Array, near: number[], served: ServedGraph, limit: number): VectorHits {
    const { values, stride } = this.#vectors;
    const similarity = (slot: number): number => served.cosine(slot) ?? dot(query, values, slot * stride);
    let minimum = served.smallestCosine(query);
    let maximum = -1;
    // Where many vectors are the same the graph may not lead to the opposite of the query; a sample always does.
    const all = this.#exact.slots();
    for (let at = 0; at < all.length; at += Math.ceil(all.length / SAMPLE)) {
      minimum = Math.min(minimum, similarity(all[at]));
    }
    for (const slot of near) {
      const cosine = similarity(slot);
      if (cosine < minimum) minimum = cosine;
      if (cosine > maximum) maximum = cosine;
    }
    if (this.#blank.size > 0) {
      minimum = Math.min(minimum, 0);
      maximum = Math.max(maximum, 0);
      if (near.length < limit) near.push(...this.#blank.list().subarray(0, limit - near.length));
    }
    return { slots: Int32Array.from(near), minimum, maximum, similarity };
  }

  #buildIfDue(): void {
    if (this.#build !== null || this.#retry !== null || this.#freed) return;
    const size = this.#exact.size - this.#blank.size;
    if (size <= this.#exactUpTo) {
      if (size < this.#exactUpTo * WORTH_A_GRAPH) this.#serve(null);
      return;
    }
    const served = this.#served;
    const isDue =
      served === null || served.outside > this.#exactUpTo || served.dead > served.graph.size * MOST_DEAD;
    if (isDue) void this.#buildAnew();
  }

  async #buildAnew(): Promise<void> {
    const build = { abort: new AbortController(), changed: new Set<number>() };
    this.#build = build;
    const slots = this.#exact.slots().filter((slot) => !this.#blank.has(slot));
    try {
      const graph = await buildGraph(slots, this.#vectors, this.#options, build.abort.signal);
      if (this.#freed) return;
      const served = new ServedGraph(graph, slots, new PackedVectors(this.#kernels, this.#vectors.stride));
      for (const slot of build.changed) {
        if (this.#exact.has(slot) && !this.#blank.has(slot)) served.put(slot, this.#vectors.get(slot));
        else served.remove(slot);
      }
      this.#serve(served);
    } catch (error) {
      if (!this.#freed) this.#retryLater(error);
    } finally {
      this.#build = null;
    }
    // What was put in the meantime may have made the next one due.
    this.#buildIfDue();
  }

  #retryLater(error: unknown): void {
    const delay = this.#options.retryMs ?? RETRY_MS;
    this.#options.onNotice(
      `the vector index could not be built (${String(error)}): what is not in it is compared one by one`,
    );
    this.#retry = setTimeout(() => {
      this.#retry = null;
      this.#buildIfDue();
    }, delay).unref();
  }

  #serve(served: ServedGraph | null): void {
    if (served === null && this.#served === null) return;
    this.#served?.free();
    this.#served = served;
    this.#monitor.restart();
  }
}

/** A finished graph, what has died in it, and what is not in it. */
class ServedGraph {
  readonly graph: HnswGraph;
  readonly #slots: Int32Array;
  /** Label of each slot that is alive in the graph. */
  readonly #labels = new Map<number, number>();
  readonly #outside: PackedVectors;
  /** Of the graph's part of what `near` found last. */
  #cosines: ReadonlyMap<number, number> = new Map();

  constructor(graph: HnswGraph, slots: Int32Array, outside: PackedVectors) {
    this.graph = graph;
    this.#slots = slots;
    this.#outside = outside;
    for (const [label, slot] of slots.entries()) this.#labels.set(slot, label);
  }

  get outside(): number {
    return this.#outside.size;
  }

  get dead(): number {
    return this.graph.size - this.#labels.size;
  }

  put(slot: number, vector: Float32Array): void {
    this.remove(slot);
    this.#outside.put(slot, vector);
  }

  remove(slot: number): void {
    this.#outside.remove(slot);
    const label = this.#labels.get(slot);
    if (label === undefined) return;
    this.#labels.delete(slot);
    this.graph.bury(label);
  }

  /** The nearest of the graph, then everything outside of it. */
  near(query: Float32Array, count: number): number[] {
    this.#outside.scan(query);
    const { neighbors, distances } = this.graph.nearest(query, count);
    const slots = neighbors.map((label) => this.#slots[label]);
    this.#cosines = new Map(slots.map((slot, at) => [slot, 1 - distances[at]]));
    for (const slot of this.#outside.slots()) slots.push(slot);
    return slots;
  }

  smallestCosine(query: Float32Array): number {
    return this.graph.smallestCosine(query);
  }

  /** Of a slot that the last `near` found; undefined for all others. */
  cosine(slot: number): number | undefined {
    return this.#cosines.get(slot) ?? (this.#outside.has(slot) ? this.#outside.cosine(slot) : undefined);
  }

  free(): void {
    this.#outside.free();
  }
}

function dot(query: Float32Array, values: Float32Array, start: number): number {
  let sum = 0;
  for (let at = 0; at < query.length; at++) sum += query[at] * values[start + at];
  return sum;
}

function alarmText(alarmed: boolean, recall: number): string {
  return alarmed
    ? `the vector index finds only ${Math.round(recall * 100)} % of the 50 nearest tools: exact scans serve for now`
    : `the vector index finds the nearest ${COMPARED} tools again`;
}
