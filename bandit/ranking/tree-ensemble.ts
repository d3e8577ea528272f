/** A node's flags, with the bits of LightGBM's `decision_type`. */
export const CATEGORICAL = 1;
export const MISSING_LEFT = 2;
/** What counts as missing: nothing (NaN is read as 0), 0 and NaN, or NaN. */
export const MISSING_NONE = 0;
export const MISSING_ZERO = 4;
export const MISSING_NAN = 8;
export const MISSING = 12;

/** Numbers that are not larger than this are 0 where 0 is missing, as in LightGBM. */
const ZERO = 1e-35;

/**
 * The nodes of all trees, one after the other. A child c ≥ 0 is a node, and comes after its parent; c < 0 is the leaf ~c. Lengths:
 * one number per tree (roots), per inner node (features, flags, thresholds, lefts, rights), per leaf (leaves).
 */
export interface EnsembleParts {
  /** What each feature is called, in the order of the columns. */
  readonly names: readonly string[];
  readonly roots: Int32Array;
  readonly features: Uint16Array;
  readonly flags: Uint8Array;
  /** A row goes left if its feature is at most this. Of a categorical node: its place in `categoryStarts`. */
  readonly thresholds: Float64Array;
  readonly lefts: Int32Array;
  readonly rights: Int32Array;
  readonly leaves: Float64Array;
  /** Bits of the categories that go left, in words of 32; those of categorical node t are starts[t] … starts[t + 1]. */
  readonly categories: Uint32Array;
  readonly categoryStarts: Uint32Array;
}

/** Thrown for bytes or texts that hold no ensemble of trees that can be used here; the message says why. */
export class TreesUnreadableError extends Error {
  override readonly name = 'TreesUnreadableError';
}

/**
 * How nodes read a feature: those that treat missing values alike, or ask for the same categories, read one number each, which says
 * left if it is at most their threshold. So walking a tree is comparing numbers, and what is missing is looked at once per row.
 */
interface Reading {
  readonly feature: number;
  readonly flags: number;
  /** Of a categorical reading: its place in `categoryStarts`. */
  readonly test: number;
}

/** Between what is read for a category that goes left, 0, and for one that does not, 1. */
const OF_CATEGORY = 0.5;

/** A sum of regression trees over d features, in flat arrays. Never changes. */
export class TreeEnsemble {
  readonly parts: EnsembleParts;
  readonly #readings: Reading[] = [];
  /** By node: its reading, and what that is compared with. */
  readonly #read: Int32Array;
  readonly #thresholds: Float64Array;
  /** By node: the right child, the left one. */
  readonly #children: Int32Array;

  /** @throws TreesUnreadableError when nodes point nowhere, at themselves or at features that there are not */
  constructor(parts: EnsembleParts) {
    checkParts(parts);
    this.parts = parts;
    const { features, flags, thresholds, lefts, rights } = parts;
    const numbers = new Map<string, number>();
    this.#thresholds = thresholds.slice();
    this.#children = new Int32Array(2 * lefts.length);
    for (let node = 0; node < lefts.length; node++) this.#children.set([rights[node], lefts[node]], 2 * node);
    this.#read = Int32Array.from(features, (feature, node) => {
      const isCategorical = (flags[node] & CATEGORICAL) !== 0;
      const reading = { feature, flags: flags[node], test: isCategorical ? thresholds[node] : -1 };
      if (isCategorical) this.#thresholds[node] = OF_CATEGORY;
      const key = Object.values(reading).join();
      const known = numbers.get(key) ?? this.#readings.push(reading) - 1;
      numbers.set(key, known);
      return known;
    });
  }

  /** Number of trees. */
  get size(): number {
    return this.parts.roots.length;
  }

  /** Returns the scores of n rows, n × d numbers row by row; NaN: missing. @throws RangeError if these are no whole rows */
  scores(features: Float64Array): Float64Array {
    const columns = this.parts.names.length;
    if (features.length % columns !== 0) {
      throw new RangeError(`These are rows of ${columns} features, not ${features.length} numbers.`);
    }
    const { roots, leaves } = this.parts;
    const [read, thresholds, children, width] = [
      this.#read,
      this.#thresholds,
      this.#children,
      this.#readings.length,
    ];
    const scores = new Float64Array(features.length / columns);
    const readings = this.#readingsOf(features, scores.length);
    // Tree by tree, so that one tree's nodes stay in the processor's nearest cache.
    for (const root of roots) {
      for (let row = 0; row < scores.length; row++) {
        const from = row * width;
        let at = root;
        // Which child it is, is computed, not branched on: half of such branches would be guessed wrong.
        while (at >= 0) at = children[2 * at + (Number(readings[from + read[at]] <= thresholds[at]) | 0)];
        scores[row] += leaves[~at];
      }
    }
    return scores;
  }

  /** What the nodes read of each row, row by row. */
  #readingsOf(features: Float64Array, rows: number): Float64Array {
    const [columns, width] = [this.parts.names.length, this.#readings.length];
    const all = new Float64Array(rows * width);
    for (const [at, reading] of this.#readings.entries()) {
      for (let row = 0; row < rows; row++) {
        all[row * width + at] = this.#readingOf(reading, features[row * columns + reading.feature]);
      }
    }
    return all;
  }

  /** A number that is at most the threshold of a node exactly if the value goes left there. */
  #readingOf({ flags, test }: Reading, value: number): number {
    if ((flags & CATEGORICAL) !== 0) return this.#isOf(test, value) ? 0 : 1;
    const missing = flags & MISSING;
    const known = Number.isNaN(value) && missing !== MISSING_NAN ? 0 : value;
    if (Number.isNaN(known) || (missing === MISSING_ZERO && Math.abs(known) <= ZERO)) {
      return (flags & MISSING_LEFT) !== 0 ? Number.NEGATIVE_INFINITY : Number.NaN;
    }
    return known;
  }

  /** Whether the category of a value (its whole part) goes left. */
  #isOf(test: number, value: number): boolean {
    const { categories, categoryStarts } = this.parts;
    const category = Math.trunc(value);
    const begin = categoryStarts[test];
    if (!(category >= 0 && category < 32 * (categoryStarts[test + 1] - begin))) return false;
    return ((categories[begin + (category >>> 5)] >>> (category & 31)) & 1) === 1;
  }
}

