const NEWLINE = 10;
/** How much of a line that is too long is kept from its beginning and from its end, bytes. */
const ENDS = 1_000;

/** Cuts a stream of bytes into lines of UTF-8, in time and memory linear in the length of a line. */
export class LineReader {
  readonly #maxBytes: number;
  readonly #onLine: (line: string) => void;
  readonly #onTooLong: (head: string, tail: string) => void;
  #chunks: Buffer[] = [];
  #size = 0;
  #head: string | null = null;

  /** @param onTooLong gets both ends of a line of more than `maxBytes`. */
  constructor(
    maxBytes: number,
    onLine: (line: string) => void,
    onTooLong: (head: string, tail: string) => void,
  ) {
    this.#maxBytes = maxBytes;
    this.#onLine = onLine;
    this.#onTooLong = onTooLong;
  }

  read(chunk: Buffer): void {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      this.#add(chunk.subarray(from, end));
      this.#finish();
      from = end + 1;
    }
    if (from < chunk.length) this.#add(chunk.subarray(from));
  }

  #add(part: Buffer): void {
    this.#chunks.push(part);
    this.#size += part.length;
    if (this.#size <= this.#maxBytes) return;
    const all = Buffer.concat(this.#chunks);
    this.#head ??= all.toString('utf8', 0, ENDS);
    this.#chunks = [Buffer.from(all.subarray(-ENDS))];
    this.#size = this.#chunks[0].length;
  }

  #finish(): void {
    const line = Buffer.concat(this.#chunks).toString('utf8');
    const head = this.#head;
    this.#chunks = [];
    this.#size = 0;
    this.#head = null;
    if (head === null) this.#onLine(line);
    else this.#onTooLong(head, line.slice(-ENDS));
  }
}
