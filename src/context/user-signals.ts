import { packDocument, unpackDocument } from '../storage/packed-document.ts';

const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;
/** After this time a use counts half; ms. */
export const HALF_LIFE_MS = 30 * DAY_MS;
/** Of one item: places, tools, and items that were used with it. When there is one more, the lightest gives way. */
const MOST_LINKS = { places: 8, tools: 8, items: 16 } as const;
/** Keys of uses that are remembered, so that none counts twice. */
export const REMEMBERED_KEYS = 256;
/** Half-lives between the base of weights and the newest use: as 32-bit floats they grow to 2^24 and no further. */
const MOST_HALF_LIVES = 24;
/** 1 January 1970 was a Thursday; weekdays are counted from Monday. */
const FIRST_WEEKDAY = 3;

const TAG = 0x75;
const VERSION = 1;
const HOURS = 24;
const WEEKDAYS = 7;
/** Columns of the dense part: uses, helped, hours, weekdays. */
const COLUMNS = 2 + HOURS + WEEKDAYS;
const KINDS = ['places', 'tools', 'items'] as const;

/** Items that were used, and how that went. */
export interface ItemUse {
  /** The same key counts once. 48 bits, see `keyNumber`. */
  readonly key: number;
  /** Ids; those that the user does not have do not count. */
  readonly items: readonly string[];
  readonly tool?: string;
  readonly place?: string;
  /** ms since the epoch. Later than `now` counts as `now`. */
  readonly at: number;
  /** How well it went, 0 … 1. */
  readonly outcome: number;
}

/**
 * How an item was used. Weights are comparable with each other only: multiply one by `UsageSignals.scaleAt(now)` to have it in
 * uses, of which one now counts 1, and one a half-life ago 1/2. Hours and weekdays (from Monday) are those of UTC.
 */
export interface ItemUsage {
  readonly uses: number;
  /** The same, each use times its outcome. */
  readonly helped: number;
  /** ms since the epoch. */
  readonly lastUsedAt: number;
  /** 24 weights. */
  readonly hours: Float32Array;
  /** 7 weights. */
  readonly weekdays: Float32Array;
  readonly places: ReadonlyMap<string, number>;
  readonly tools: ReadonlyMap<string, number>;
  /** Other items that were used at the same time, by id. */
  readonly items: ReadonlyMap<string, number>;
}

interface Row {
  /** uses, helped, 24 hours, 7 weekdays */
  readonly dense: Float32Array;
  lastUsedAt: number;
  readonly places: Map<string, number>;
  readonly tools: Map<string, number>;
  readonly items: Map<string, number>;
}

/**
 * The usage signals of one user (Context Tuning, §3.2: numerical, categorical and habitual): per item how often, when, where, with
 * which tools and which other items.
 *
 * A use at time `a` adds 2^((a − base) / half-life) to each weight that it concerns, and everything is read as divided by that of
 * the newest time. So weights do not depend on the order in which uses are told: a clock that goes back makes a use older, and
 * nothing else. Times that are read are never before the newest use, so that no age is negative.
 */
export class UsageSignals {
  /** Time at which a use weighs 1, ms since the epoch. It moves by whole half-lives, which is exact for floats. */
  #base = 0;
  #newest = 0;
  readonly #rows = new Map<string, Row>();
  /** Oldest first. */
  #keys: number[] = [];

  /** Returns how an item was used; undefined: it was not. */
  of(item: string): ItemUsage | undefined {
    const row = this.#rows.get(item);
    return row && usageOf(row);
  }

  /** The items that were used. */
  used(): IterableIterator<string> {
    return this.#rows.keys();
  }

  /** The time of the newest use, ms since the epoch; 0: there is none. */
  get newest(): number {
    return this.#newest;
  }

