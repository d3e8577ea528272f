import { randomUUID } from 'node:crypto';
import type { Cluster, Redis } from 'ioredis';
import { StoreUnavailableError } from '../errors/store-errors.ts';
import { EPOCH_KEY } from './keys.ts';

/** This is not the Redis that the process knows, or not any more. Nothing may be written to it. */
export class RedisLostError extends StoreUnavailableError {
  override readonly name = 'RedisLostError';
  override readonly retryAfterSeconds = 5;
}

/** Each is called once per change, not with every check. */
export interface EpochListener {
  /** @param reason one sentence that says what is wrong and what to do */
  onLost?(reason: string): void;
  /** The Redis that was known is there again. */
  onFound?(): void;
  /** The same deployment was restored from a backup: what was read from Redis before may be wrong now. */
  onRestored?(): void;
}

const RESTORING = '.restoring';
const LOOK_EVERY_MS = 1_000;
const WHAT_TO_DO =
  'Nothing is written, and routing goes on from memory. Bring back the Redis that was there, or restore a backup ' +
  'into this one beside the running processes; restart them only to go on with what this Redis holds.';

/**
 * Tells whether this is the Redis that the process knows. A key names it, `<deployment>.<generation>`: it is written when
 * a deployment first uses a Redis, and every restore sets another generation. A process remembers the key that it found
 * first, so it never mistakes an empty Redis, or that of another deployment, for its own with everything deleted. States:
 *
 * - *unknown*: nothing was read yet. `claim` reads the key, or writes it into an empty Redis.
 * - *known*: the key was as expected at the last look.
 * - *doubtful*: the connection was lost since the last look, and another Redis may answer now. Nothing is written before
 *   `verify` has looked.
 * - *lost*: the key is missing, of another deployment, or of a restore that is not finished. `verify` throws
 *   RedisLostError; the process looks every second. The expected key leads back to known (`onFound`).
 * - *restored*: the same deployment with another generation. It is known from now on (`onRestored`).
 */
export class RedisEpoch {
  readonly #commands: Redis | Cluster;
  readonly #listeners = new Set<EpochListener>();
  /** Empty until it was first looked for. */
  #known = '';
  #claiming: Promise<void> | null = null;
  #loss: string | null = null;
  /** The connection was gone since we last looked: another Redis may be at its other end. */
  #isDoubtful = false;
  #isRestoring = false;
  #looking: Promise<void> | null = null;
  #watch: NodeJS.Timeout | undefined;

  /** @param known the epoch that another thread of this process knows; it is claimed otherwise, at first use */
  constructor(commands: Redis | Cluster, known = '') {
    this.#commands = commands;
    this.#known = known;
    commands.on('close', () => {
      this.#isDoubtful = true;
    });
    commands.on('ready', () => {
      if (this.#known !== '') this.verify().catch(() => {});
    });
  }

  /** The epoch that is known. To be read after `verify` or `claim`. */
  get current(): string {
    return this.#known;
  }

  get deployment(): string {
    return this.#known.split('.')[0];
  }

  /** Why this is not the Redis that is known; null while it is. */
  get loss(): string | null {
    return this.#loss;
  }

  /** Whether it has to be looked at before anything may be written. */
  get isDoubtful(): boolean {
    return this.#isDoubtful || this.#loss !== null;
  }

  listen(listener: EpochListener): void {
    this.#listeners.add(listener);
  }

  /** Starts to look every second. */
  watch(): void {
    this.#watch ??= setInterval(() => void this.verify().catch(() => {}), LOOK_EVERY_MS).unref();
  }

  close(): void {
    clearInterval(this.#watch);
  }

  /** Reads the key and remembers it; an empty Redis gets a new one. @throws RedisLostError */
  claim(): Promise<void> {
    if (this.#known !== '') return Promise.resolve();
    this.#claiming ??= this.#claim().finally(() => {
      this.#claiming = null;
    });
    return this.#claiming;
  }

  /** Checks that this is the Redis that is known. Calls of one turn of the event loop share one look. @throws RedisLostError */
  async verify(): Promise<void> {
    if (this.#known === '') return this.claim();
    this.#looking ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#looking = null;
        resolve(this.#look());
      });
    });
    return this.#looking;
  }

  /** Begins a restore of that deployment: until `endRestore` other processes refuse to use this Redis. */
  async beginRestore(deployment: string): Promise<void> {
    this.#known = `${deployment}.${randomUUID()}`;
    this.#isRestoring = true;
    await this.#commands.set(EPOCH_KEY, this.#known + RESTORING);
  }

  async endRestore(): Promise<void> {
    await this.verify();
    await this.#commands.set(EPOCH_KEY, this.#known);
    this.#isRestoring = false;
  }

  async #claim(): Promise<void> {
    await this.#commands.set(EPOCH_KEY, `${randomUUID()}.${randomUUID()}`, 'NX');
    const found = (await this.#commands.get(EPOCH_KEY)) ?? '';
    if (found === '' || found.endsWith(RESTORING)) {
      throw new RedisLostError(
        'A backup is being restored into this Redis, or was and did not end. Wait for it; if no restore is running, empty ' +
          'this Redis (FLUSHALL) and restore again.',
      );
    }
    this.#known = found;
  }

  async #look(): Promise<void> {
    const found = await this.#commands.get(EPOCH_KEY);
    this.#isDoubtful = false;
    const own = this.#isRestoring ? this.#known + RESTORING : this.#known;
    const reason = found === own ? null : this.#whatIsWrong(found);
    if (reason === null && found !== own) {
      this.#known = found as string;
      this.#tell((listener) => listener.onRestored?.());
    }
    const before = this.#loss;
    this.#loss = reason;
    if (reason === null) {
      if (before !== null) this.#tell((listener) => listener.onFound?.());
      return;
    }
    if (before === null) this.#tell((listener) => listener.onLost?.(`${reason} ${WHAT_TO_DO}`));
    throw new RedisLostError(reason);
  }

  /** Null for another generation of the same deployment. */
  #whatIsWrong(found: string | null): string | null {
    if (found === null) return 'Redis has lost everything: it is not the one that this process knows.';
    if (found.split('.')[0] !== this.deployment) return 'Redis belongs to another deployment.';
    return found.endsWith(RESTORING) ? 'A backup is being restored into Redis.' : null;
  }

  #tell(what: (listener: EpochListener) => void): void {
    for (const listener of this.#listeners) what(listener);
  }
}
