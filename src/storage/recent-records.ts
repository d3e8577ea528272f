/** The newest records of a log in memory, without gaps, up to a number of bytes. */
export class RecentRecords {
  readonly #maxBytes: number;
  /** Records from `#start` on are held; slots before it are empty and reclaimed now and then. */
  #records: Uint8Array[] = [];
  #start = 0;
  #first = 1;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Adds the record with this sequence number. */
  push(sequence: number, bytes: Uint8Array): void {
    if (sequence !== this.#first + this.#records.length - this.#start) this.#clear(sequence);
    this.#records.push(bytes);
    this.#bytes += bytes.length;
    while (this.#bytes > this.#maxBytes) this.#shift();
    if (this.#start > 1024 && this.#start * 2 > this.#records.length) {
      this.#records = this.#records.slice(this.#start);
      this.#start = 0;
    }
  }

  /** At most `limit` records after `after`, or null when the first of them is not held. */
  after(after: number, limit: number): Uint8Array[] | null {
    const from = this.#start + after + 1 - this.#first;
    if (from < this.#start || from >= this.#records.length) return null;
    return this.#records.slice(from, from + limit);
  }

  #shift(): void {
    this.#bytes -= this.#records[this.#start].length;
    this.#records[this.#start++] = EMPTY;
    this.#first++;
  }

  #clear(first: number): void {
    this.#records = [];
    this.#start = 0;
    this.#bytes = 0;
    this.#first = first;
  }
}

const EMPTY = new Uint8Array(0);
