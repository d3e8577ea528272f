import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isLoopback } from '../../config/loopback.ts';
import { SettingsError } from '../../config/read-settings.ts';
import type { Settings } from '../../config/settings.ts';
import { writeFileDurably } from '../storage/durable-file.ts';

const BYTES = 24;
const SHORTEST = 16;

/** The file that keeps the key of a service, where none is set. */
export function apiKeyFile(dataDir: string): string {
  return join(dataDir, 'api-key');
}

/** The key that requests to this process need. */
export interface ApiKey {
  /** Null: none, only this machine can ask. */
  readonly key: string | null;
  /** The file that keeps it; null: it was set, or there is none. */
  readonly file: string | null;
  /** It was made just now: nobody knows it, and it is not in the file yet. */
  readonly isNew: boolean;
}

/**
 * Returns the key that is set; else none on a loopback address; else the one in the data folder, or a new one if there is none
 * yet. The data folder is locked by this process. @throws SettingsError
 */
export async function apiKeyOf({ apiKey, host, dataDir, redisUrl }: Settings): Promise<ApiKey> {
  if (apiKey !== undefined) return { key: apiKey, file: null, isNew: false };
  if (isLoopback(host)) return { key: null, file: null, isNew: false };
  // Each router would make one of its own, and clients behind a balancer could have only one of them.
  if (redisUrl !== undefined) {
    throw new SettingsError([
      `host is ${host}, so requests need a key, and all routers of this Redis need the same one: set BANDOLIER_API_KEY ` +
        '(for example to the output of `openssl rand -hex 24`).',
    ]);
  }
  const file = apiKeyFile(dataDir);
  const kept = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw new SettingsError([`${file} cannot be read: ${error.message}.`]);
  });
  const key = kept === null ? randomBytes(BYTES).toString('hex') : kept.trim();
  if (key.length < SHORTEST) {
    throw new SettingsError([`${file} holds no key. Delete it, and the next start makes another one.`]);
  }
  return { key, file, isNew: kept === null };
}

/** Writes a new key into its file, once the process listens: the start that keeps a key is the one that prints it. */
export async function keepApiKey({ key, file, isNew }: ApiKey): Promise<void> {
  if (isNew && file !== null) await writeFileDurably(file, Buffer.from(`${key}\n`));
}
