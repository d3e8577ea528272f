import { createHash } from 'node:crypto';
import { UsageSignals } from '../../bandit/ranking/usage-signals.ts';
import { packDocument, unpackDocument } from '../storage/packed-document.ts';

/** Keys of uses that are remembered, so that none counts twice. */
export const REMEMBERED_KEYS = 256;
/** Clocks on earth are at most 14 hours from UTC. */
export const MOST_UTC_OFFSET_MINUTES = 14 * 60;

const TAG = 0x75;
const VERSION = 2;
const HOURS = 24;
const WEEKDAYS = 7;
const SHORT = 32_767;
/** A scale of 0 says that there are no queries. */
const SMALLEST = 2 ** -126;
const KINDS = ['places', 'tools', 'items'] as const;

/** A use of items as it is reported. */
export interface ReportedUse {
  /** The same key of the same user counts once, among the last 256. */
  readonly key: string;
  /** Ids; those that the user does not have do not count. */
  readonly items: readonly string[];
  readonly tool?: string | undefined;
  /** Where the user was. */
  readonly place?: string | undefined;
  /** ms since the epoch. Later than now counts as now. */
  readonly at: number;
  /** Of the user's clock, −840 … 840; absent: UTC. Habits are read by the hour and the weekday of that clock. */
  readonly utcOffsetMinutes?: number | undefined;
  /** What the items were used for: the embedding of the query, of unit length, and the fingerprint of the embedder that made it. */
  readonly query?: { readonly fingerprint: string; readonly embedding: Float32Array } | undefined;
}

/**
 * Returns a time as a clock shows it where the user is, in seconds: what `UsageSignals` and the features of context are given.
 * @param at ms since the epoch
 * @throws RangeError for what is no time, or an offset beyond 14 hours
 */
export function localSeconds(at: number, utcOffsetMinutes = 0): number {
  if (!Number.isFinite(at) || at < 0) throw new RangeError(`${at} is no time of a use.`);
  if (!(Math.abs(utcOffsetMinutes) <= MOST_UTC_OFFSET_MINUTES)) {
    throw new RangeError(
      `A clock is at most ${MOST_UTC_OFFSET_MINUTES} minutes from UTC, not ${utcOffsetMinutes}.`,
    );
  }
  return at / 1000 + utcOffsetMinutes * 60;
}

/**
 * How the items of one user were used (Context Tuning, §3.2): `UsageSignals` of each, the keys of the uses that were counted, and how
 * they are stored. Bounded by the items that the user has.
 */
export class UserSignals {
  readonly #rows = new Map<string, UsageSignals>();
  #changes = 0;
  #newest = Number.NaN;
  #fingerprint: string | null = null;
  /** Oldest first. */
  #keys: number[] = [];

  /** Returns how an item was used; undefined: it was not. */
  of(item: string): UsageSignals | undefined {
    return this.#rows.get(item);
  }

  /** The items that were used. */
  used(): IterableIterator<string> {
    return this.#rows.keys();
  }

  /** How often an item was added to those that were used, or deleted from them. */
  get changes(): number {
    return this.#changes;
  }

  /** When anything was used last, in seconds as the user's clock showed; NaN: never. */
  get newest(): number {
    return this.#newest;
  }

