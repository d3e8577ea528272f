import type { RedisClient } from './redis-connection.ts';

/** Together they may be large, and Redis does nothing else while it writes them. */
const MOST_AT_ONCE = 100;

interface Wanted {
  readonly key: string;
  readonly resolve: (values: (Buffer | null)[]) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Reads the same fields of many hashes. What is asked for in one turn of the event loop goes to Redis in one piece:
 * a hundred small writes to a socket take longer than all the rest. On a cluster the keys have to share a hash tag.
 */
export class HashReader {
  readonly #client: RedisClient;
  readonly #fields: readonly string[];
  #wanted: Wanted[] = [];

  constructor(client: RedisClient, fields: readonly string[]) {
    this.#client = client;
    this.#fields = fields;
  }

  /** Null for each field that is not there. */
  get(key: string): Promise<(Buffer | null)[]> {
    return new Promise((resolve, reject) => {
      if (this.#wanted.length === 0) setImmediate(() => this.#readWanted());
      this.#wanted.push({ key, resolve, reject });
    });
  }

  #readWanted(): void {
    const wanted = this.#wanted;
    this.#wanted = [];
    for (let from = 0; from < wanted.length; from += MOST_AT_ONCE) {
      void this.#read(wanted.slice(from, from + MOST_AT_ONCE));
    }
  }

  async #read(wanted: readonly Wanted[]): Promise<void> {
    try {
      const pipeline = this.#client.pipeline();
      for (const { key } of wanted) pipeline.hmgetBuffer(key, ...this.#fields);
      const answers = (await pipeline.exec()) ?? [];
      for (const [at, { resolve, reject }] of wanted.entries()) {
        const [error, values] = answers[at];
        if (error === null) resolve(values as (Buffer | null)[]);
        else reject(error);
      }
    } catch (error) {
      for (const { reject } of wanted) reject(error as Error);
    }
  }
}
