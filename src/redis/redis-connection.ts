import { Cluster, Redis, type RedisOptions } from 'ioredis';

/** A single server or a cluster: commands are the same. */
export type RedisClient = Redis | Cluster;

/** Redis cannot be used; the message says why and what to do. */
export class RedisUnusableError extends Error {
  override readonly name = 'RedisUnusableError';
}

const CONNECT_TIMEOUT_MS = 4_000;
const MINIMUM_VERSION = [6, 2] as const;

/**
 * Connections to one Redis. Commands fail at once while it is away and work again when it is back; nothing is
 * queued in memory and forgotten.
 */
export class RedisConnections {
  readonly #url: string;
  readonly #isCluster: boolean;
  readonly #open = new Set<RedisClient>();
  /** For everything that does not block. */
  readonly commands: RedisClient;

  private constructor(url: string, isCluster: boolean) {
    this.#url = url;
    this.#isCluster = isCluster;
    this.commands = this.another({ enableOfflineQueue: false, maxRetriesPerRequest: 1 });
  }

  /** @throws RedisUnusableError within five seconds when it cannot be reached, refuses us, or is too old. */
  static async open(url: string): Promise<RedisConnections> {
    const { isCluster } = await inspect(url);
    const connections = new RedisConnections(url, isCluster);
    await ready(connections.commands);
    return connections;
  }

  get isCluster(): boolean {
    return this.#isCluster;
  }

  /** One more connection, for commands that block or for a library that wants its own. */
  another(options: RedisOptions = {}): RedisClient {
    const client = this.#isCluster
      ? new Cluster([this.#url], {
          redisOptions: options,
          enableOfflineQueue: options.enableOfflineQueue ?? true,
        })
      : new Redis(this.#url, { ...options, retryStrategy: (attempt) => Math.min(2_000, 50 * attempt) });
    // Without a listener an error event ends the process; whoever sends a command hears of it anyway.
    client.on('error', () => {});
    client.on('end', () => this.#open.delete(client));
    this.#open.add(client);
    return client;
  }

  close(): void {
    for (const client of this.#open) client.disconnect();
    this.#open.clear();
  }
}

function ready(client: RedisClient): Promise<void> {
  if (client.status === 'ready') return Promise.resolve();
  return new Promise((resolve) => client.once('ready', () => resolve()));
}

async function inspect(url: string): Promise<{ isCluster: boolean }> {
  const client = new Redis(url, {
    lazyConnect: true,
    connectTimeout: CONNECT_TIMEOUT_MS,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  let cause: Error | null = null;
  client.on('error', (error) => {
    cause = error;
  });
  try {
    await client.connect();
    const info = await client.info();
    checkVersion(/redis_version:(\d+)\.(\d+)/.exec(info));
    return { isCluster: /cluster_enabled:1/.test(info) };
  } catch (error) {
    if (error instanceof RedisUnusableError) throw error;
    throw unusable(url, cause ?? (error as Error));
  } finally {
    client.disconnect();
  }
}

function checkVersion(match: RegExpExecArray | null): void {
  const [major, minor] = [Number(match?.[1] ?? 0), Number(match?.[2] ?? 0)];
  const [needMajor, needMinor] = MINIMUM_VERSION;
  if (major > needMajor || (major === needMajor && minor >= needMinor)) return;
  throw new RedisUnusableError(
    `Redis ${major}.${minor} is too old: version ${needMajor}.${needMinor} or newer is needed.`,
  );
}

function unusable(url: string, error: Error): RedisUnusableError {
  const where = withoutSecrets(url);
  const message = error.message;
  if (/WRONGPASS|NOAUTH|invalid password|without any password/i.test(message)) {
    return new RedisUnusableError(
      `Redis at ${where} refuses the password in REDIS_URL (redis://:password@host:port).`,
      { cause: error },
    );
  }
  return new RedisUnusableError(
    `Redis at ${where} cannot be reached: ${message}. Start it, correct REDIS_URL, or unset it to run without Redis.`,
    { cause: error },
  );
}

function withoutSecrets(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname === '/' ? '' : pathname}`;
}
