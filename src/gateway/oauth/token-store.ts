import { createCipheriv, createDecipheriv, createHash, randomBytes, scrypt } from 'node:crypto';
import { readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type {
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client';
import { createFileWhole, createFolder, writeFileDurably } from '../../storage/durable-file.ts';

/** A server as a source names it. Tokens of one are given to no other. */
export interface AuthorizedPlace {
  readonly source: string;
  readonly url: string;
}

/** What we hold for one server. */
export interface Authorization {
  readonly client?: StoredOAuthClientInformation;
  readonly tokens?: StoredOAuthTokens;
  /** When the access token ends, ms since the epoch; absent: the server did not say. */
  readonly expiresAt?: number;
  readonly discovery?: OAuthDiscoveryState;
}

/** The tokens cannot be read or written. The message says what to do. */
export class TokenStoreError extends Error {
  override readonly name = 'TokenStoreError';
}

const FORMAT = 'bandolier-tokens';
const VERSION = 1;
const NO_KEY =
  'Tokens are kept encrypted: set BANDOLIER_TOKEN_KEY to a secret of your own, 16 characters or more (e.g. from `openssl rand -base64 32`), for this command and for the service.';
/** A lock of a process that has ended is taken over after this time, ms: longer than any request for tokens. */
const LOCK_STALE_MS = 60_000;
const LOCK_TIMEOUT_MS = 90_000;
const LOCK_RETRY_MS = 20;

/**
 * The authorization of one server in a file of its own (mode 0600), encrypted with AES-256-GCM under a key that scrypt derives
 * from the operator's secret. Several processes may use it: whoever changes it holds its lock.
 */
export class TokenStore {
  readonly #file: string;
  readonly #secret: string | undefined;
  #cached: { readonly stamp: string; readonly authorization: Authorization } | null = null;

  /** @param secret the value of BANDOLIER_TOKEN_KEY. */
  constructor(folder: string, { source, url }: AuthorizedPlace, secret: string | undefined) {
    const name = createHash('sha256')
      .update(JSON.stringify([source, url]))
      .digest('hex')
      .slice(0, 32);
    this.#file = join(folder, 'tokens', `${name}.json`);
    this.#secret = secret;
  }

  /** Null: nobody has logged in there. @throws TokenStoreError */
  async read(): Promise<Authorization | null> {
    const stamp = await stampOf(this.#file);
    if (stamp === null) return null;
    if (this.#cached?.stamp !== stamp) {
      this.#cached = { stamp, authorization: await this.#decrypted(await readFile(this.#file, 'utf8')) };
    }
    return this.#cached.authorization;
  }

  /** Only within `locked`. @throws TokenStoreError */
  async write(authorization: Authorization): Promise<void> {
    const salt = randomBytes(16);
    const iv = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', await this.#key(salt), iv);
    const data = Buffer.concat([cipher.update(JSON.stringify(authorization), 'utf8'), cipher.final()]);
    const text = (bytes: Buffer) => bytes.toString('base64');
    const record = {
      format: FORMAT,
      version: VERSION,
      salt: text(salt),
      iv: text(iv),
      tag: text(cipher.getAuthTag()),
      data: text(data),
    };
    await createFolder(dirname(this.#file));
    await writeFileDurably(this.#file, Buffer.from(`${JSON.stringify(record)}\n`));
    this.#cached = null;
  }

  /** Says whether a secret is set that tokens can be written with. @throws TokenStoreError */
  assertWritable(): void {
    if (this.#secret === undefined || this.#secret.length < 16) throw new TokenStoreError(NO_KEY);
  }

  /** Runs alone among all processes that use this file. @throws TokenStoreError when another holds it for too long */
  async locked<Result>(work: () => Promise<Result>): Promise<Result> {
    const lock = `${this.#file}.lock`;
    await createFolder(dirname(this.#file));
    const mine = randomBytes(8).toString('hex');
    const deadline = performance.now() + LOCK_TIMEOUT_MS;
    while (!(await createFileWhole(lock, Buffer.from(mine)))) {
      if (performance.now() > deadline)
        throw new TokenStoreError(`${lock} is held by another process; delete it if there is none.`);
      await takeOver(lock);
      await pause(LOCK_RETRY_MS);
    }
    try {
      return await work();
    } finally {
      // It may have been taken over, if this process slept for a minute.
      if ((await readFile(lock, 'utf8').catch(() => '')) === mine) await rm(lock, { force: true });
    }
  }

  async #decrypted(text: string): Promise<Authorization> {
    let record: Readonly<Record<string, string | number>>;
    try {
      record = JSON.parse(text);
    } catch {
      throw new TokenStoreError(
        `${this.#file} is damaged: delete it, and run \`bandolier sources login\` again.`,
      );
    }
    if (record.format !== FORMAT || record.version !== VERSION) {
      throw new TokenStoreError(
        `${this.#file} is of another version of Bandolier: delete it, and run \`bandolier sources login\` again.`,
      );
    }
    const bytes = (member: string) => Buffer.from(String(record[member]), 'base64');
    const key = await this.#key(bytes('salt'));
    try {
      const decipher = createDecipheriv('aes-256-gcm', key, bytes('iv'));
      decipher.setAuthTag(bytes('tag'));
      return JSON.parse(Buffer.concat([decipher.update(bytes('data')), decipher.final()]).toString('utf8'));
    } catch {
      throw new TokenStoreError(
        `${this.#file} was written with another BANDOLIER_TOKEN_KEY: set the one that it was written with, or run \`bandolier sources login\` again.`,
      );
    }
  }

  #key(salt: Buffer): Promise<Buffer> {
    this.assertWritable();
    return new Promise((resolve, reject) => {
      scrypt(this.#secret as string, salt, 32, (error, key) =>
        error === null ? resolve(key) : reject(error),
      );
    });
  }
}

/** Changes with every write: each gives the file a new inode. */
async function stampOf(file: string): Promise<string | null> {
  try {
    const { ino, mtimeMs, size } = await stat(file);
    return `${ino} ${mtimeMs} ${size}`;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw new TokenStoreError(`${file} cannot be read: ${(error as Error).message}.`);
  }
}

/** Removes a lock that a process has left behind. Of several who try, one succeeds. */
async function takeOver(lock: string): Promise<void> {
  const found = await stat(lock).catch(() => null);
  if (found === null || Date.now() - found.mtimeMs < LOCK_STALE_MS) return;
  const stale = `${lock}.${randomBytes(8).toString('hex')}`;
  await rename(lock, stale).catch(() => {});
  await rm(stale, { force: true });
}
