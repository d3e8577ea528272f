import { SegmentLog, type SegmentLogOptions } from '../storage/segment-log.ts';

/** Gives the names of tools numbers, so that a decision need not spell its candidates out. */
export interface NumberedNames {
  /** @throws Error for a name without a number */
  numberOf(name: string): number;
  /** @throws Error for a number that was never given */
  at(number: number): string;
}

const READ_BATCH = 10_000;

/**
 * The names of all tools that were ever candidates of one catalog, in a log of their own: a name's number is that of its record.
 * It is never deleted from: a name takes some fifty bytes, once.
 */
export class DecisionNames implements NumberedNames {
  readonly #log: SegmentLog;
  readonly #numbers = new Map<string, number>();
  readonly #names: string[] = [];

  private constructor(log: SegmentLog) {
    this.#log = log;
  }

  /** @throws StoreUnavailableError; StorageCorruptError, which names file and byte */
  static async open(folder: string, options: SegmentLogOptions): Promise<DecisionNames> {
    const names = new DecisionNames(await SegmentLog.open(folder, options));
    for (let after = 0; after < names.#log.last; ) {
      for (const { sequence, bytes } of await names.#log.read(after, READ_BATCH)) {
        names.#add(JSON.parse(Buffer.from(bytes).toString()), sequence);
        after = sequence;
      }
    }
    return names;
  }

  /** Gives numbers to those names that have none. They are durable when it resolves. @throws StoreUnavailableError */
  async add(names: readonly string[]): Promise<void> {
    if (names.every((name) => this.#numbers.has(name))) return;
    const fresh = [...new Set(names.filter((name) => !this.#numbers.has(name)))];
    const { last } = await this.#log.append(fresh.map((name) => Buffer.from(JSON.stringify(name))));
    // A name that two calls add at a time has two numbers, and either is right.
    for (const [i, name] of fresh.entries()) this.#add(name, last - fresh.length + 1 + i);
  }

  numberOf(name: string): number {
    const number = this.#numbers.get(name);
    if (number === undefined) throw new Error(`The tool "${name}" has no number.`);
    return number;
  }

  at(number: number): string {
    const name = this.#names[number];
    if (name === undefined)
      throw new Error(`The names of candidates in "${this.#log.folder}" end before number ${number}.`);
    return name;
  }

  close(): Promise<void> {
    return this.#log.close();
  }

  #add(name: string, number: number): void {
    this.#names[number] = name;
    this.#numbers.set(name, number);
  }
}
