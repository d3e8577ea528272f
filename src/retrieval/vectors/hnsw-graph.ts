/**
 * The part of hnswlib-node (3.0.0) that is used here. It is declared by hand, because the package is optional, and the code
 * has to compile without it.
 */
export interface GraphLibrary {
  readonly HierarchicalNSW: new (space: 'ip', dimensions: number) => NativeGraph;
}

export interface NearestLabels {
  readonly neighbors: number[];
  readonly distances: number[];
}

interface NativeGraph {
  initIndex(options: { maxElements: number; m: number; efConstruction: number; randomSeed: number }): void;
  addPoint(point: number[], label: number): void;
  markDelete(label: number): void;
  searchKnn(query: number[], count: number): NearestLabels;
  setEf(ef: number): void;
  writeIndexSync(file: string): void;
  readIndex(file: string): Promise<boolean>;
}

/** Not a literal, so that neither compiler nor bundler looks for the package. */
const LIBRARY: string = 'hnswlib-node';

/** Loads hnswlib-node. @throws Error when the package is not installed, or not built for this machine. */
export async function loadGraphLibrary(): Promise<GraphLibrary> {
  const { default: library } = (await import(LIBRARY)) as { default: GraphLibrary };
  return library;
}

/** Neighbours per node and width of the search while building: what hnswlib's documentation recommends. */
const M = 16;
const EF_CONSTRUCTION = 200;
/** Smallest width of a search: on 100,000 clustered vectors the recall of 50 is above .99. */
const EF = 200;
/** Width of the search for the farthest vector, which may be approximate. */
const EF_FARTHEST = 32;

/**
 * Keeps unit vectors in a hierarchical navigable small-world graph (Malkov & Yashunin 2018), labelled 0, 1, 2 … in the order
 * in which they were added. It is built once, in a thread, and then read by another. Nothing is added afterwards, because a
 * label that is used again corrupts the graph (hnswlib pull request 487), and adding a vector blocks the event loop for a
 * millisecond.
 */
export class HnswGraph {
  readonly size: number;
  readonly #native: NativeGraph;
  readonly #dimensions: number;
  #added = 0;

  private constructor(native: NativeGraph, dimensions: number, size: number) {
    this.#native = native;
    this.#dimensions = dimensions;
    this.size = size;
  }

  /** Returns an empty graph with room for exactly `size` vectors. */
  static create(library: GraphLibrary, dimensions: number, size: number): HnswGraph {
    const native = new library.HierarchicalNSW('ip', dimensions);
    native.initIndex({ maxElements: size, m: M, efConstruction: EF_CONSTRUCTION, randomSeed: 100 });
    return new HnswGraph(native, dimensions, size);
  }

  /** Reads what `write` wrote; does not block. @throws Error when the file is cut short. */
  static async read(
    library: GraphLibrary,
    dimensions: number,
    size: number,
    file: string,
  ): Promise<HnswGraph> {
    const native = new library.HierarchicalNSW('ip', dimensions);
    await native.readIndex(file);
    return new HnswGraph(native, dimensions, size);
  }

  /** Adds one vector after the other. @throws RangeError for one that is not finite, which the library would accept. */
  add(vectors: Float32Array): void {
    for (let start = 0; start < vectors.length; start += this.#dimensions) {
      const vector = Array.from(vectors.subarray(start, start + this.#dimensions));
      if (!vector.every(Number.isFinite)) throw new RangeError(`vector ${this.#added} is not finite`);
      this.#native.addPoint(vector, this.#added++);
    }
  }

  write(file: string): void {
    this.#native.writeIndexSync(file);
  }

  /** Takes a vector out of all searches. Call it once per label: the library throws the second time. */
  bury(label: number): void {
    this.#native.markDelete(label);
  }

  /** Returns the nearest `count` vectors that are not buried, or all if there are fewer, with their distances (1 − cosine). */
  nearest(query: Float32Array, count: number): NearestLabels {
    this.#native.setEf(Math.max(EF, count));
    return this.#native.searchKnn(Array.from(query), Math.min(count, this.size));
  }

  /** Returns about the smallest cosine: that of the vector nearest to the opposite of the query. 1 if all are buried. */
  smallestCosine(query: Float32Array): number {
    this.#native.setEf(EF_FARTHEST);
    const opposite = Array.from(query, (value) => -value);
    const [distance] = this.#native.searchKnn(opposite, 1).distances;
    return distance === undefined ? 1 : distance - 1;
  }
}
