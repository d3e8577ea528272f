import { createHash } from 'node:crypto';
import type { RedisClient } from './redis-connection.ts';

export type ScriptArgument = string | number | Buffer;

/** What a script can be given to: a connection, or `GatheredCommands`. */
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
