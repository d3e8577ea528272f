import type { Kernels } from '../kernels/kernels.ts';
import { type CaseCluster, CLUSTER_ROWS } from './case-cluster.ts';

/** Neither half is less than this share of a cluster. */
const LEAST_SHARE = 1 / 4;
const ROUNDS = 4;

export interface ClusterHalf {
  /** Rows of the cluster that was halved. */
  readonly rows: readonly number[];
  /** Their mean direction: a unit vector, or zeros where they cancel out. */
  readonly centroid: Float32Array;
}

/**
 * Halves a cluster by directions: 2-means on the unit sphere (Dhillon and Modha, “Concept decompositions for large
 * sparse text data using clustering”, Machine Learning 42, 2001), begun with the vector that is least like the mean
 * and the one that is least like that.
 */
export class ClusterHalves {
  private readonly kernels: Kernels;
  private readonly stride: number;
  private readonly centre: Float32Array;
  private readonly cosines: Float32Array;

  constructor(kernels: Kernels, stride: number) {
    this.kernels = kernels;
    this.stride = stride;
    this.centre = kernels.allocateFloat32(stride);
    this.cosines = kernels.allocateFloat32(CLUSTER_ROWS);
  }

  of(cluster: CaseCluster): readonly [ClusterHalf, ClusterHalf] {
    const rows = cluster.ordered();
    let first = cluster.row(this.leastLike(cluster, rows, this.meanOf(cluster, rows)));
    let second = cluster.row(this.leastLike(cluster, rows, first));
    let halves = this.nearerTo(cluster, rows, first, second);
    for (let round = 0; round < ROUNDS; round++) {
      first = this.meanOf(cluster, halves[0]);
      second = this.meanOf(cluster, halves[1]);
      halves = this.nearerTo(cluster, rows, first, second);
    }
    const [a, b] = halves;
    return [
      { rows: a, centroid: this.meanOf(cluster, a) },
      { rows: b, centroid: this.meanOf(cluster, b) },
    ];
  }

  dispose(): void {
    this.kernels.free(this.centre);
    this.kernels.free(this.cosines);
  }

  private leastLike(cluster: CaseCluster, rows: readonly number[], vector: Float32Array): number {
    const cosines = this.compare(cluster, vector);
    return rows.reduce((least, row) => (cosines[row] < cosines[least] ? row : least));
  }

  /** The rows nearer to the first vector and those nearer to the second, as far as both halves are large enough. */
  private nearerTo(
    cluster: CaseCluster,
    rows: readonly number[],
    first: Float32Array,
    second: Float32Array,
  ): readonly [number[], number[]] {
    const margins = this.compare(cluster, first);
    const others = this.compare(cluster, second);
    for (const row of rows) margins[row] -= others[row];
    // Sorting is stable, so that equal margins stay in order of their places.
    const sorted = [...rows].sort((a, b) => margins[b] - margins[a]);
    const least = Math.floor(rows.length * LEAST_SHARE);
    const nearer = sorted.filter((row) => margins[row] > 0).length;
    const cut = Math.min(Math.max(nearer, least), rows.length - least);
    return [sorted.slice(0, cut), sorted.slice(cut)];
  }

  private compare(cluster: CaseCluster, vector: Float32Array): Float32Array {
    this.centre.set(vector);
    this.kernels.scan(cluster.rows, this.stride, cluster.count, this.centre, this.cosines);
    return this.cosines.slice(0, cluster.count);
  }

  private meanOf(cluster: CaseCluster, rows: readonly number[]): Float32Array {
    const { stride } = this;
    const { rows: vectors, places } = cluster;
    const sums = new Float64Array(stride);
    for (const row of [...rows].sort((a, b) => places[a] - places[b])) {
      const start = row * stride;
      for (let i = 0; i < stride; i++) sums[i] += vectors[start + i];
    }
    let squares = 0;
    for (let i = 0; i < stride; i++) squares += sums[i] * sums[i];
    const length = Math.sqrt(squares);
    const mean = new Float32Array(stride);
    if (length > 0) for (let i = 0; i < stride; i++) mean[i] = sums[i] / length;
    return mean;
  }
}
