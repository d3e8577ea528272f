import {
  CONTEXT_FEATURES,
  type ContextCandidate,
  type ContextMoment,
  contextFeatures,
} from './context-features.ts';
import { reciprocalRankFusion } from './reciprocal-rank-fusion.ts';
import { SemanticMap } from './semantic-map.ts';
import { decodeTrees, encodeTrees } from './tree-codec.ts';
import { type TreeEnsemble, TreesUnreadableError } from './tree-ensemble.ts';
import type { TreeScorer } from './tree-scorer.ts';

/**
 * A model as bytes. Little-endian, nothing between:
 *
 *   "BCTX" | version u32 | embedder u32 (bytes) | numbers of the map u32 | embedder, UTF-8 | map f32 | trees as in tree-codec.ts
 */
const MAGIC = [0x42, 0x43, 0x54, 0x58];
const VERSION = 1;
const NAME_FROM = 16;

/** The weight of each signal where there is no model; chosen on the validation part of bench/context.ts. */
const WITHOUT_MODEL = [
  ['asked cosine', 2],
  ['uses at this hour that are its', 1],
  ['uses at this place that are its', 1],
  ['share of all uses', 1],
  ['cosine', 1],
  ['words', 1],
] as const;

/** An item, by its place among the candidates, and what it was ranked by: higher is better. */
export interface RankedItem {
  readonly item: number;
  readonly score: number;
  /** Its `CONTEXT_FEATURES`. */
  readonly features: Float64Array;
}

/** Ranks the items of a user's context for a query: LambdaMART over `CONTEXT_FEATURES`. Never changes. */
export class ContextRanker {
  readonly trees: TreeEnsemble;
  readonly map: SemanticMap;
  /** The fingerprint of the embedder that it was trained with: with the vectors of another one its scores mean nothing. */
  readonly embedder: string;

  /** @throws TreesUnreadableError when the trees were trained on other features */
  constructor(trees: TreeEnsemble, map: SemanticMap, embedder: string) {
    const { names } = trees.parts;
    if (names.length !== CONTEXT_FEATURES.length || names.some((name, at) => name !== CONTEXT_FEATURES[at])) {
      throw new TreesUnreadableError('This context ranker was trained on other features: train it anew.');
    }
    this.trees = trees;
    this.map = map;
    this.embedder = embedder;
  }

  /**
   * Returns all candidates, the best first. A query without an embedding, or of another embedder's length, is ranked without the map.
   * @param scorer absent: the trees are walked, which returns the same and takes ten times as long
   */
  rank(
    candidates: readonly ContextCandidate[],
    moment: Omit<ContextMoment, 'mapped'>,
    scorer?: TreeScorer,
  ): RankedItem[] {
    const { query } = moment;
    const mapped = query !== null && query.length === this.map.dimensions ? this.map.map(query) : null;
    const features = contextFeatures(candidates, { ...moment, mapped });
    const scores = scorer?.scores(this.trees, features) ?? this.trees.scores(features);
    return Array.from(scores, (score, item) => ({ item, score, features: rowOf(features, item) })).sort(
      (a, b) => b.score - a.score || a.item - b.item,
    );
  }

  encode(): Uint8Array {
    const name = new TextEncoder().encode(this.embedder);
    const map = this.map.save();
    const trees = encodeTrees(this.trees);
    const mapFrom = NAME_FROM + name.length;
    const bytes = new Uint8Array(mapFrom + map.byteLength + trees.length);
    const view = new DataView(bytes.buffer);
    bytes.set(MAGIC);
    view.setUint32(4, VERSION, true);
    view.setUint32(8, name.length, true);
    view.setUint32(12, map.length, true);
    bytes.set(name, NAME_FROM);
    bytes.set(new Uint8Array(map.buffer), mapFrom);
    bytes.set(trees, mapFrom + map.byteLength);
    return bytes;
  }

  /** @throws TreesUnreadableError when the bytes are damaged, cut short, of another version or other features */
  static decode(bytes: Uint8Array): ContextRanker {
    if (bytes.length < NAME_FROM || MAGIC.some((byte, at) => bytes[at] !== byte)) {
      throw new TreesUnreadableError('These bytes are no context ranker: they do not begin with BCTX.');
    }
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const version = view.getUint32(4, true);
    if (version !== VERSION) {
      throw new TreesUnreadableError(
        `This context ranker has version ${version}, and ${VERSION} is read here: train it anew.`,
      );
    }
    const mapFrom = NAME_FROM + view.getUint32(8, true);
    const end = mapFrom + 4 * view.getUint32(12, true);
    if (end > bytes.length) throw new TreesUnreadableError('This context ranker is cut short.');
    let map: SemanticMap;
    try {
      map = SemanticMap.of(new Float32Array(new Uint8Array(bytes.subarray(mapFrom, end)).buffer));
    } catch (error) {
      throw new TreesUnreadableError(`This context ranker is damaged. ${(error as Error).message}`);
    }
    const embedder = new TextDecoder().decode(bytes.subarray(NAME_FROM, mapFrom));
    return new ContextRanker(decodeTrees(bytes.subarray(end)), map, embedder);
  }
}

/**
 * Returns the candidates that any signal speaks for, the best first, without any model: one list per signal, joined by reciprocal rank
 * (Cormack et al. 2009).
 */
export function rankBySignals(
  candidates: readonly ContextCandidate[],
  moment: Omit<ContextMoment, 'mapped'>,
): RankedItem[] {
  const features = contextFeatures(candidates, { ...moment, mapped: null });
  const d = CONTEXT_FEATURES.length;
  const lists = WITHOUT_MODEL.map(([name, weight]) => {
    const column = CONTEXT_FEATURES.indexOf(name);
    const value = (item: number): number => features[item * d + column];
    const items = [...candidates.keys()].filter((item) => value(item) > 0);
    return { items: items.sort((a, b) => value(b) - value(a) || a - b), weight };
  });
  return reciprocalRankFusion(lists).map(({ item, score }) => ({
    item,
    score,
    features: rowOf(features, item),
  }));
}

function rowOf(features: Float64Array, item: number): Float64Array {
  return features.subarray(item * CONTEXT_FEATURES.length, (item + 1) * CONTEXT_FEATURES.length);
}
