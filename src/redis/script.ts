import { createHash } from 'node:crypto';
import type { ChainableCommander } from 'ioredis';
import type { RedisClient } from './redis-connection.ts';

export type ScriptArgument = string | number | Buffer;

/** Runs scripts: a connection, or `GatheredCommands`. */
export interface ScriptRunner {
  evalsha(hash: string, keys: number, ...rest: ScriptArgument[]): Promise<unknown>;
  eval(source: string, keys: number, ...rest: ScriptArgument[]): Promise<unknown>;
}

/** A Lua script that runs by its hash, and is sent whole when the server does not know it (any more). */
export class Script {
  readonly #source: string;
  readonly #hash: string;

  constructor(source: string) {
    this.#source = source;
    this.#hash = createHash('sha1').update(source).digest('hex');
  }

  async run(
    runner: ScriptRunner,
    keys: readonly string[],
    args: readonly ScriptArgument[],
  ): Promise<unknown> {
    try {
      return await runner.evalsha(this.#hash, keys.length, ...keys, ...args);
    } catch (error) {
      if (!(error as Error).message.startsWith('NOSCRIPT')) throw error;
      return runner.eval(this.#source, keys.length, ...keys, ...args);
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

interface Given {
  readonly add: (pipeline: ChainableCommander) => unknown;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Sends the commands of one turn of the event loop to Redis in one pipeline: a hundred small writes to a socket take
 * longer than all the rest. On a cluster the keys of one turn have to share a hash tag.
 */
export class GatheredCommands implements ScriptRunner {
  readonly #client: RedisClient;
  #given: Given[] = [];

  constructor(client: RedisClient) {
    this.#client = client;
  }

  /** Null for each field that is not there. */
  hmgetBuffer(key: string, ...fields: string[]): Promise<(Buffer | null)[]> {
    return this.#give((pipeline) => pipeline.hmgetBuffer(key, ...fields)) as Promise<(Buffer | null)[]>;
  }

  evalsha(hash: string, keys: number, ...rest: ScriptArgument[]): Promise<unknown> {
    return this.#give((pipeline) => pipeline.evalsha(hash, keys, ...rest));
  }

  eval(source: string, keys: number, ...rest: ScriptArgument[]): Promise<unknown> {
    return this.#give((pipeline) => pipeline.eval(source, keys, ...rest));
  }

  #give(add: Given['add']): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#given.length === 0) setImmediate(() => this.#sendAll());
      this.#given.push({ add, resolve, reject });
    });
  }

  #sendAll(): void {
    const given = this.#given;
    this.#given = [];
    for (let from = 0; from < given.length; from += MOST_AT_ONCE) {
      void this.#send(given.slice(from, from + MOST_AT_ONCE));
    }
  }

  async #send(given: readonly Given[]): Promise<void> {
    try {
      const pipeline = this.#client.pipeline();
      for (const { add } of given) add(pipeline);
      const answers = (await pipeline.exec()) ?? [];
      for (const [at, { resolve, reject }] of given.entries()) {
        const [error, answer] = answers[at];
        if (error === null) resolve(answer);
        else reject(error);
      }
    } catch (error) {
      for (const { reject } of given) reject(error as Error);
    }
  }
}
