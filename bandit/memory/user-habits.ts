import { completed, savedArray } from '../learner-codec.ts';
import type { ChosenContext, LearnerState } from '../policy.ts';

/** Time after which an outcome counts half, as uses of items do, in ms. */
const HALF_LIFE = 30 * 86_400_000;
/** Largest P + N of a tool, so that a new habit replaces an old one after a handful of outcomes. */
const MOST_COUNTED = 5;
/** Most rows of one user; the one with the fewest outcomes makes room. */
const MOST_ROWS = 64;
/** Numbers of a row: the item, the slot of the tool, P and N. */
const WIDTH = 4;
/** Stands in place of the number of an item, which is 0 or more, for whatever was chosen. */
const ANY_ITEM = -1;
/** Users that are copied between two pauses: less than a millisecond. */
const SAVED_AT_ONCE = 256;

interface Habits {
  /** Time of the latest outcome, in ms since the epoch. */
  at: number;
  count: number;
  /** Rows, `count` of them; there may be room for more. */
  rows: Float64Array;
}

/** P and n = P + N of tools, by slot. */
export type ToolCounts = ReadonlyMap<number, { readonly positives: number; readonly trials: number }>;

/** The habits of a user as they are known at the time of a choice. */
export interface RecalledHabits {
  /** Counts of tools, whatever was chosen of the user's context. */
  readonly own: ToolCounts;
  /** Counts of tools when the items were chosen that are chosen now; the i-th best, from 0, counts 1/(i + 1). */
  readonly withItems: ToolCounts;
}

const NOTHING: RecalledHabits = { own: new Map(), withItems: new Map() };

/**
 * Keeps what became of tools that were shown to each user, and to each user when a certain item of theirs was chosen: P, the sum of rewards
 * r, and N, the sum of 1 − r, of a tool that did well at least once. Counts halve in 30 days and stay within 5. Bounded: users, and 64
 * rows of 32 bytes for each; the user who was quiet longest makes room. A user is a number and items are numbers: nothing here can be
 * read. Deterministic: the same calls in the same order give the same bits.
 */
export class UserHabits {
  readonly #mostUsers: number;
  /** By the number of the user, in the order of their latest outcomes. */
  readonly #users = new Map<number, Habits>();
  /** How many rows each tool has, by slot: nearly all tools have none. */
  readonly #rows = new Map<number, number>();

  /** @param mostUsers at least 1 */
  constructor(mostUsers: number) {
    this.#mostUsers = mostUsers;
  }

  /** Returns the habits of the user of a choice, as they count when it was made. */
  recall({ unit, at, items }: ChosenContext): RecalledHabits {
    const habits = this.#users.get(unit);
    if (habits === undefined) return NOTHING;
    const kept = keptOver(at - habits.at);
    const weights = new Map([[ANY_ITEM, 1]]);
    for (const [place, { number }] of items.entries()) weights.set(number, weightAt(place));
    const own = new Map<number, { positives: number; trials: number }>();
    const withItems = new Map<number, { positives: number; trials: number }>();
    for (let row = 0; row < habits.count; row++) {
      const [item, slot, positives, negatives] = habits.rows.subarray(row * WIDTH);
      const weight = (weights.get(item) ?? 0) * kept;
      if (weight === 0) continue;
      const counts = item === ANY_ITEM ? own : withItems;
      const sum = counts.get(slot) ?? { positives: 0, trials: 0 };
      counts.set(slot, {
        positives: sum.positives + weight * positives,
        trials: sum.trials + weight * (positives + negatives),
      });
    }
    return { own, withItems };
  }

