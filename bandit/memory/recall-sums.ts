import { float64Columns } from '../columns.ts';
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
  private slots: number[] = [];
  private positives: number[] = [];
  private trials: number[] = [];
  private nearest: number[] = [];

  begin(): void {
    this.slots = [];
    this.positives = [];
    this.trials = [];
    this.nearest = [];
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
    for (const slot of this.slots) this.rows[slot] = NONE;
    const [positives, trials, nearest, votes] = float64Columns(this.slots.length, 4);
    for (let row = 0; row < votes.length; row++) {
      positives[row] = this.positives[row];
      trials[row] = this.trials[row];
      nearest[row] = this.nearest[row];
      votes[row] = this.positives[row] / (this.trials[row] + 1);
    }
    return { slots: new Int32Array(this.slots), positives, trials, nearest, votes, cases };
  }

  private rowOf(slot: number): number {
    if (slot >= this.rows.length) {
      const rows = new Int32Array(Math.max(256, 2 * slot)).fill(NONE);
      rows.set(this.rows);
      this.rows = rows;
    }
    let row = this.rows[slot];
    if (row === NONE) {
      row = this.slots.length;
      this.rows[slot] = row;
      this.slots.push(slot);
      this.positives.push(0);
      this.trials.push(0);
      this.nearest.push(0);
    }
    return row;
  }
}
