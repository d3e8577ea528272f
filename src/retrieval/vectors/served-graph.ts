import type { HnswGraph } from './hnsw-graph.ts';
import type { PackedVectors } from './packed-vectors.ts';

/** A finished graph, with the vectors that are outside of it, and the number of its nodes that are dead. */
export class ServedGraph {
  readonly graph: HnswGraph;
  /** Slot of each label. */
  readonly #slots: Int32Array;
  /** Label of each slot that is live in the graph, plus one; 0 for all others. */
  readonly #labels: Int32Array;
  readonly #outside: PackedVectors;
  #alive: number;
  /** Cosines of the vectors that the last `near` found in the graph. */
  #cosines: ReadonlyMap<number, number> = new Map();

  /** @param slots whose vectors are in the graph, in the order of its labels. */
  constructor(graph: HnswGraph, slots: Int32Array, outside: PackedVectors) {
    this.graph = graph;
    this.#slots = slots;
    this.#outside = outside;
    this.#alive = slots.length;
    this.#labels = new Int32Array(slots.reduce((most, slot) => Math.max(most, slot), 0) + 1);
    for (let label = 0; label < slots.length; label++) this.#labels[slots[label]] = label + 1;
  }

  /** Number of live vectors that are not in the graph. */
  get outside(): number {
    return this.#outside.size;
  }

  /** Number of vectors of the graph that are not live any more. */
  get dead(): number {
    return this.graph.size - this.#alive;
  }

  put(slot: number, vector: Float32Array): void {
    this.remove(slot);
    this.#outside.put(slot, vector);
  }

  remove(slot: number): void {
    this.#outside.remove(slot);
    const label = this.#labels[slot] ?? 0;
    if (label === 0) return;
    this.#labels[slot] = 0;
    this.#alive--;
    this.graph.bury(label - 1);
  }

  /** Returns the nearest `count` of the graph, then those outside of it. */
  near(query: Float32Array, count: number): number[] {
    const { neighbors, distances } = this.graph.nearest(query, count);
    const slots = neighbors.map((label) => this.#slots[label]);
    this.#cosines = new Map(slots.map((slot, at) => [slot, 1 - distances[at]]));
    for (const slot of this.#outside.nearest(query, count)) slots.push(slot);
    return slots;
  }

  /** Returns about the smallest cosine of all vectors with the query of the last `near`. */
  smallestCosine(query: Float32Array): number {
    return Math.min(this.graph.smallestCosine(query), this.#outside.smallestCosine);
  }

  /** Returns the cosine of a slot that the last `near` found or that is outside of the graph; undefined for all others. */
  cosine(slot: number): number | undefined {
    return this.#cosines.get(slot) ?? (this.#outside.has(slot) ? this.#outside.cosine(slot) : undefined);
  }

  free(): void {
    this.#outside.free();
  }
}
