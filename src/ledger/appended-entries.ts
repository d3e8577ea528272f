import type { Entry, Position } from './entry.ts';
import type { PositionedEntry } from './ledger.ts';

/** Those who follow a ledger read what was appended within milliseconds. As objects these bytes take up to ten times as many. */
const MOST_BYTES = 512 * 1024;

/**
 * The newest observations that were appended here, without gaps: who reads them at once gets them as they were appended, and they
 * need not be decoded again. Only those are kept that their bytes give back, so that a follower folds exactly what a replay
 * will fold; an optional member that is undefined counts as absent.
 */
export class AppendedEntries {
  /** Oldest first, and the bytes of each. */
  readonly #entries: PositionedEntry[] = [];
  readonly #sizes: number[] = [];
  #bytes = 0;

  /**
   * Adds the newest entry, and drops the oldest that there is no room for.
   * @param bytes of its record
   */
  push(position: Position, entry: Entry, bytes: number): void {
    const newest = this.#entries.at(-1)?.position;
    const isKept = entry.kind === 'observation' && survivesJson(entry);
    if (!isKept || newest !== position - 1) this.#drop(this.#entries.length);
    if (!isKept) return;
    this.#entries.push({ position, entry });
    this.#sizes.push(bytes);
    this.#bytes += bytes;
    while (this.#bytes > MOST_BYTES) this.#drop(1);
  }

  /** At most `limit` entries after `after`, or null when the first of them is not held. What comes before it is held no longer. */
  after(after: Position, limit: number): PositionedEntry[] | null {
    const read = this.#entries.findIndex(({ position }) => position > after);
    this.#drop(read < 0 ? this.#entries.length : read);
    return this.#entries[0]?.position === after + 1 ? this.#entries.slice(0, limit) : null;
  }

  #drop(count: number): void {
    this.#entries.splice(0, count);
    for (const bytes of this.#sizes.splice(0, count)) this.#bytes -= bytes;
  }
}

/** Returns whether JSON gives a value back. Arrays of numbers are written bit for bit. */
function survivesJson(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0);
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return true;
  if (Array.isArray(value)) return value.every((element) => element !== undefined && survivesJson(element));
  for (const key in value) if (!survivesJson((value as Record<string, unknown>)[key])) return false;
  return true;
}