  /** Adds a use. Returns false, and changes nothing, if its key was added before. @throws RangeError as `localSeconds` */
  add(use: ReportedUse, now: number): boolean {
    const time = localSeconds(Math.min(use.at, now), use.utcOffsetMinutes);
    const key = keyNumber(use.key);
    if (this.#keys.includes(key)) return false;
    this.#keys = [...this.#keys, key].slice(-REMEMBERED_KEYS);
    if (use.query !== undefined) this.compareWith(use.query.fingerprint);
    const items = [...new Set(use.items)];
    for (const item of items) {
      this.#rowOf(item).note({
        time,
        place: use.place ?? null,
        tools: use.tool === undefined ? [] : [use.tool],
        items: items.filter((other) => other !== item),
        query: use.query?.embedding ?? null,
      });
    }
    this.#newest = Number.isNaN(this.#newest) ? time : Math.max(this.#newest, time);
    return true;
  }

  /** Forgets the queries that another embedder made: they cannot be compared with those of this one. */
  compareWith(fingerprint: string | null): void {
    if (this.#fingerprint === fingerprint) return;
    this.#fingerprint = fingerprint;
    for (const row of this.#rows.values()) row.queries = null;
  }

  /** Forgets everything about items that are not among these. */
  keepOnly(items: ReadonlySet<string>): void {
    this.#changes++;
    for (const [item, row] of this.#rows) {
      if (!items.has(item)) this.#rows.delete(item);
      else for (const other of row.items.keys()) if (!items.has(other)) row.items.delete(other);
    }
  }

  /** About how much memory they take. */
  get bytes(): number {
    let bytes = 400;
    for (const { places, tools, items, queries } of this.#rows.values()) {
      bytes += 1_000 + 100 * (places.size + tools.size + items.size) + (queries?.byteLength ?? 0);
    }
    return bytes;
  }

  /** Counts as 32-bit floats, sums of queries in 16 bits a number with a scale. */
  pack(): Buffer {
    const rows = [...this.#rows];
    const names: string[] = [];
    const numbers = new Map<string, number>();
    const numberOf = (name: string): number => {
      const known = numbers.get(name);
      if (known !== undefined) return known;
      numbers.set(name, names.length);
      return names.push(name) - 1;
    };
    const asked = rows.flatMap(([, { queries }]) => (queries === null ? [] : [queries]));
    const shorts = new Int16Array(asked.reduce((sum, queries) => sum + queries.length, 0));
    const scales = new Float32Array(rows.length);
    const links: number[] = [];
    const weights: number[] = [];
    let start = 0;
    for (const [at, [, row]] of rows.entries()) {
      if (row.queries !== null) {
        scales[at] = quantise(row.queries, shorts.subarray(start, start + row.queries.length));
        start += row.queries.length;
      }
      for (const [kind, name] of KINDS.entries()) {
        for (const [to, weight] of row[name]) {
          links.push(at, kind, numberOf(to));
          weights.push(weight);
        }
      }
    }
    const json = {
      version: VERSION,
      fingerprint: this.#fingerprint,
      dimensions: asked[0]?.length ?? 0,
      ids: rows.map(([id]) => id),
      names,
    };
    return packDocument(TAG, json, [
      Float64Array.from(rows.flatMap(([, { uses, lastUsed }]) => [uses, lastUsed])),
      Float32Array.from(rows.flatMap(([, { hours, weekdays }]) => [...hours, ...weekdays])),
      Uint32Array.from(links),
      Float32Array.from(weights),
      scales,
      new Uint8Array(shorts.buffer),
      Float64Array.of(this.#newest, ...this.#keys),
    ]);
  }

  /** @throws Error when another version of Bandolier wrote them */
  static unpack(bytes: Uint8Array): UserSignals {
    const { json, arrays } = unpackDocument(TAG, bytes);
    const { version, fingerprint, dimensions, ids, names } = json as {
      readonly version: number;
      readonly fingerprint: string | null;
      readonly dimensions: number;
      readonly ids: readonly string[];
      readonly names: readonly string[];
    };
    if (version !== VERSION) {
      throw new Error(
        `Usage signals are kept in format ${version}, and this version of Bandolier reads format ${VERSION}: use the version that wrote them, or erase the user.`,
      );
    }
    const [uses, times, links, weights, scales, packed, keys] = arrays as [
      Float64Array,
      Float32Array,
      Uint32Array,
      Float32Array,
      Float32Array,
      Uint8Array,
      Float64Array,
    ];
    const shorts = new Int16Array(packed.buffer, packed.byteOffset, packed.byteLength / 2);
    const signals = new UserSignals();
    signals.#fingerprint = fingerprint;
    signals.#newest = keys[0];
    signals.#keys = [...keys.subarray(1)];
    let start = 0;
    const rows = ids.map((id, at) => {
      const row = signals.#rowOf(id);
      const own = times.subarray(at * (HOURS + WEEKDAYS), (at + 1) * (HOURS + WEEKDAYS));
      row.uses = uses[2 * at];
      row.lastUsed = uses[2 * at + 1];
      row.hours.set(own.subarray(0, HOURS));
      row.weekdays.set(own.subarray(HOURS));
      if (scales[at] > 0) {
        const queries = shorts.subarray(start, start + dimensions);
        row.queries = Float32Array.from(queries, (value) => value * scales[at]);
        start += dimensions;
      }
      return row;
    });
    for (let at = 0; at < weights.length; at++) {
      const [row, kind, name] = links.subarray(3 * at, 3 * at + 3);
      rows[row][KINDS[kind]].set(names[name], weights[at]);
    }
    return signals;
  }

  #rowOf(item: string): UsageSignals {
    const known = this.#rows.get(item);
    if (known !== undefined) return known;
    const row = new UsageSignals();
    this.#rows.set(item, row);
    this.#changes++;
    return row;
  }
}

/** Rounds to sixteen bits; the largest number becomes ±32,767. Returns the scale, which is above 0 also for zeros. */
function quantise(values: Float32Array, target: Int16Array): number {
  let largest = 0;
  for (const value of values) largest = Math.max(largest, Math.abs(value));
  if (!(largest > 0)) return 1;
  for (let j = 0; j < values.length; j++) target[j] = Math.round((values[j] / largest) * SHORT);
  return Math.max(largest / SHORT, SMALLEST);
}

/** 48 bits of the key: two of the last 256 are mistaken for each other once in 10^12 uses. */
function keyNumber(key: string): number {
  return createHash('sha256').update(key).digest().readUIntBE(0, 6);
}
