import type { Kernels } from '../kernels/kernels.ts';
import { CaseCluster, CLUSTER_ROWS } from './case-cluster.ts';
import type { SavedClusters } from './case-index.ts';
import { ClusterHalves } from './cluster-halves.ts';

const INITIAL_CLUSTERS = 16;
const INITIAL_PLACES = 64;
/** A cluster with fewer vectors gives them to the others. */
const LEAST_ROWS = CLUSTER_ROWS / 8;
/** Cosines are told apart in steps of one to so many, to sort them together with the clusters' numbers. */
const STEPS = 2 ** 21;
const NUMBERS = 2 ** 20;
const NONE = -1;

/**
 * The vectors of cases, by direction: each lies in the cluster whose centroid was nearest when it came. A cluster
 * that is full is halved, one that has become small is dissolved; so no call ever has more to do than a scan over
 * the centroids and the work on one cluster, and there is no build. (After Xu and others, “SPFresh: incremental
 * in-place update for billion-scale vector search”, SOSP 2023, without its reassignment of neighbours.)
 */
export class CaseClusters {
  private readonly kernels: Kernels;
  private readonly dimensions: number;
  private readonly stride: number;
  private readonly halves: ClusterHalves;
  private readonly clusters: CaseCluster[] = [];
  private centroids: Float32Array;
  private cosines: Float32Array;
  private readonly rowCosines: Float32Array;
  private readonly vector: Float32Array;
  /** Of the vector of each place: its cluster, −1 for none, and its row there. */
  private clusterOf = new Int32Array(INITIAL_PLACES).fill(NONE);
  private rowOf = new Uint16Array(INITIAL_PLACES);
  private vectors = 0;

  constructor(kernels: Kernels, dimensions: number, stride: number) {
    this.kernels = kernels;
    this.dimensions = dimensions;
    this.stride = stride;
    this.halves = new ClusterHalves(kernels, stride);
    this.centroids = kernels.allocateFloat32(INITIAL_CLUSTERS * stride);
    this.cosines = kernels.allocateFloat32(INITIAL_CLUSTERS);
    this.rowCosines = kernels.allocateFloat32(CLUSTER_ROWS);
    this.vector = kernels.allocateFloat32(stride);
  }

  /** Number of vectors. */
  get size(): number {
    return this.vectors;
  }

  has(place: number): boolean {
    return place < this.clusterOf.length && this.clusterOf[place] !== NONE;
  }

  /** The vector of a place; a view, valid until the next change. */
  get(place: number): Float32Array {
    return this.clusters[this.clusterOf[place]].row(this.rowOf[place]);
  }

  put(place: number, embedding: Float32Array): void {
    this.vector.set(embedding);
    const cluster = this.clusters.length === 0 ? this.add(this.vector) : this.nearest(this.vector);
    this.append(cluster, place, this.vector);
    if (this.clusters[cluster].count === CLUSTER_ROWS) this.halve(cluster);
  }

  remove(place: number): void {
    if (!this.has(place)) return;
    const number = this.clusterOf[place];
    const cluster = this.clusters[number];
    const row = this.rowOf[place];
    cluster.remove(row);
    if (row < cluster.count) this.rowOf[cluster.places[row]] = row;
    this.clusterOf[place] = NONE;
    this.vectors--;
    if (cluster.count >= (this.clusters.length > 1 ? LEAST_ROWS : 1)) return;
    this.drop(number);
    for (const at of cluster.ordered()) {
      this.vectors--;
      this.put(cluster.places[at], cluster.row(at));
    }
    this.kernels.free(cluster.rows);
  }

  /**
   * Visits the vectors of the clusters that are nearest to the query, cluster by cluster, until there were at least
   * `least`. The query is in kernel memory, `stride` long.
   */
  scan(query: Float32Array, least: number, visit: (place: number, cosine: number) => void): void {
    let left = least;
    for (const number of this.nearestFirst(query)) {
      if (left <= 0) return;
      const { rows, places, count } = this.clusters[number];
      const { rowCosines } = this;
      this.kernels.scan(rows, this.stride, count, query, rowCosines);
      for (let at = 0; at < count; at++) visit(places[at], rowCosines[at]);
      left -= count;
    }
  }

  /** The cosine of one place to a query as in `scan`. */
  cosine(place: number, query: Float32Array): number {
    this.kernels.scan(this.get(place), this.stride, 1, query, this.rowCosines);
    return this.rowCosines[0];
  }