  /** Counts an outcome: P += w·r, N += w·(1 − r), and the same for each chosen item by its weight. */
  note({ unit, at, items }: ChosenContext, slot: number, reward: number, weight: number): void {
    if (reward === 0 && !this.#users.has(unit)) return;
    const habits = this.#open(unit, at);
    this.#add(habits, ANY_ITEM, slot, weight * reward, weight * (1 - reward));
    for (const [place, { number }] of items.entries()) {
      const share = weight * weightAt(place);
      this.#add(habits, number, slot, share * reward, share * (1 - reward));
    }
  }

  /** Corrects the reward of an outcome that was counted: moves w·(to − from) from N to P. */
  correct({ unit, at, items }: ChosenContext, slot: number, from: number, to: number, weight: number): void {
    // Of a user without habits no failure was counted, and it may turn out to be a success.
    const habits = this.#users.get(unit) ?? (to > from ? this.#open(unit, at) : undefined);
    if (habits === undefined) return;
    const delta = weight * (to - from);
    this.#add(habits, ANY_ITEM, slot, delta, -delta);
    for (const [place, { number }] of items.entries()) {
      this.#add(habits, number, slot, delta * weightAt(place), -delta * weightAt(place));
    }
  }

  /** Scales all counts of a tool; 0 forgets it. */
  scaleTool(slot: number, factor: number): void {
    if (!this.#rows.has(slot)) return;
    for (const habits of this.#users.values()) {
      for (let row = habits.count - 1; row >= 0; row--) {
        const at = row * WIDTH;
        if (habits.rows[at + 1] !== slot) continue;
        if (factor === 0) this.#remove(habits, row);
        else for (const column of [2, 3]) habits.rows[at + column] *= factor;
      }
    }
  }

  /** Forgets a user; returns whether anything was known of this one. */
  forget(unit: number): boolean {
    const habits = this.#users.get(unit);
    if (habits === undefined) return false;
    for (let row = 0; row < habits.count; row++) this.#countRow(habits.rows[row * WIDTH + 1], -1);
    return this.#users.delete(unit);
  }

  get size(): number {
    return this.#users.size;
  }

  get bytes(): number {
    let bytes = 0;
    for (const { rows } of this.#users.values()) bytes += rows.byteLength;
    return bytes;
  }

  save(): LearnerState['arrays'] {
    return completed(this.saveInSteps());
  }

  *saveInSteps(): Generator<void, LearnerState['arrays']> {
    const { size } = this.#users;
    const units = new Uint32Array(size);
    const times = new Float64Array(size);
    const offsets = new Int32Array(size + 1);
    const all: Float64Array[] = [];
    for (const [unit, { at, count, rows }] of this.#users) {
      const user = all.push(rows.subarray(0, count * WIDTH)) - 1;
      units[user] = unit;
      times[user] = at;
      offsets[user + 1] = offsets[user] + count * WIDTH;
      if (user % SAVED_AT_ONCE === 0) yield;
    }
    const rows = new Float64Array(offsets[size]);
    for (const [user, own] of all.entries()) {
      rows.set(own, offsets[user]);
      if (user % SAVED_AT_ONCE === 0) yield;
    }
    return { 'habits.units': units, 'habits.times': times, 'habits.offsets': offsets, 'habits.rows': rows };
  }

  /** Rebuilds it from what `save` returned. @throws Error when the arrays do not fit each other or the limit */
  static load(mostUsers: number, arrays: LearnerState['arrays']): UserHabits {
    const units = savedArray(arrays, 'habits.units', Uint32Array);
    const times = savedArray(arrays, 'habits.times', Float64Array, units.length);
    const offsets = savedArray(arrays, 'habits.offsets', Int32Array, units.length + 1);
    const rows = savedArray(arrays, 'habits.rows', Float64Array, offsets[units.length]);
    if (units.length > mostUsers) {
      throw new Error(`The saved learner knows ${units.length} users, and ${mostUsers} are kept here.`);
    }
    const habits = new UserHabits(mostUsers);
    for (const [user, unit] of units.entries()) {
      const own = rows.slice(offsets[user], offsets[user + 1]);
      habits.#users.set(unit, { at: times[user], count: own.length / WIDTH, rows: own });
      for (let at = 0; at < own.length; at += WIDTH) habits.#countRow(own[at + 1], 1);
    }
    return habits;
  }

  /** Returns the habits of a user as they are at this time, as the latest ones. */
  #open(unit: number, at: number): Habits {
    const habits = this.#users.get(unit) ?? { at, count: 0, rows: new Float64Array(0) };
    if (!this.#users.delete(unit) && this.#users.size >= this.#mostUsers) {
      const [quietest] = this.#users.keys();
      this.forget(quietest);
    }
    this.#users.set(unit, habits);
    const kept = keptOver(at - habits.at);
    habits.at = Math.max(habits.at, at);
    if (kept === 1) return habits;
    for (let row = 0; row < habits.count; row++) {
      for (const column of [2, 3]) habits.rows[row * WIDTH + column] *= kept;
    }
    return habits;
  }

  /** Adds to the counts of a tool; none falls below 0. A tool that never did well has no row. */
  #add(habits: Habits, item: number, slot: number, positives: number, negatives: number): void {
    let row = 0;
    while (row < habits.count && !isOf(habits, row, item, slot)) row++;
    if (row === habits.count) {
      if (positives <= 0) return;
      if (row === MOST_ROWS) this.#remove(habits, fewest(habits));
      row = habits.count++;
      this.#countRow(slot, 1);
      if (habits.rows.length < habits.count * WIDTH) {
        const rows = new Float64Array(Math.min(MOST_ROWS, Math.max(4, 2 * row)) * WIDTH);
        rows.set(habits.rows);
        habits.rows = rows;
      }
      habits.rows.set([item, slot, 0, 0], row * WIDTH);
    }
    const { rows } = habits;
    const at = row * WIDTH;
    const p = Math.max(0, rows[at + 2] + positives);
    const n = Math.max(0, rows[at + 3] + negatives);
    if (p === 0) {
      this.#remove(habits, row);
      return;
    }
    const scale = Math.min(1, MOST_COUNTED / (p + n));
    rows[at + 2] = p * scale;
    rows[at + 3] = n * scale;
  }

  /** Removes a row; those behind it move up, so that they stay in the order in which they came. */
  #remove(habits: Habits, row: number): void {
    this.#countRow(habits.rows[row * WIDTH + 1], -1);
    habits.rows.copyWithin(row * WIDTH, (row + 1) * WIDTH, habits.count * WIDTH);
    habits.count--;
    habits.rows.fill(0, habits.count * WIDTH, (habits.count + 1) * WIDTH);
  }

  #countRow(slot: number, by: number): void {
    const count = (this.#rows.get(slot) ?? 0) + by;
    if (count === 0) this.#rows.delete(slot);
    else this.#rows.set(slot, count);
  }
}

function weightAt(place: number): number {
  return 1 / (place + 1);
}

/**
 * Returns the share that still counts after this time in ms, 0…1; 1 for what is of now, or later. Not by `2 ** x`, of which Node 22 and
 * Node 24 round some results differently.
 */
function keptOver(time: number): number {
  return time > 0 ? Math.exp((-Math.LN2 * time) / HALF_LIFE) : 1;
}

function isOf({ rows }: Habits, row: number, item: number, slot: number): boolean {
  return rows[row * WIDTH] === item && rows[row * WIDTH + 1] === slot;
}

function fewest({ rows, count }: Habits): number {
  let [least, found] = [Number.POSITIVE_INFINITY, 0];
  for (let row = 0; row < count; row++) {
    const trials = rows[row * WIDTH + 2] + rows[row * WIDTH + 3];
    if (trials < least) [least, found] = [trials, row];
  }
  return found;
}
