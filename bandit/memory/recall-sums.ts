import { enlarged, float64Columns } from '../columns.ts';
import type { MemoryRecall, RecalledCase } from '../policy.ts';
import type { CaseEntries } from './case-entries.ts';

/** At this similarity or more the nearest case counts in full; below it even the best match is discounted. */
const FULL_WEIGHT_AT = 0.7;
/** Width of the kernel that weighs cases. */
const KERNEL_WIDTH = 0.1;
/** A tool did well in a case when P exceeds this share of N. */
const DID_WELL = 0.25;
/** … and is at least this: half a success. What calls of tools teach that were not shown comes to it after three. */
const LEAST_SUCCESS = 0.5;
const NONE = -1;
const FIRST_ROWS = 256;

/**
 * Adds up the counts of the nearest cases for each tool:
 * w_i = exp((s_i − max(s*, .7))/.1), P_a = Σ w_i·P_i,a, n_a = Σ w_i·(P_i,a + N_i,a),
 * mx_a = max{s_i : P_i,a > N_i,a/4, P_i,a ≥ ½}, vote_a = P_a/(n_a + 1).
 *
 * Weights are relative to .7 and not to the best match alone, so that for a query that is unlike all earlier ones distant cases
 * do not count as much as near ones.
 */
export class RecallSums {
  /** Row of each slot in the sums, −1 for none. Reset after every use. */
  private rows = new Int32Array(0);
  private slots = new Int32Array(FIRST_ROWS);
  private positives = new Float64Array(FIRST_ROWS);
  private trials = new Float64Array(FIRST_ROWS);
  private nearest = new Float64Array(FIRST_ROWS);
  private count = 0;

  begin(): void {
    this.count = 0;
  }

  /** Adds the case at this place, which is `similarity` from the query; the nearest of all is `best`. */
  add(entries: CaseEntries, place: number, similarity: number, best: number): void {
    const weight = Math.exp((similarity - Math.max(best, FULL_WEIGHT_AT)) / KERNEL_WIDTH);
    for (let entry = entries.first(place); entry !== NONE; entry = entries.after(entry)) {
      const p = entries.positives[entry];
      const n = entries.negatives[entry];
      const row = this.rowOf(entries.slots[entry]);
      this.positives[row] += weight * p;
      this.trials[row] += weight * (p + n);
      if (p >= LEAST_SUCCESS && p > DID_WELL * n && similarity > this.nearest[row])
        this.nearest[row] = similarity;
    }
  }

  finish(cases: readonly RecalledCase[]): MemoryRecall {
    const { count } = this;
    const slots = this.slots.slice(0, count);
    const [positives, trials, nearest, votes] = float64Columns(count, 4);
    for (let row = 0; row < count; row++) {
      this.rows[slots[row]] = NONE;
      positives[row] = this.positives[row];
      trials[row] = this.trials[row];
      nearest[row] = this.nearest[row];
      votes[row] = positives[row] / (trials[row] + 1);
    }
    return { slots, positives, trials, nearest, votes, cases };
  }

  private rowOf(slot: number): number {
    if (slot >= this.rows.length) {
      const rows = new Int32Array(Math.max(256, 2 * slot)).fill(NONE);
      rows.set(this.rows);
      this.rows = rows;
    }
    let row = this.rows[slot];
    if (row === NONE) {
      row = this.count++;
      this.reserve(this.count);
      this.rows[slot] = row;
      this.slots[row] = slot;
      this.positives[row] = 0;
      this.trials[row] = 0;
      this.nearest[row] = 0;
    }
    return row;
  }

  private reserve(count: number): void {
    if (count <= this.slots.length) return;
    const room = 2 * count;
    this.slots = enlarged(this.slots, new Int32Array(room));
    this.positives = enlarged(this.positives, new Float64Array(room));
    this.trials = enlarged(this.trials, new Float64Array(room));
    this.nearest = enlarged(this.nearest, new Float64Array(room));
  }
}