  save(places: number): SavedClusters {
    const { dimensions, stride } = this;
    const centroids = new Float32Array(this.clusters.length * dimensions);
    for (let number = 0; number < this.clusters.length; number++) {
      const start = number * stride;
      centroids.set(this.centroids.subarray(start, start + dimensions), number * dimensions);
    }
    const members = new Int32Array(places).fill(NONE);
    members.set(this.clusterOf.subarray(0, places));
    return { centroids, members };
  }

  /** Builds the clusters of a saved index, without any vector yet. */
  loadCentroids(centroids: Float32Array): void {
    for (let start = 0; start < centroids.length; start += this.dimensions) {
      this.vector.set(centroids.subarray(start, start + this.dimensions));
      this.add(this.vector);
    }
  }

  /** Puts a vector where it was. */
  restore(place: number, embedding: Float32Array, cluster: number): void {
    this.vector.set(embedding);
    this.append(cluster, place, this.vector);
  }

  get bytes(): number {
    const { centroids, cosines, clusterOf, rowOf } = this;
    const perCluster = 4 * CLUSTER_ROWS * (this.stride + 1);
    return (
      this.clusters.length * perCluster +
      centroids.byteLength +
      cosines.byteLength +
      clusterOf.byteLength +
      rowOf.byteLength
    );
  }

  dispose(): void {
    for (const { rows } of this.clusters) this.kernels.free(rows);
    for (const array of [this.centroids, this.cosines, this.rowCosines, this.vector])
      this.kernels.free(array);
    this.halves.dispose();
  }

  /** Number of the cluster that is nearest; ties: the lowest. */
  private nearest(query: Float32Array): number {
    this.kernels.scan(this.centroids, this.stride, this.clusters.length, query, this.cosines);
    let nearest = 0;
    for (let number = 1; number < this.clusters.length; number++) {
      if (this.cosines[number] > this.cosines[nearest]) nearest = number;
    }
    return nearest;
  }

  private nearestFirst(query: Float32Array): Float64Array {
    const count = this.clusters.length;
    this.kernels.scan(this.centroids, this.stride, count, query, this.cosines);
    // Numbers sort several times faster than what a function has to compare.
    const keys = new Float64Array(count);
    for (let number = 0; number < count; number++) {
      keys[number] = Math.round((1 - this.cosines[number]) * STEPS) * NUMBERS + number;
    }
    keys.sort();
    for (let at = 0; at < count; at++) keys[at] -= Math.floor(keys[at] / NUMBERS) * NUMBERS;
    return keys;
  }

  private append(cluster: number, place: number, vector: Float32Array): void {
    this.reservePlaces(place + 1);
    this.clusterOf[place] = cluster;
    this.rowOf[place] = this.clusters[cluster].append(place, vector);
    this.vectors++;
  }

  private add(centroid: Float32Array): number {
    const number = this.clusters.length;
    this.reserveClusters(number + 1);
    this.clusters.push(new CaseCluster(this.kernels, this.stride));
    this.centroids.set(centroid, number * this.stride);
    return number;
  }

  /** The first half keeps the number, the second one gets a new one. */
  private halve(number: number): void {
    const cluster = this.clusters[number];
    const [first, second] = this.halves.of(cluster);
    this.vectors -= cluster.count;
    this.clusters[number] = new CaseCluster(this.kernels, this.stride);
    this.centroids.set(first.centroid, number * this.stride);
    for (const row of first.rows) this.append(number, cluster.places[row], cluster.row(row));
    const added = this.add(second.centroid);
    for (const row of second.rows) this.append(added, cluster.places[row], cluster.row(row));
    this.kernels.free(cluster.rows);
  }

  /** The last cluster takes the number of this one. */
  private drop(number: number): void {
    const last = this.clusters.pop()!;
    const from = this.clusters.length;
    if (number === from) return;
    this.clusters[number] = last;
    const { stride } = this;
    this.centroids.copyWithin(number * stride, from * stride, (from + 1) * stride);
    for (let at = 0; at < last.count; at++) this.clusterOf[last.places[at]] = number;
  }

  private reserveClusters(clusters: number): void {
    const room = this.cosines.length;
    if (clusters <= room) return;
    const centroids = this.kernels.allocateFloat32(2 * room * this.stride);
    centroids.set(this.centroids);
    this.kernels.free(this.centroids);
    this.kernels.free(this.cosines);
    this.centroids = centroids;
    this.cosines = this.kernels.allocateFloat32(2 * room);
  }

  private reservePlaces(places: number): void {
    let room = this.clusterOf.length;
    if (places <= room) return;
    while (room < places) room *= 2;
    const clusterOf = new Int32Array(room).fill(NONE);
    clusterOf.set(this.clusterOf);
    this.clusterOf = clusterOf;
    const rowOf = new Uint16Array(room);
    rowOf.set(this.rowOf);
    this.rowOf = rowOf;
  }
}
