import type { FeatureBins } from './feature-bins.ts';
import { MISSING_LEFT, MISSING_NAN, type Tree } from './tree-ensemble.ts';

/** Second derivatives of a leaf add up to at least this, as in LightGBM. */
const LEAST_HESSIAN = 1e-3;
/** A gain below this is nothing but rounding. */
const LEAST_GAIN = 1e-10;

export interface TreeSettings {
  /** Leaves of a tree at most, 2…. */
  readonly numLeaves: number;
  /** Rows of a leaf at least, 1…. */
  readonly minDataInLeaf: number;
  /** λ₂ ≥ 0: added to the second derivatives of a leaf. */
  readonly lambda: number;
  /** By how much of its Newton step each leaf moves its rows, above 0. */
  readonly learningRate: number;
}

/** A way to cut a leaf in two: rows of `column` up to `bin` go left, those without a value where `missingLeft` says. */
interface Split {
  readonly gain: number;
  readonly column: number;
  readonly bin: number;
  readonly missingLeft: boolean;
}

interface Sums {
  readonly gradient: number;
  readonly hessian: number;
  readonly count: number;
}

interface Leaf {
  /** Its rows lie here in #rows. */
  readonly begin: number;
  readonly end: number;
  readonly sums: Sums;
  readonly histogram: Float64Array;
  readonly split: Split | null;
}

/** Where a leaf hangs: at the left or right of a node. */
interface Place {
  readonly node: number;
  readonly isLeft: boolean;
}

/**
 * Grows regression trees leaf by leaf: always the split with the largest gain G_L²/(H_L + λ) + G_R²/(H_R + λ) − G²/(H + λ),
 * found in histograms of the derivatives by bin (Chen & Guestrin 2016, eq. 7; Ke et al. 2017, algorithm 1). Only the smaller of two
 * new leaves is counted, the other histogram is a difference. Of equal gains the first column, bin and leaf win. Deterministic.
 */
export class TreeGrower {
  readonly #bins: FeatureBins;
  readonly #settings: TreeSettings;
  readonly #rows: Uint32Array;
  readonly #spare: Uint32Array;
  /** Histograms that no leaf uses now: gradient, hessian and count of each bin. */
  readonly #freeHistograms: Float64Array[] = [];

  constructor(bins: FeatureBins, settings: TreeSettings) {
    this.#bins = bins;
    this.#settings = settings;
    this.#rows = new Uint32Array(bins.rows);
    this.#spare = new Uint32Array(bins.rows);
  }

