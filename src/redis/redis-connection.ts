import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { RedisEpoch } from './redis-epoch.ts';

/** A single server or a cluster: commands are the same. */
export type RedisClient = Redis | Cluster;

/** Redis cannot be used; the message says why and what to do. */
export class RedisUnusableError extends Error {
  override readonly name = 'RedisUnusableError';
}

/** Redis has to answer within this time, or the process does not start. */
const START_TIMEOUT_MS = 3_500;
/** A Redis that hangs is away like one that is gone. */
const COMMAND_TIMEOUT_MS = 2_000;
const MINIMUM_VERSION = [6, 2] as const;

/**
 * Connections to one Redis, a server or a cluster. `commands` is in one of these states:
 *
 * - *ready*: commands are sent, and fail after 2 s without an answer.
 * - *away*: the connection is lost, or cannot be made. Commands fail at once, none is queued in memory. It reconnects by
 *   itself, first after 50 ms, then less often, at least every 2 s.
 * - *closed*, by `close`: for good, with all connections that were made here.
 *
 * Connections from `another` may behave otherwise, as their options say.
 */
export class RedisConnections {
  readonly #url: string;
  readonly #isCluster: boolean;
  readonly #open = new Set<RedisClient>();
  /** For everything that does not block. */
  readonly commands: RedisClient;
  /** Which Redis this is. */
  readonly epoch: RedisEpoch;

  private constructor(url: string, isCluster: boolean, knownEpoch?: string) {
    this.#url = url;
    this.#isCluster = isCluster;
    this.commands = this.another({
      enableOfflineQueue: false,
      maxRetriesPerRequest: 1,
      commandTimeout: COMMAND_TIMEOUT_MS,
    });
    this.epoch = new RedisEpoch(this.commands, knownEpoch);
  }

  /**
   * @param knownEpoch of another thread of this process
   * @throws RedisUnusableError within five seconds when it cannot be reached, refuses us, or is too old.
   */
  static async open(url: string, knownEpoch?: string): Promise<RedisConnections> {
    const deadline = performance.now() + START_TIMEOUT_MS;
    const { isCluster } = await inspect(url, deadline);
    const connections = new RedisConnections(url, isCluster, knownEpoch);
    try {
      await before(deadline, ready(connections.commands));
      return connections;
    } catch (error) {
      connections.close();
      throw unusable(url, error as Error);
    }
  }

  get isCluster(): boolean {
    return this.#isCluster;
  }

  /**
   * What should be set otherwise in this Redis: one sentence each. Nothing where that cannot be asked, as in many
   * hosted ones.
   */
  async advice(): Promise<string[]> {
    const advice: string[] = [];
    const config = async (name: string): Promise<string> =>
      ((await this.commands.config('GET', name).catch(() => ['', ''])) as string[])[1] ?? '';
    const policy = await config('maxmemory-policy');
    if (policy !== '' && policy !== 'noeviction') {
      advice.push(`Redis evicts keys when it is full (maxmemory-policy ${policy}): set it to noeviction.`);
    }
    if ((await config('appendonly')) === 'no') {
      advice.push('Redis keeps nothing over a restart (appendonly no): set appendonly yes.');
    }
    return advice;
  }

  /** What its clock says, ms since the epoch. On a cluster, the clock of one of its nodes. */
  async time(): Promise<number> {
    const [seconds, microseconds] = (await this.commands.call('TIME')) as [string, string];
    return Number(seconds) * 1000 + Number(microseconds) / 1000;
  }

  /** One more connection, for commands that block or for a library that wants its own. */
  another(options: RedisOptions = {}): RedisClient {
    return this.#kept(this.#isCluster ? cluster(this.#url, options) : single(this.#url, options));
  }

  /** The same for a library that duplicates it: `close` closes the duplicates as well, even while Redis is away. */
  anotherToDuplicate(options: RedisOptions = {}): RedisClient {
    const client = this.another(options);
    const duplicate = client.duplicate.bind(client) as (...options: unknown[]) => RedisClient;
    return Object.assign(client, {
      duplicate: (...options: unknown[]) => this.#kept(duplicate(...options)),
    });
  }

  close(): void {
    this.epoch.close();
    for (const client of this.#open) client.disconnect();
    this.#open.clear();
  }

  #kept(client: RedisClient): RedisClient {
    // Without a listener an error event would end the process; the sender of a command gets the error anyway.
    client.on('error', () => {});
    client.on('end', () => this.#open.delete(client));
    this.#open.add(client);
    return client;
  }
}

function ready(client: RedisClient): Promise<void> {
  if (client.status === 'ready') return Promise.resolve();
  return new Promise((resolve) => client.once('ready', () => resolve()));
}

function single(url: string, options: RedisOptions): Redis {
  return new Redis(url, { ...options, retryStrategy: (attempt) => Math.min(2_000, 50 * attempt) });
}

function cluster(url: string, { enableOfflineQueue = true, ...options }: RedisOptions): Cluster {
  const { username, password, protocol } = new URL(url);
  return new Cluster([url], {
    enableOfflineQueue,
    slotsRefreshTimeout: COMMAND_TIMEOUT_MS,
    // The nodes that it finds by itself want the same credentials.
    redisOptions: {
      ...options,
      ...(username !== '' && { username: decodeURIComponent(username) }),
      ...(password !== '' && { password: decodeURIComponent(password) }),
      ...(protocol === 'rediss:' && { tls: {} }),
    },
  });
}

async function inspect(url: string, deadline: number): Promise<{ isCluster: boolean }> {
  const client = new Redis(url, {
    lazyConnect: true,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  let cause: Error | null = null;
  client.on('error', (error) => {
    cause = error;
  });
  try {
    await before(deadline, client.connect());
    const info = await before(deadline, client.info());
    checkVersion(/redis_version:(\d+)\.(\d+)/.exec(info));
    return { isCluster: /cluster_enabled:1/.test(info) };
  } catch (error) {
    if (error instanceof RedisUnusableError) throw error;
    throw unusable(url, cause ?? (error as Error));
  } finally {
    client.disconnect();
  }
}

async function before<T>(deadline: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const giveUp = (): void => reject(new Error('it takes the connection and does not answer'));
    timer = setTimeout(giveUp, Math.max(0, deadline - performance.now()));
  });
  work.catch(() => {}); // it may fail after the timeout, unhandled
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
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
