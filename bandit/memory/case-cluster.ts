import type { Kernels } from '../kernels/kernels.ts';

/** Most vectors of one cluster. */
export const CLUSTER_ROWS = 256;

/** Vectors that point in similar directions, row after row, so that one scan compares them all. */
export class CaseCluster {
  /** Kernel memory. */
  readonly rows: Float32Array;
  /** Whose vector each row is. */
  readonly places = new Int32Array(CLUSTER_ROWS);
  count = 0;
  private readonly stride: number;

  constructor(kernels: Kernels, stride: number) {
    this.stride = stride;
    this.rows = kernels.allocateFloat32(CLUSTER_ROWS * stride);
  }

  row(at: number): Float32Array {
    return this.rows.subarray(at * this.stride, (at + 1) * this.stride);
  }

  /** Answers the row. */
  append(place: number, vector: Float32Array): number {
    const at = this.count++;
    this.rows.set(vector, at * this.stride);
    this.places[at] = place;
    return at;
  }

  /** The last row moves to this one. */
  remove(at: number): void {
    const last = --this.count;
    if (at === last) return;
    this.rows.copyWithin(at * this.stride, last * this.stride, (last + 1) * this.stride);
    this.places[at] = this.places[last];
  }

  /** All rows, in order of their places: whatever is made of them depends on the members alone. */
  ordered(): number[] {
    return Array.from({ length: this.count }, (_, at) => at).sort((a, b) => this.places[a] - this.places[b]);
  }
}