  /**
   * Returns the next tree, and adds what it says to `scores`. A tree of one leaf of 0: nothing can be split with any gain.
   * @param gradients, hessians of the loss by the scores; n each
   */
  grow(gradients: Float64Array, hessians: Float64Array, scores: Float64Array): Tree {
    for (let row = 0; row < this.#rows.length; row++) this.#rows[row] = row;
    const histogram = this.#count(0, this.#rows.length, gradients, hessians);
    const leaves = [this.#leaf(0, this.#rows.length, histogram)];
    const places: (Place | null)[] = [null];
    const tree = {
      features: [] as number[],
      flags: [] as number[],
      thresholds: [] as number[],
      lefts: [] as number[],
      rights: [] as number[],
      leaves: [] as number[],
    };
    while (leaves.length < this.#settings.numLeaves) {
      const at = bestOf(leaves);
      if (at < 0) break;
      const { column, bin, missingLeft } = leaves[at].split!;
      const node = tree.features.length;
      const place = places[at];
      if (place !== null) (place.isLeft ? tree.lefts : tree.rights)[place.node] = node;
      tree.features.push(column);
      tree.flags.push(MISSING_NAN | (missingLeft ? MISSING_LEFT : 0));
      tree.thresholds.push(this.#bins.thresholds[column][bin] ?? Number.POSITIVE_INFINITY);
      tree.lefts.push(~at);
      tree.rights.push(~leaves.length);
      const [left, right] = this.#divide(leaves[at], gradients, hessians);
      leaves[at] = left;
      places[at] = { node, isLeft: true };
      leaves.push(right);
      places.push({ node, isLeft: false });
    }
    for (const { begin, end, sums, histogram: used } of leaves) {
      const value = leaves.length === 1 ? 0 : this.#valueOf(sums);
      tree.leaves.push(value);
      for (let at = begin; at < end; at++) scores[this.#rows[at]] += value;
      this.#freeHistograms.push(used);
    }
    return tree;
  }

  #valueOf({ gradient, hessian }: Sums): number {
    return (-gradient / (hessian + this.#settings.lambda)) * this.#settings.learningRate;
  }

  #leaf(begin: number, end: number, histogram: Float64Array): Leaf {
    const sums = this.#total(histogram);
    return { begin, end, sums, histogram, split: this.#bestSplit(histogram, sums) };
  }

  /** Any column has all rows of a leaf; without columns there are no sums. */
  #total(histogram: Float64Array): Sums {
    let [gradient, hessian, count] = [0, 0, 0];
    for (let bin = 0; bin < (this.#bins.starts[1] ?? 0); bin++) {
      gradient += histogram[3 * bin];
      hessian += histogram[3 * bin + 1];
      count += histogram[3 * bin + 2];
    }
    return { gradient, hessian, count };
  }

  /** Moves the rows of a leaf to its two sides, in the order that they had. */
  #divide(leaf: Leaf, gradients: Float64Array, hessians: Float64Array): [left: Leaf, right: Leaf] {
    const { column, bin, missingLeft } = leaf.split!;
    const { rows, thresholds } = this.#bins;
    const missing = thresholds[column].length + 1;
    const offset = column * rows;
    let middle = leaf.begin;
    let kept = 0;
    for (let at = leaf.begin; at < leaf.end; at++) {
      const row = this.#rows[at];
      const own = this.#bins.bins[offset + row];
      if (own === missing ? missingLeft : own <= bin) this.#rows[middle++] = row;
      else this.#spare[kept++] = row;
    }
    this.#rows.set(this.#spare.subarray(0, kept), middle);
    const leftIsSmaller = middle - leaf.begin <= leaf.end - middle;
    const smaller = leftIsSmaller
      ? this.#count(leaf.begin, middle, gradients, hessians)
      : this.#count(middle, leaf.end, gradients, hessians);
    const larger = leaf.histogram;
    for (let at = 0; at < larger.length; at++) larger[at] -= smaller[at];
    return [
      this.#leaf(leaf.begin, middle, leftIsSmaller ? smaller : larger),
      this.#leaf(middle, leaf.end, leftIsSmaller ? larger : smaller),
    ];
  }

  #count(begin: number, end: number, gradients: Float64Array, hessians: Float64Array): Float64Array {
    const { bins, rows, columns, starts } = this.#bins;
    const histogram = this.#freeHistograms.pop()?.fill(0) ?? new Float64Array(3 * starts[columns]);
    const own = this.#rows;
    for (let column = 0; column < columns; column++) {
      const offset = column * rows;
      const start = starts[column];
      for (let at = begin; at < end; at++) {
        const row = own[at];
        const slot = 3 * (start + bins[offset + row]);
        histogram[slot] += gradients[row];
        histogram[slot + 1] += hessians[row];
        histogram[slot + 2]++;
      }
    }
    return histogram;
  }

  #bestSplit(histogram: Float64Array, total: Sums): Split | null {
    if (total.count < 2 * this.#settings.minDataInLeaf) return null;
    let best: Split | null = null;
    for (let column = 0; column < this.#bins.columns; column++) {
      const missing = this.#bins.starts[column + 1] - 1;
      const isMissingSome = histogram[3 * missing + 2] > 0;
      best = this.#scan(histogram, total, column, false, best);
      if (isMissingSome) best = this.#scan(histogram, total, column, true, best);
    }
    return best;
  }

  /** Goes through the bins of a column from the left. */
  #scan(
    histogram: Float64Array,
    total: Sums,
    column: number,
    missingLeft: boolean,
    best: Split | null,
  ): Split | null {
    const { starts } = this.#bins;
    const { minDataInLeaf, lambda } = this.#settings;
    const [start, missing] = [starts[column], starts[column + 1] - 1];
    const isMissingSome = histogram[3 * missing + 2] > 0;
    const own = (total.gradient * total.gradient) / (total.hessian + lambda);
    let found = best;
    let [gradient, hessian, count] = missingLeft
      ? histogram.subarray(3 * missing, 3 * missing + 3)
      : [0, 0, 0];
    // Behind the last bin of values only what is missing is left over.
    const end = isMissingSome && !missingLeft ? missing : missing - 1;
    for (let bin = start; bin < end; bin++) {
      gradient += histogram[3 * bin];
      hessian += histogram[3 * bin + 1];
      count += histogram[3 * bin + 2];
      if (count < minDataInLeaf || hessian < LEAST_HESSIAN) continue;
      const rest = { gradient: total.gradient - gradient, hessian: total.hessian - hessian };
      const restCount = total.count - count;
      if (restCount < minDataInLeaf || rest.hessian < LEAST_HESSIAN) break;
      const gain =
        (gradient * gradient) / (hessian + lambda) +
        (rest.gradient * rest.gradient) / (rest.hessian + lambda) -
        own;
      if (!(gain > (found?.gain ?? LEAST_GAIN))) continue;
      // Where no value was missing, a missing one goes with the larger part.
      const goesLeft = isMissingSome ? missingLeft : count >= restCount;
      found = { gain, column, bin: bin - start, missingLeft: goesLeft };
    }
    return found;
  }
}

/** The leaf whose split gains most, the first one of equals; −1: none can be split. */
function bestOf(leaves: readonly Leaf[]): number {
  let best = -1;
  for (const [at, { split }] of leaves.entries()) {
    if (split !== null && (best < 0 || split.gain > leaves[best].split!.gain)) best = at;
  }
  return best;
}