function checkParts(parts: EnsembleParts): void {
  const { names, roots, features, flags, thresholds, lefts, rights, leaves, categories, categoryStarts } =
    parts;
  const nodes = features.length;
  const fail = (what: string): never => {
    throw new TreesUnreadableError(`These trees are damaged: ${what}.`);
  };
  if ([flags, thresholds, lefts, rights].some((array) => array.length !== nodes)) {
    fail('their arrays are of different lengths');
  }
  const isChild = (child: number, parent: number): boolean =>
    child >= 0 ? child > parent && child < nodes : ~child < leaves.length;
  if (roots.some((root) => !isChild(root, -1))) fail('a tree begins nowhere');
  if (leaves.some((leaf) => !Number.isFinite(leaf))) fail('a leaf is not a number');
  for (let node = 0; node < nodes; node++) {
    if (!isChild(lefts[node], node) || !isChild(rights[node], node)) fail(`node ${node} points nowhere`);
    if (features[node] >= names.length) fail(`node ${node} asks for feature ${features[node]}`);
    if (Number.isNaN(thresholds[node])) fail(`node ${node} has no threshold`);
    if ((flags[node] & CATEGORICAL) === 0) continue;
    const end = categoryStarts[thresholds[node] + 1];
    if (!(categoryStarts[thresholds[node]] <= end && end <= categories.length)) {
      fail(`node ${node} has no categories`);
    }
  }
}

/** One tree: node 0 is its root, or leaf 0 if it has no nodes; children count within the tree, c < 0 is the leaf ~c. */
export interface Tree {
  readonly features: ArrayLike<number>;
  readonly flags: ArrayLike<number>;
  readonly thresholds: ArrayLike<number>;
  readonly lefts: ArrayLike<number>;
  readonly rights: ArrayLike<number>;
  readonly leaves: ArrayLike<number>;
}

/** Lays trees out one after the other. */
export class EnsembleBuilder {
  readonly #roots: number[] = [];
  readonly #features: number[] = [];
  readonly #flags: number[] = [];
  readonly #thresholds: number[] = [];
  readonly #lefts: number[] = [];
  readonly #rights: number[] = [];
  readonly #leaves: number[] = [];
  readonly #categories: number[] = [];
  readonly #categoryStarts: number[] = [0];

  add(tree: Tree): void {
    const [nodes, leaves] = [this.#features.length, this.#leaves.length];
    const moved = (child: number): number => (child >= 0 ? child + nodes : child - leaves);
    this.#roots.push(moved(tree.features.length > 0 ? 0 : ~0));
    for (let node = 0; node < tree.features.length; node++) {
      this.#features.push(tree.features[node]);
      this.#flags.push(tree.flags[node]);
      this.#thresholds.push(tree.thresholds[node]);
      this.#lefts.push(moved(tree.lefts[node]));
      this.#rights.push(moved(tree.rights[node]));
    }
    for (let leaf = 0; leaf < tree.leaves.length; leaf++) this.#leaves.push(tree.leaves[leaf]);
  }

  /** Adds a set of categories, as bits in words of 32, and returns the threshold of its node. */
  addCategories(words: ArrayLike<number>): number {
    for (let at = 0; at < words.length; at++) this.#categories.push(words[at]);
    this.#categoryStarts.push(this.#categories.length);
    return this.#categoryStarts.length - 2;
  }

  /** Returns the trees so far. @throws TreesUnreadableError */
  build(names: readonly string[]): TreeEnsemble {
    return new TreeEnsemble({
      names,
      roots: Int32Array.from(this.#roots),
      features: Uint16Array.from(this.#features),
      flags: Uint8Array.from(this.#flags),
      thresholds: Float64Array.from(this.#thresholds),
      lefts: Int32Array.from(this.#lefts),
      rights: Int32Array.from(this.#rights),
      leaves: Float64Array.from(this.#leaves),
      categories: Uint32Array.from(this.#categories),
      categoryStarts: Uint32Array.from(this.#categoryStarts),
    });
  }
}
