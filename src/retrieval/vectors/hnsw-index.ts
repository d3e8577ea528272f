import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Kernels } from '../../../bandit/kernels/kernels.ts';
import type { ToolVectors } from '../../../bandit/tool-vectors.ts';
import { SlotSet } from '../slot-set.ts';
import { ExactIndex } from './exact-index.ts';
import { buildGraph, type GraphBuildOptions } from './graph-build.ts';
import { PackedVectors } from './packed-vectors.ts';
import { COMPARED, RecallCheck, RecallMonitor, type SearchToCheck } from './recall.ts';
import { ServedGraph } from './served-graph.ts';
import type { IndexReport, VectorHits, VectorIndex } from './vector-index.ts';

export interface HnswIndexOptions extends GraphBuildOptions {
  /** An exact scan of so many vectors is fast: no graph is built for fewer, and so many may be outside of it. */
  readonly exactUpTo?: number;
  /** Pause after a failed build, ms. */
  readonly retryMs?: number;
  /** A message for the log: a graph could not be built, or recall is too low. */
  onNotice(message: string): void;
  /** Another graph serves, or none: searches may give something else. */
  onChange?(): void;
}

const EXACT_UP_TO = 10_000;
const RETRY_MS = 5 * 60_000;
/** With a larger share of dead nodes the graph is built again, because every search visits them. */
const MOST_DEAD = 0.3;
/** A graph that serves fewer than this share of `exactUpTo` is dropped. */
const WORTH_A_GRAPH = 0.5;
/** The graph is asked for so many, because a tool that is far down the list by vector may be the best by words. */
const NEIGHBOURS = 200;
/** Tools whose cosines are compared to find the smallest one. */
const SAMPLE = 64;
/** When more are wanted (because of many exclusions), an exact scan is faster. */
const MOST_NEIGHBOURS = 2_000;
/** Changes that are applied to a new graph in one turn of the event loop: about a millisecond. */
const CHANGES_PER_TURN = 500;

interface Build {
  readonly abort: AbortController;
  /** Slots that were put or removed since the build began. */
  readonly changed: Set<number>;
}

/**
 * Searches with a graph, and compares the query one by one with the vectors that came or changed since the graph was
 * built. It is in one of these states:
 *
 * - **Exact.** There are at most `exactUpTo` vectors, or the first graph is not built yet: every search is an exact scan.
 * - **Graph.** A graph serves. When more than `exactUpTo` vectors are outside of it, or more than 30 % of its nodes are
 *   dead, a new one is built. When fewer than half of `exactUpTo` vectors are left, it is dropped: exact again.
 * - **Alarmed.** A graph is there, but of the searches that are compared with a scan (one in a hundred) it finds too few of
 *   the nearest: exact scans serve until recall is good again or a new graph replaces it.
 * - **Freed.** Nothing may be called.
 *
 * In each of the first three a graph may be being built in a thread; what changes meanwhile is applied to it before it
 * serves. A build that failed is tried again after five minutes.
 */
export class HnswIndex implements VectorIndex {
  readonly #kernels: Kernels;
  readonly #vectors: ToolVectors;
  readonly #options: HnswIndexOptions;
  readonly #exactUpTo: number;
  readonly #exact: ExactIndex;
  readonly #monitor: RecallMonitor;
  /** Live slots whose vector is all zero. They are in no graph. */
  readonly #blank = new SlotSet();
  #served: ServedGraph | null = null;
  /** Serves as soon as the changes of the time of its build are applied. */
  #next: ServedGraph | null = null;
  #build: Build | null = null;
  #check: RecallCheck | null = null;
  #retry: NodeJS.Timeout | null = null;
  #freed = false;

  constructor(kernels: Kernels, vectors: ToolVectors, options: HnswIndexOptions) {
    this.#kernels = kernels;
    this.#vectors = vectors;
    this.#options = options;
    this.#exactUpTo = options.exactUpTo ?? EXACT_UP_TO;
    this.#exact = new ExactIndex(kernels, vectors);
    this.#monitor = new RecallMonitor((alarmed, recall) => {
      options.onChange?.();
      options.onNotice(alarmText(alarmed, recall));
    });
  }

  put(slot: number): void {
    this.#exact.put(slot);
    this.#changed(slot);
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
    this.#changed(slot);
    this.#blank.delete(slot);
    this.#served?.remove(slot);
    this.#buildIfDue();
  }

  search(query: Float32Array, limit: number): VectorHits {
    const served = this.#served;
    if (served === null || limit > MOST_NEIGHBOURS) return this.#exact.search(query);
    const compares = this.#monitor.isDue() && this.#check === null;
    if (this.#monitor.alarmed && !compares) return this.#exact.search(query);
    const slots = served.near(query, Math.max(limit, NEIGHBOURS));
    if (compares) void this.#compare({ query, slots });
    if (this.#monitor.alarmed) return this.#exact.search(query);
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
    this.#check?.free();
    this.#next?.free();
    this.#served?.free();
    this.#exact.free();
  }

  #changed(slot: number): void {
    this.#build?.changed.add(slot);
    this.#check?.forget(slot);
  }

  async #compare(search: SearchToCheck): Promise<void> {
    const check = new RecallCheck(this.#kernels, this.#vectors, this.#exact, search);
    this.#check = check;
    const recall = await check.run();
    // A newer check may have replaced it.
    if (this.#check === check) this.#check = null;
    if (recall !== null) this.#monitor.observe(recall);
  }

  #hits(query: Float32Array, near: number[], served: ServedGraph, limit: number): VectorHits {
    const { values, stride } = this.#vectors;
    const similarity = (slot: number): number => served.cosine(slot) ?? dot(query, values, slot * stride);
    let minimum = served.smallestCosine(query);
    let maximum = -1;
    // When many vectors are the same, the graph may not find the one opposite to the query; a sample bounds the error.
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
    return { slots: Int32Array.from(near), minimum, maximum, similarity, scanned: null };
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
      const next = new ServedGraph(graph, slots, new PackedVectors(this.#kernels, this.#vectors.stride));
      this.#next = next;
      let applied = 0;
      // Later changes are added at the end of the set, so the loop applies them too.
      for (const slot of build.changed) {
        build.changed.delete(slot);
        if (this.#exact.has(slot) && !this.#blank.has(slot)) next.put(slot, this.#vectors.get(slot));
        else next.remove(slot);
        if (++applied % CHANGES_PER_TURN > 0) continue;
        await nextTurn();
        if (this.#freed) return;
      }
      this.#next = null;
      this.#serve(next);
    } catch (error) {
      if (!this.#freed) this.#retryLater(error);
    } finally {
      if (!this.#freed) this.#next?.free();
      this.#next = null;
      this.#build = null;
    }
    // Vectors that were put in the meantime may have made the next build due.
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
    this.#check?.free();
    this.#check = null;
    this.#served?.free();
    this.#served = served;
    this.#options.onChange?.();
    this.#monitor.restart();
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
