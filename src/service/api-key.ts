import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isLoopback } from '../../config/loopback.ts';
import { SettingsError } from '../../config/read-settings.ts';
import type { Settings } from '../../config/settings.ts';

const FILE = 'api-key';
const BYTES = 24;

/** The key that requests to this process need. */
export interface ApiKey {
  /** Null: none, only this machine can ask. */
  readonly key: string | null;
  /** The file in which it was written just now; null: it is not new. */
  readonly madeIn: string | null;
}

/**
 * Returns the key that is set; else none on a loopback address; else the one in the data folder, which is made if there is none
 * yet. The data folder is locked by this process. @throws SettingsError, and Error when the file cannot be used
 */
export async function apiKeyOf({ apiKey, host, dataDir, redisUrl }: Settings): Promise<ApiKey> {
  if (apiKey !== undefined) return { key: apiKey, madeIn: null };
  if (isLoopback(host)) return { key: null, madeIn: null };
  // Each router would make one of its own, and clients behind a balancer could have only one of them.
  if (redisUrl !== undefined) {
    throw new SettingsError([
      `host is ${host}, so requests need a key, and all routers of this Redis need the same one: set BANDOLIER_API_KEY ` +
        '(for example to the output of `openssl rand -hex 24`).',
    ]);
  }
  const file = join(dataDir, FILE);
  const kept = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw new Error(`${file} cannot be read: ${error.message}.`);
  });
  if (kept === null) {
    const key = randomBytes(BYTES).toString('hex');
    await writeFile(file, `${key}\n`, { mode: 0o600, flag: 'wx', flush: true });
    return { key, madeIn: file };
  }
  const key = kept.trim();
  if (key.length < 16)
    throw new Error(`${file} holds no key. Delete it, and the next start makes another one.`);
  return { key, madeIn: null };
}
