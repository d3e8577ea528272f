import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto';
import { Problem } from '../errors/problem.ts';
import type { ContextStore } from './context-store.ts';

const FORMAT = 'bandolier-service-key';
const VERSION = 1;

/** The record as JSON: the key in base64, or what AES-256-GCM made of it under a key that scrypt derives from the secret. */
interface ServiceKeyRecord {
  readonly format: string;
  readonly version: number;
  readonly key?: string;
  readonly salt?: string;
  readonly iv?: string;
  readonly tag?: string;
  readonly data?: string;
}

/**
 * Returns the service's key (32 bytes), by which the keys of users are wrapped. With `create` it is made if there is none. With the operator's
 * secret it is kept encrypted; without, as it is, in a data folder alone. The secret may be set later: the record is replaced.
 * @param secret the value of BANDOLIER_TOKEN_KEY
 * @throws Problem unavailable when the secret is missing or another one
 */
export async function openServiceKey(
  store: ContextStore,
  secret: string | undefined,
  create: boolean,
): Promise<Buffer | null> {
  let kept = await store.readServiceKey();
  if (kept === null && !create) return null;
  if (secret === undefined && !store.isPrivate) throw noSecret('Over Redis');
  kept ??= await store.createServiceKey(await recordOf(randomBytes(32), secret));
  const record = parsed(kept);
  const key = await keyOf(record, secret);
  const isOpen = record.key !== undefined;
  if (isOpen && secret !== undefined) await store.replaceServiceKey(await recordOf(key, secret));
  return key;
}

/**
 * Gives a store of which no user is kept the service's key of another one, which stays as it is, so that what is copied can be read
 * there. Returns false if there is no key, so that nothing is to be copied.
 * @throws Problem unavailable as `openServiceKey`
 */
export async function copyServiceKey(
  from: ContextStore,
  to: ContextStore,
  secret: string | undefined,
): Promise<boolean> {
  const kept = await from.readServiceKey();
  if (kept === null) return false;
  if (secret === undefined && !to.isPrivate) throw noSecret('Over Redis');
  await to.replaceServiceKey(await recordOf(await keyOf(parsed(kept), secret), secret));
  return true;
}

async function recordOf(key: Buffer, secret: string | undefined): Promise<Buffer> {
  const head = { format: FORMAT, version: VERSION };
  if (secret === undefined) return asJson({ ...head, key: key.toString('base64') });
  const [salt, iv] = [randomBytes(16), randomBytes(12)];
  const cipher = createCipheriv('aes-256-gcm', await derived(secret, salt), iv);
  const data = Buffer.concat([cipher.update(key), cipher.final()]);
  const [saltText, ivText, tag, dataText] = [salt, iv, cipher.getAuthTag(), data].map((bytes) =>
    bytes.toString('base64'),
  );
  return asJson({ ...head, salt: saltText, iv: ivText, tag, data: dataText });
}

async function keyOf(record: ServiceKeyRecord, secret: string | undefined): Promise<Buffer> {
  if (record.key !== undefined) return Buffer.from(record.key, 'base64');
  if (secret === undefined) throw noSecret('Here');
  const bytes = (member: 'salt' | 'iv' | 'tag' | 'data') => Buffer.from(record[member] ?? '', 'base64');
  const derivedKey = await derived(secret, bytes('salt'));
  try {
    const decipher = createDecipheriv('aes-256-gcm', derivedKey, bytes('iv'));
    decipher.setAuthTag(bytes('tag'));
    return Buffer.concat([decipher.update(bytes('data')), decipher.final()]);
  } catch {
    throw new Problem(
      'unavailable',
      'What users have was encrypted with another BANDOLIER_TOKEN_KEY than the one that is set.',
      'Set the one that it was encrypted with, on every router, and start again.',
    );
  }
}

function parsed(bytes: Buffer): ServiceKeyRecord {
  let record: ServiceKeyRecord;
  try {
    record = JSON.parse(bytes.toString('utf8'));
  } catch {
    record = { format: 'none', version: 0 };
  }
  if (record.format === FORMAT && record.version === VERSION) return record;
  throw new Problem(
    'unavailable',
    `The service's key is damaged, or of another version of Bandolier than ${VERSION}.`,
    'Restore it (the file `keys/service` of the data folder), or use the version that wrote it.',
  );
}

function noSecret(where: string): Problem {
  return new Problem(
    'unavailable',
    `${where} what users have is encrypted under a secret of yours, and none is set.`,
    'Set BANDOLIER_TOKEN_KEY to 16 characters or more (e.g. from `openssl rand -base64 32`), the same on every router, and start again.',
  );
}

const asJson = (record: ServiceKeyRecord): Buffer => Buffer.from(`${JSON.stringify(record)}\n`);

function derived(secret: string, salt: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(secret, salt, 32, (error, key) => (error === null ? resolve(key) : reject(error)));
  });
}
