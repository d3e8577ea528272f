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
  /** Oldest first. */
  readonly #held: { readonly found: PositionedEntry; readonly bytes: number }[] = [];
  #bytes = 0;

  /**
   * Adds the newest entry, and drops the oldest that there is no room for.
   * @param bytes of its record
   */
  push(position: Position, entry: Entry, bytes: number): void {
    const newest = this.#held.at(-1)?.found.position;
    const isKept = entry.kind === 'observation' && survivesJson(entry);
    if (!isKept || newest !== position - 1) this.#drop(this.#held.length);
    if (!isKept) return;
    this.#held.push({ found: { position, entry }, bytes });
    this.#bytes += bytes;
    while (this.#bytes > MOST_BYTES) this.#drop(1);
  }

  /** At most `limit` entries after `after`, or null when the first of them is not held. What comes before it is held no longer. */
  after(after: Position, limit: number): PositionedEntry[] | null {
    const read = this.#held.findIndex(({ found }) => found.position > after);
    this.#drop(read < 0 ? this.#held.length : read);
    if (this.#held[0]?.found.position !== after + 1) return null;
    return this.#held.slice(0, limit).map(({ found }) => found);
  }

  #drop(count: number): void {
    for (const { bytes } of this.#held.splice(0, count)) this.#bytes -= bytes;
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
