import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import type { UserPlace } from './context-store.ts';

/** What of a user is encrypted: one record each. Of a decision it lies with the decision. */
export type Part = 'items' | 'signals' | 'examples' | `decision ${string}`;

const FORMAT = 1;
const ID_BYTES = 8;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
const NUMBER_BYTES = 6;
const TAG = { authTagLength: TAG_BYTES };

/** Thrown when a sealed record cannot be opened. The message says nothing of its content. */
export class SealError extends Error {
  override readonly name = 'SealError';
}

/**
 * Encrypts what users have: AES-256-GCM, under a random key per user that is itself encrypted under the service's key. Each record
 * is bound to its place, so that one put in the place of another cannot be opened.
 *
 *   wrapped key   format u8 | iv 12 | tag 16 | 32 bytes
 *   record        format u8 | id of the key 8 | iv 12 | tag 16 | bytes
 */
export class Seals {
  readonly #wrapping: Buffer;
  readonly #naming: Buffer;

  constructor(serviceKey: Buffer) {
    this.#wrapping = subkey(serviceKey, 'keys of users');
    this.#naming = subkey(serviceKey, 'names of users');
  }

  /** Where the records of a user lie: nobody without the service's key can tell whose they are. */
  placeOf(catalog: string, userId: string): UserPlace {
    const hash = createHmac('sha256', this.#naming).update(JSON.stringify([catalog, userId]));
    return { catalog, user: hash.digest('hex').slice(0, 32) };
  }

  newKey(place: UserPlace): { readonly key: UserKey; readonly wrapped: Buffer } {
    const bytes = randomBytes(KEY_BYTES);
    const wrapped = Buffer.concat([
      Buffer.of(FORMAT),
      encrypted(this.#wrapping, nameOf(place, 'key'), bytes),
    ]);
    return { key: new UserKey(place, bytes), wrapped };
  }

  /** @throws SealError */
  unwrap(place: UserPlace, wrapped: Buffer): UserKey {
    refuseOthers(wrapped);
    return new UserKey(place, decrypted(this.#wrapping, nameOf(place, 'key'), wrapped.subarray(1)));
  }
}

/** The key of one user. */
export class UserKey {
  readonly #place: UserPlace;
  readonly #bytes: Buffer;
  readonly #id: Buffer;
  /** Of the items that were asked for: a report asks for all of a user. */
  readonly #numbers = new Map<string, number>();

  constructor(place: UserPlace, bytes: Buffer) {
    this.#place = place;
    this.#bytes = bytes;
    this.#id = createHash('sha256').update('id of a key').update(bytes).digest().subarray(0, ID_BYTES);
  }

  /** What stands for an item, 48 bits: only this key tells which one it is. */
  numberOf(item: string): number {
    const known = this.#numbers.get(item);
    if (known !== undefined) return known;
    const hash = createHmac('sha256', this.#bytes).update('item').update(item).digest();
    const number = hash.readUIntBE(0, NUMBER_BYTES);
    this.#numbers.set(item, number);
    return number;
  }

  seal(part: Part, bytes: Uint8Array): Buffer {
    return Buffer.concat([
      Buffer.of(FORMAT),
      this.#id,
      encrypted(this.#bytes, nameOf(this.#place, part), bytes),
    ]);
  }

  /** Returns null for a record under another key: an erasure left it behind. @throws SealError when it is damaged */
  open(part: Part, record: Buffer): Buffer | null {
    refuseOthers(record);
    if (!record.subarray(1, 1 + ID_BYTES).equals(this.#id)) return null;
    return decrypted(this.#bytes, nameOf(this.#place, part), record.subarray(1 + ID_BYTES));
  }
}

const nameOf = ({ catalog, user }: UserPlace, what: string): Buffer =>
  Buffer.from(JSON.stringify([catalog, user, what]));

function subkey(key: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, Buffer.alloc(0), `bandolier/${purpose}`, KEY_BYTES));
}

function refuseOthers(record: Buffer): void {
  if (record[0] === FORMAT) return;
  throw new SealError(
    `A record of a user has format ${record[0]}, and this version of Bandolier reads format ${FORMAT}: use the version that wrote it, or erase the user.`,
  );
}

function encrypted(key: Buffer, place: Buffer, bytes: Uint8Array): Buffer {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, iv, TAG).setAAD(place);
  const data = cipher.update(bytes);
  cipher.final();
  return Buffer.concat([iv, cipher.getAuthTag(), data]);
}

function decrypted(key: Buffer, place: Buffer, bytes: Buffer): Buffer {
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES), TAG).setAAD(place);
    decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
    const plain = decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES));
    decipher.final();
    return plain;
  } catch (error) {
    throw new SealError(
      'A record of a user is damaged, or was written under another key: restore it from a backup, or erase the user.',
      { cause: error },
    );
  }
}
