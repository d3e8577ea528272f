import type { Kernels } from '../kernels/kernels.ts';
import type { QueryFeatures, RecalledCase } from '../policy.ts';
import { CaseClusters } from './case-clusters.ts';
import {
  type CaseIndex,
  comparableEmbedding,
  EXACT_UP_TO,
  hasDirection,
  queriesOf,
  type SavedQueries,
  strideOf,
} from './case-index.ts';
import { NearestCases } from './nearest-cases.ts';
import { TermPostings } from './term-postings.ts';

const INITIAL_PLACES = 64;
/** Of the cases with embeddings, one in so many is compared, those in the nearest clusters. */
const LOOKED_AT = 16;
/** So many of the best by words are compared as well, wherever they lie. */
const BEST_BY_WORDS = 128;

/**
 * For very many cases: compares the query with those in the clusters nearest to it, and with those that share most
 * words with it. Up to `exactUpTo` cases with embeddings it compares all. Similarities by words are exact, and so is
 * everything for a query without an embedding.
 */
export class ClusteredCaseIndex implements CaseIndex {
  private readonly kernels: Kernels;
  private readonly dimensions: number;
  private readonly exactUpTo: number;
  private readonly clusters: CaseClusters;
  private readonly postings = new TermPostings();
  private readonly query: Float32Array;
  private lexical = new Float64Array(INITIAL_PLACES);
  private places = 0;

  constructor(kernels: Kernels, dimensions: number, exactUpTo: number = EXACT_UP_TO) {
    const stride = strideOf(dimensions);
    this.kernels = kernels;
    this.dimensions = dimensions;
    this.exactUpTo = exactUpTo;
    this.clusters = new CaseClusters(kernels, dimensions, stride);
    this.query = kernels.allocateFloat32(stride);
  }

  /** @throws Error when it was saved by an index without clusters. */
  static load(
    kernels: Kernels,
    dimensions: number,
    saved: SavedQueries,
    exactUpTo?: number,
  ): ClusteredCaseIndex {
    if (saved.clusters === undefined) throw new Error('The saved cases have no clusters.');
    const { centroids, members } = saved.clusters;
    const index = new ClusteredCaseIndex(kernels, dimensions, exactUpTo);
    index.clusters.loadCentroids(centroids);
    for (const [place, { embedding, terms }] of queriesOf(saved, dimensions)) {
      index.addTerms(place, terms);
      if (hasDirection(embedding)) index.clusters.restore(place, embedding, members[place]);
    }
    return index;
  }

  put(place: number, query: QueryFeatures): void {
    const embedding = comparableEmbedding(query, this.dimensions);
    this.addTerms(place, query.terms);
    if (embedding !== null) this.clusters.put(place, embedding);
  }

  remove(place: number): void {
    this.postings.remove(place);
    this.clusters.remove(place);
  }

  nearest(query: QueryFeatures, limit: number): RecalledCase[] {
    const embedding = comparableEmbedding(query, this.dimensions);
    const { clusters, lexical, places } = this;
    const best = new NearestCases(limit);
    lexical.fill(0, 0, places);
    this.postings.addProducts(query.terms, lexical);
    if (embedding === null) {
      for (let place = 0; place < places; place++) best.offer(place, lexical[place]);
      return best.list();
    }
    this.query.set(embedding);
    const least = clusters.size <= this.exactUpTo ? clusters.size : clusters.size / LOOKED_AT;
    clusters.scan(this.query, least, (place, cosine) => {
      best.offer(place, 0.5 * cosine + 0.5 * lexical[place]);
      // Done with; what is left above zero was not compared.
      lexical[place] = 0;
    });
    this.compareByWords(best);
    return best.list();
  }

  save(places: number): SavedQueries {
    const { clusters, dimensions } = this;
    const embeddings = new Float32Array(places * dimensions);
    for (let place = 0; place < places; place++) {
      if (clusters.has(place))
        embeddings.set(clusters.get(place).subarray(0, dimensions), place * dimensions);
    }
    return { embeddings, ...this.postings.save(places), clusters: clusters.save(places) };
  }

  get bytes(): number {
    return this.clusters.bytes + this.lexical.byteLength + this.postings.bytes;
  }

  dispose(): void {
    this.kernels.free(this.query);
    this.clusters.dispose();
  }

  /** Offers the cases without an embedding, and those with most words in common among the ones left out so far. */
  private compareByWords(best: NearestCases): void {
    const { clusters, lexical, places } = this;
    const shortlist = new NearestCases(BEST_BY_WORDS);
    for (let place = 0; place < places; place++) {
      const value = lexical[place];
      if (value === 0) continue;
      if (!clusters.has(place)) best.offer(place, value);
      else if (0.5 + 0.5 * value >= best.bar) shortlist.offer(place, value);
    }
    for (const { caseId: place, similarity } of shortlist.list()) {
      best.offer(place, 0.5 * clusters.cosine(place, this.query) + 0.5 * similarity);
    }
  }

  private addTerms(place: number, terms: QueryFeatures['terms']): void {
    this.postings.add(place, terms);
    if (place >= this.lexical.length) this.lexical = new Float64Array(2 * place);
    this.places = Math.max(this.places, place + 1);
  }
}
