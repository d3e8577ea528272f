import { readFileSync } from 'node:fs';

/** What `tests/golden` has of a record: what it says, and the bytes that say it. */
export interface GoldenRecord<T> {
  readonly value: T;
  readonly bytes: Buffer;
}

/**
 * Reads one; numbers that JSON cannot give bit for bit are hexadecimal words behind the name of their type. The bytes change only with
 * the version of the format: then the new ones, which the failing test prints, take the place of the old ones.
 */
export function goldenRecord<T>(file: string): GoldenRecord<T> {
  const text = readFileSync(new URL(`../golden/${file}`, import.meta.url), 'utf8');
  const { value, bytes } = JSON.parse(text, (_, item: unknown) => {
    const [, type, words] = (typeof item === 'string' && /^(f32|u32|f64):(.*)$/.exec(item)) || [];
    if (type === undefined) return item;
    const bits = Uint32Array.from(words.split(' ').filter(Boolean), (word) => Number.parseInt(word, 16));
    if (type === 'u32') return bits;
    return type === 'f32' ? new Float32Array(bits.buffer) : new Float64Array(bits.buffer)[0];
  }) as { value: T; bytes: string };
  return { value, bytes: Buffer.from(bytes, 'hex') };
}
