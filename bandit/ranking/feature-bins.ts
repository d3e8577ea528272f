import type { RankingSet } from './ranking-set.ts';

/** The most bins of one feature, without the one for what is missing. */
export const MOST_BINS = 255;

/** The features of a set, each cut into at most 255 bins of about as many rows; what is missing has a bin of its own, the last. */
export class FeatureBins {
  readonly rows: number;
  readonly columns: number;
  /** Bins by column, then by row: d × n. */
  readonly bins: Uint8Array;
  /** By column: bin b holds the values in (thresholds[b − 1], thresholds[b]]; the last bin of values has no upper end. */
  readonly thresholds: readonly Float64Array[];
  /** Where the bins of each column begin when all are counted through, and their number at the end: d + 1. */
  readonly starts: Uint32Array;

  constructor({ names, features, labels }: RankingSet) {
    this.rows = labels.length;
    this.columns = names.length;
    this.bins = new Uint8Array(this.rows * this.columns);
    this.starts = new Uint32Array(this.columns + 1);
    const thresholds: Float64Array[] = [];
    const values = new Float64Array(this.rows);
    for (let column = 0; column < this.columns; column++) {
      for (let row = 0; row < this.rows; row++) values[row] = features[row * this.columns + column];
      const own = thresholdsOf(values);
      for (let row = 0; row < this.rows; row++) this.bins[column * this.rows + row] = binOf(own, values[row]);
      thresholds.push(own);
      this.starts[column + 1] = this.starts[column] + own.length + 2;
    }
    this.thresholds = thresholds;
  }
}

/** Returns where the bins of these values meet, ascending: nothing if fewer than two different ones are known. */
function thresholdsOf(values: Float64Array): Float64Array {
  const known = values.filter((value) => !Number.isNaN(value)).sort();
  const distinct: number[] = [];
  const counts: number[] = [];
  for (const value of known) {
    if (distinct.length > 0 && distinct[distinct.length - 1] === value) counts[counts.length - 1]++;
    else {
      distinct.push(value);
      counts.push(1);
    }
  }
  const thresholds: number[] = [];
  let left = known.length;
  let inBin = 0;
  for (let at = 0; at + 1 < distinct.length; at++) {
    inBin += counts[at];
    const bins = MOST_BINS - thresholds.length;
    const isFull = distinct.length <= MOST_BINS || (bins > 1 && inBin >= left / bins);
    if (!isFull) continue;
    thresholds.push(between(distinct[at], distinct[at + 1]));
    left -= inBin;
    inBin = 0;
  }
  return Float64Array.from(thresholds);
}

/** Returns a number t with a ≤ t < b, in the middle if there is one. */
function between(a: number, b: number): number {
  const middle = a / 2 + b / 2;
  return middle >= a && middle < b ? middle : a;
}

/** The first bin whose upper end is not below the value; for NaN the one behind the bins of values. */
function binOf(thresholds: Float64Array, value: number): number {
  if (Number.isNaN(value)) return thresholds.length + 1;
  let low = 0;
  let high = thresholds.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (value <= thresholds[middle]) high = middle;
    else low = middle + 1;
  }
  return low;
}
