/** Most rewards come within a minute; until then their decision need not be read from the disk. */
const MOST_BYTES = 16 * 1024 * 1024;

/** The newest decisions of a log as they were written, by id, up to a number of bytes. */
export class RecentDecisions {
  readonly #records = new Map<string, Uint8Array>();
  #bytes = 0;

  get(id: string): Uint8Array | undefined {
    return this.#records.get(id);
  }

  /** Adds a decision that is not in it, and drops the oldest that there is no room for. */
  add(id: string, bytes: Uint8Array): void {
    this.#records.set(id, bytes);
    this.#bytes += bytes.length;
    for (const oldest of this.#records.keys()) {
      if (this.#bytes <= MOST_BYTES) break;
      this.drop(oldest);
    }
  }

  drop(id: string): void {
    this.#bytes -= this.#records.get(id)?.length ?? 0;
    this.#records.delete(id);
  }
}
