import { createHash } from 'node:crypto';
import type { RedisClient } from './redis-connection.ts';

export type ScriptArgument = string | number | Buffer;

/** A Lua script that runs by its hash, and is sent whole when the server does not know it (any more). */
export class Script {
  readonly #source: string;
  readonly #hash: string;

  constructor(source: string) {
    this.#source = source;
    this.#hash = createHash('sha1').update(source).digest('hex');
  }

  async run(client: RedisClient, keys: readonly string[], args: readonly ScriptArgument[]): Promise<unknown> {
    try {
      return await client.evalsha(this.#hash, keys.length, ...keys, ...args);
    } catch (error) {
      if (!(error as Error).message.startsWith('NOSCRIPT')) throw error;
      return client.eval(this.#source, keys.length, ...keys, ...args);
    }
  }

  /** The same, for answers that hold bytes. */
  async runForBytes(
    client: RedisClient,
    keys: readonly string[],
    args: readonly ScriptArgument[],
  ): Promise<unknown> {
    try {
      return await client.callBuffer('EVALSHA', this.#hash, keys.length, ...keys, ...args);
    } catch (error) {
      if (!(error as Error).message.startsWith('NOSCRIPT')) throw error;
      return client.callBuffer('EVAL', this.#source, keys.length, ...keys, ...args);
    }
  }
}

/** Redis does nothing else while it runs them. */
const MOST_AT_ONCE = 100;

interface Asked<Item, Answer> {
  readonly item: Item;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Does what is asked for in one turn of the event loop in one call of a script, a hundred at a time: for Redis and for this
 * process a hundred small commands take several times as long. On a cluster the keys of one turn have to share a hash tag.
 */
export class GatheredCalls<Item, Answer> {
  readonly #call: (items: readonly Item[]) => Promise<readonly Answer[]>;
  #asked: Asked<Item, Answer>[] = [];

  /** @param call answers all of them in order, or fails for all */
  constructor(call: (items: readonly Item[]) => Promise<readonly Answer[]>) {
    this.#call = call;
  }

  ask(item: Item): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#asked.length === 0) setImmediate(() => this.#callAll());
      this.#asked.push({ item, resolve, reject });
    });
  }

  #callAll(): void {
    const asked = this.#asked;
    this.#asked = [];
    for (let from = 0; from < asked.length; from += MOST_AT_ONCE) {
      void this.#callSome(asked.slice(from, from + MOST_AT_ONCE));
    }
  }

  async #callSome(asked: readonly Asked<Item, Answer>[]): Promise<void> {
    try {
      const answers = await this.#call(asked.map(({ item }) => item));
      for (let i = 0; i < asked.length; i++) asked[i].resolve(answers[i]);
    } catch (error) {
      for (const { reject } of asked) reject(error as Error);
    }
  }
}
