import { Redis } from 'ioredis';

/** Looks into a Redis: what takes how much memory. */
export class RedisMemory {
  readonly #client: Redis;

  constructor(url: string) {
    this.#client = new Redis(url);
  }

  /** Bytes of all data, its keys and their tables. */
  async used(): Promise<number> {
    return Number(/used_memory_dataset:(\d+)/.exec(await this.#client.info('memory'))?.[1]);
  }

  /** Bytes of one key with everything in it. */
  async of(catalog: string, part: string): Promise<number> {
    const key = `bandolier:{${catalog}}:${part}`;
    return Number((await this.#client.memory('USAGE', key, 'SAMPLES', 0)) ?? 0);
  }

  /** Bytes of each snapshot that is kept, newest first. */
  async snapshots(catalog: string): Promise<number[]> {
    const members = await this.#client.zrevrange(`bandolier:{${catalog}}:snapshots`, 0, -1);
    const sizes = members.map(async (member) => {
      const [position, parts] = member.split('/').map(Number);
      let bytes = 0;
      for (let part = 0; part < parts; part++)
        bytes += await this.of(catalog, `snapshot:${position}:${part}`);
      return bytes;
    });
    return Promise.all(sizes);
  }

  close(): void {
    this.#client.disconnect();
  }
}
