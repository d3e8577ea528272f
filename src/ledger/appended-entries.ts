import type { Entry, Position } from './entry.ts';
import type { PositionedEntry } from './ledger.ts';

/** Those who follow a ledger read what was appended within milliseconds. */
const MOST = 256;

/**
 * The newest observations that were appended here, without gaps: who reads them at once gets them as they were appended, and they
 * need not be decoded again. Only those are kept that their bytes give back, so that a follower folds exactly what a replay
 * will fold; an optional member that is undefined counts as absent.
 */
export class AppendedEntries {
  /** Oldest first. */
  readonly #entries: PositionedEntry[] = [];

  /** Adds the newest entry. */
  push(position: Position, entry: Entry): void {
    const newest = this.#entries.at(-1)?.position;
    const isKept = entry.kind === 'observation' && survivesJson(entry);
    if (!isKept || newest !== position - 1) this.#entries.length = 0;
    if (isKept) this.#entries.push({ position, entry });
    if (this.#entries.length > MOST) this.#entries.shift();
  }

  /** At most `limit` entries after `after`, or null when the first of them is not held. What comes before it is held no longer. */
  after(after: Position, limit: number): PositionedEntry[] | null {
    const read = this.#entries.findIndex(({ position }) => position > after);
    this.#entries.splice(0, read < 0 ? this.#entries.length : read);
    return this.#entries[0]?.position === after + 1 ? this.#entries.slice(0, limit) : null;
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