  /** By which weights are multiplied to be counted in uses at that time. A time before the newest use is that of the newest use. */
  scaleAt(now: number): number {
    return 2 ** (-(Math.max(now, this.#newest) - this.#base) / HALF_LIFE_MS);
  }

  /** Adds a use. Returns false, and changes nothing, if its key was added before. @throws RangeError for what is no time or no outcome */
  add(use: ItemUse, now: number): boolean {
    if (!Number.isFinite(use.at) || use.at < 0) throw new RangeError(`${use.at} is no time of a use.`);
    if (!(use.outcome >= 0 && use.outcome <= 1))
      throw new RangeError(`${use.outcome} is no outcome from 0 to 1.`);
    if (this.#keys.includes(use.key)) return false;
    this.#keys = [...this.#keys, use.key].slice(-REMEMBERED_KEYS);
    const at = Math.min(use.at, now);
    this.#moveTo(at);
    const weight = 2 ** ((at - this.#base) / HALF_LIFE_MS);
    const items = [...new Set(use.items)];
    for (const item of items) {
      const row = this.#rowOf(item);
      row.lastUsedAt = Math.max(row.lastUsedAt, at);
      row.dense[0] += weight;
      row.dense[1] += weight * use.outcome;
      row.dense[2 + (Math.floor(at / HOUR_MS) % HOURS)] += weight;
      row.dense[2 + HOURS + ((Math.floor(at / DAY_MS) + FIRST_WEEKDAY) % WEEKDAYS)] += weight;
      if (use.place !== undefined) link(row.places, use.place, weight, MOST_LINKS.places);
      if (use.tool !== undefined) link(row.tools, use.tool, weight, MOST_LINKS.tools);
      for (const other of items) if (other !== item) link(row.items, other, weight, MOST_LINKS.items);
    }
    return true;
  }

  /** Forgets everything about items that are not among these. */
  keepOnly(items: ReadonlySet<string>): void {
    for (const [item, row] of this.#rows) {
      if (!items.has(item)) this.#rows.delete(item);
      else for (const other of row.items.keys()) if (!items.has(other)) row.items.delete(other);
    }
  }

  /** About how much memory they take. */
  get bytes(): number {
    let bytes = 400;
    for (const { places, tools, items } of this.#rows.values()) {
      bytes += 800 + 100 * (places.size + tools.size + items.size);
    }
    return bytes;
  }

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
    const dense = new Float32Array(rows.length * COLUMNS);
    const links: number[] = [];
    const weights: number[] = [];
    for (const [at, [, row]] of rows.entries()) {
      dense.set(row.dense, at * COLUMNS);
      for (const [kind, name] of KINDS.entries()) {
        for (const [to, weight] of row[name]) {
          links.push(at, kind, numberOf(to));
          weights.push(weight);
        }
      }
    }
    const json = {
      version: VERSION,
      base: this.#base,
      newest: this.#newest,
      ids: rows.map(([id]) => id),
      names,
    };
    return packDocument(TAG, json, [
      dense,
      Float64Array.from(rows, ([, { lastUsedAt }]) => lastUsedAt),
      Uint32Array.from(links),
      Float64Array.from(weights),
      Float64Array.from(this.#keys),
    ]);
  }

  /** @throws Error when another version of Bandolier wrote them */
  static unpack(bytes: Uint8Array): UsageSignals {
    const { json, arrays } = unpackDocument(TAG, bytes);
    const { version, base, newest, ids, names } = json as {
      readonly version: number;
      readonly base: number;
      readonly newest: number;
      readonly ids: readonly string[];
      readonly names: readonly string[];
    };
    if (version !== VERSION) {
      throw new Error(
        `Usage signals are kept in format ${version}, and this version of Bandolier reads format ${VERSION}: use the version that wrote them, or erase the user.`,
      );
    }
    const [dense, lastUsed, links, weights, keys] = arrays as [
      Float32Array,
      Float64Array,
      Uint32Array,
      Float64Array,
      Float64Array,
    ];
    const signals = new UsageSignals();
    signals.#base = base;
    signals.#newest = newest;
    signals.#keys = [...keys];
    const rows = ids.map((id, at) => {
      const row = newRow(dense.slice(at * COLUMNS, (at + 1) * COLUMNS), lastUsed[at]);
      signals.#rows.set(id, row);
      return row;
    });
    for (let at = 0; at < weights.length; at++) {
      const [row, kind, name] = links.subarray(3 * at, 3 * at + 3);
      rows[row][KINDS[kind]].set(names[name], weights[at]);
    }
    return signals;
  }

  #rowOf(item: string): Row {
    const known = this.#rows.get(item);
    if (known !== undefined) return known;
    const row = newRow(new Float32Array(COLUMNS), 0);
    this.#rows.set(item, row);
    return row;
  }

  /** Moves the base, so that the weight of a use at this time can be added. */
  #moveTo(at: number): void {
    if (this.#rows.size === 0) this.#base = at;
    this.#newest = Math.max(this.#newest, at);
    const halfLives = Math.floor((at - this.#base) / HALF_LIFE_MS);
    if (halfLives <= MOST_HALF_LIVES) return;
    this.#base += halfLives * HALF_LIFE_MS;
    const factor = 2 ** -halfLives;
    for (const { dense, places, tools, items } of this.#rows.values()) {
      for (let column = 0; column < COLUMNS; column++) dense[column] *= factor;
      for (const links of [places, tools, items]) {
        for (const [to, weight] of links) links.set(to, weight * factor);
      }
    }
  }
}

function newRow(dense: Float32Array, lastUsedAt: number): Row {
  return { dense, lastUsedAt, places: new Map(), tools: new Map(), items: new Map() };
}

function usageOf({ dense, lastUsedAt, places, tools, items }: Row): ItemUsage {
  return {
    uses: dense[0],
    helped: dense[1],
    lastUsedAt,
    hours: dense.subarray(2, 2 + HOURS),
    weekdays: dense.subarray(2 + HOURS),
    ...{ places, tools, items },
  };
}

/** Of one more than `most` the lightest gives way, unless the new one is lighter still. */
function link(links: Map<string, number>, to: string, weight: number, most: number): void {
  const known = links.get(to);
  if (known === undefined && links.size >= most) {
    let [lightest, least] = ['', Number.POSITIVE_INFINITY];
    for (const [name, value] of links) if (value < least) [lightest, least] = [name, value];
    if (least > weight) return;
    links.delete(lightest);
  }
  links.set(to, (known ?? 0) + weight);
}
