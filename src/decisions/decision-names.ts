import { crc32 } from 'node:zlib';
import { SegmentLog, type SegmentLogOptions } from '../storage/segment-log.ts';

/** Gives names of tools and other texts numbers, so that a decision need not spell them out. */
export interface NumberedNames {
  /** @throws Error for a name without a number */
  numberOf(name: string): number;
  /** Returns undefined for a number that was never given. After damage it may be another name than the one it was given to. */
  at(number: number): string | undefined;
  /** Returns the checksum of the name that has this number; 0 for a number that was never given. */
  checksumOf(number: number): number;
}

/** Thrown when a decision cannot be read because names of its candidates are lost. */
export class LostNamesError extends Error {
  override readonly name = 'LostNamesError';
  readonly suggestedFix =
    'Restore the data folder from a backup to have it again, or do without this decision; newer ones are not affected.';

  constructor(decisionId: string) {
    super(
      `Decision "${decisionId}" cannot be read any more: its tools are stored as numbers, and the log of their names was damaged and cut off.`,
    );
  }
}

const READ_BATCH = 10_000;

/**
 * The names of all tools that were ever candidates of one catalog, the hashes of the definitions that were shown, and what decisions
 * have in common with others, in a log of their own: a name's number is that of its record. It is never deleted from: a name takes
 * some fifty bytes, once. Where damage has cut it off, the next names get the lost numbers
 * again; decisions hold a checksum of their names, so that no one reads the wrong ones.
 */
export class DecisionNames implements NumberedNames {
  readonly #log: SegmentLog;
  readonly #numbers = new Map<string, number>();
  readonly #names: string[] = [];
  readonly #checksums: number[] = [];

  private constructor(log: SegmentLog) {
    this.#log = log;
  }

  /** @throws StoreUnavailableError; StorageCorruptError, which names file and byte */
  static async open(folder: string, options: SegmentLogOptions): Promise<DecisionNames> {
    const names = new DecisionNames(await SegmentLog.open(folder, options));
    try {
      await names.#readAll();
      return names;
    } catch (error) {
      await names.close();
      throw error;
    }
  }

  async #readAll(): Promise<void> {
    for (let after = 0; after < this.#log.last; ) {
      for (const { sequence, bytes } of await this.#log.read(after, READ_BATCH)) {
        this.#add(JSON.parse(Buffer.from(bytes).toString()), sequence);
        after = sequence;
      }
    }
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

  at(number: number): string | undefined {
    return this.#names[number];
  }

  checksumOf(number: number): number {
    return this.#checksums[number] ?? 0;
  }

  close(): Promise<void> {
    return this.#log.close();
  }

  #add(name: string, number: number): void {
    this.#names[number] = name;
    this.#checksums[number] = nameChecksum(name);
    this.#numbers.set(name, number);
  }
}

export function nameChecksum(name: string): number {
  return crc32(JSON.stringify(name)); // as UTF-8 alone, halves of surrogate pairs would be alike
}
