import type { Kernels } from '../kernels/kernels.ts';
import { randomFor } from '../random.ts';
import { ToolVectors } from '../tool-vectors.ts';

/** Part of the key of the random signs; saved with every learner, because a learner with another matrix is another learner. */
export const PROJECTION_SEED = 1;

/**
 * A random projection of embeddings to p dimensions, Rᵀv with R of ±1/√p (Achlioptas 2003, Database-friendly random
 * projections), for queries and tools alike. Scalar products are kept up to noise of about 1/√p, and a ridge over
 * what is projected costs (p/D)² of one over the whole. The signs are keyed by `PROJECTION_SEED`, D and p.
 */
export class Projection {
  /** Rᵀφ by slot, p dimensions, as far as `refresh` was asked for. */
  readonly tools: ToolVectors;
  readonly #kernels: Kernels;
  readonly #vectors: ToolVectors;
  /** Rᵀ, p rows of D. */
  readonly #matrix: Float32Array;
  readonly #in: Float32Array;
  readonly #out: Float32Array;
  /** Versions of the vectors that were projected. */
  #versions = new Uint32Array(0);

  /** @param dimensions p, 1 … D − 1. */
  constructor(kernels: Kernels, vectors: ToolVectors, dimensions: number) {
    this.#kernels = kernels;
    this.#vectors = vectors;
    this.tools = new ToolVectors(kernels, dimensions);
    const { dimensions: width, stride } = vectors;
    this.#matrix = kernels.allocateFloat32(dimensions * stride);
    this.#in = kernels.allocateFloat32(width);
    this.#out = kernels.allocateFloat32(dimensions);
    const random = randomFor(`projection/${PROJECTION_SEED}/${width}/${dimensions}`);
    const unit = 1 / Math.sqrt(dimensions);
    for (let row = 0; row < dimensions; row++) {
      for (let i = 0; i < width; i++) {
        this.#matrix[row * stride + i] = random.uniform(row * width + i) < 0.5 ? -unit : unit;
      }
    }
  }

  /** Rᵀe; the array belongs to the caller. @throws RangeError when e does not have D dimensions. */
  project(embedding: Float32Array): Float32Array {
    return this.projected(embedding).slice();
  }

  /** Rᵀe; valid until the next one is projected. @throws RangeError when e does not have D dimensions. */
  projected(embedding: Float32Array): Float32Array {
    const { dimensions, stride } = this.#vectors;
    if (embedding.length !== dimensions) {
      throw new RangeError(`the embedding must have ${dimensions} dimensions, got ${embedding.length}`);
    }
    this.#in.set(embedding);
    this.#kernels.scan(this.#matrix, stride, this.tools.dimensions, this.#in, this.#out);
    return this.#out;
  }

  /** Updates `tools` at these slots. @throws RangeError when a slot does not exist. */
  refresh(slots: Iterable<number>): void {
    const vectors = this.#vectors;
    if (this.#versions.length < vectors.capacity) {
      const versions = new Uint32Array(vectors.capacity);
      versions.set(this.#versions);
      this.#versions = versions;
      if (this.tools.capacity < vectors.capacity) this.tools.clear(vectors.capacity - 1);
    }
    for (const slot of slots) {
      const version = vectors.version(slot);
      if (slot >= 0 && slot < vectors.capacity && version === this.#versions[slot]) continue;
      const projected = this.projected(vectors.get(slot));
      this.#versions[slot] = version;
      this.tools.put(slot, projected);
    }
  }

  get sizeInBytes(): number {
    return this.#matrix.byteLength;
  }

  /** Frees the memory. The object must not be used afterwards. */
  free(): void {
    this.tools.free();
    for (const array of [this.#matrix, this.#in, this.#out]) this.#kernels.free(array);
  }
}
