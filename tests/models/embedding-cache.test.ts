import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EmbeddingCache, type EmbeddingCacheOptions } from '../../src/models/cache/embedding-cache.ts';

const DIMENSIONS = 3;
const RECORD_BYTES = 4 + 16 + 4 * DIMENSIONS;
const HEADER_BYTES = 12;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bandolier-embeddings-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const open = (options?: EmbeddingCacheOptions, fingerprint = 'f1', dimensions = DIMENSIONS) =>
  EmbeddingCache.open(folder, fingerprint, dimensions, options);
const vectorOf = (text: string): Float32Array => Float32Array.of(text.length, text.charCodeAt(0) || 0, 1 / 3);
const put = (cache: EmbeddingCache, texts: string[]) => cache.put(texts, texts.map(vectorOf));
const texts = (count: number, prefix = 'text'): string[] =>
  Array.from({ length: count }, (_, at) => `${prefix} ${at}`);
const file = (number: number): string => join(folder, 'f1', `${number}.vectors`);

describe('EmbeddingCache', () => {
  it('gives back bit for bit what was put, also after a restart', async () => {
    const value = fc.float({ noDefaultInfinity: true, noNaN: true });
    const vector = fc
      .array(value, { minLength: DIMENSIONS, maxLength: DIMENSIONS })
      .map((v) => Float32Array.from(v));
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(fc.string({ unit: 'binary' }), vector, { maxKeys: 12 }),
        async (entries) => {
          const cache = await open();
          await cache.put(Object.keys(entries), Object.values(entries));
          expect(await cache.get(Object.keys(entries))).toEqual(Object.values(entries));
          await cache.close();
          const again = await open();
          expect(await again.get(Object.keys(entries))).toEqual(Object.values(entries));
          await again.close();
        },
      ),
      { numRuns: 10 },
    );
  });

  it('has no vector that was not put, nor one of another model', async () => {
    const cache = await open();
    await put(cache, ['mail']);
    expect(await cache.get(['mail', 'file', '__proto__'])).toEqual([vectorOf('mail'), null, null]);
    const other = await open({}, 'f2');
    expect(await other.get(['mail'])).toEqual([null]);
    await Promise.all([cache.close(), other.close()]);
  });

  it('skips a damaged record and finds the others', async () => {
    const all = texts(20);
    const cache = await open();
    await put(cache, all);
    await cache.close();
    const bytes = readFileSync(file(1));
    for (const record of [3, 7, 19]) bytes[HEADER_BYTES + record * RECORD_BYTES + 5 + record] ^= 4;
    writeFileSync(file(1), bytes);
    const again = await open();
    const found = await again.get(all);
    expect(found.flatMap((vector, at) => (vector === null ? [at] : []))).toEqual([3, 7, 19]);
    await put(again, ['text 7']);
    expect(await again.get(['text 7'])).toEqual([vectorOf('text 7')]);
    await again.close();
  });

  it('notices damage that comes while it is open', async () => {
    const cache = await open();
    await put(cache, ['mail', 'file']);
    const bytes = readFileSync(file(1));
    bytes[HEADER_BYTES + 30] ^= 1;
    writeFileSync(file(1), bytes);
    expect(await cache.get(['mail', 'file'])).toEqual([null, vectorOf('file')]);
    await cache.close();
  });

  it('opens after any cut, and goes on where sound records end', async () => {
    const all = texts(6);
    for (let cut = 0; cut <= HEADER_BYTES + 6 * RECORD_BYTES; cut += 7) {
      rmSync(join(folder, 'f1'), { recursive: true, force: true });
      const cache = await open();
      await put(cache, all);
      await cache.close();
      truncateSync(file(1), cut);
      const again = await open();
      const whole = Math.max(0, Math.floor((cut - HEADER_BYTES) / RECORD_BYTES));
      expect((await again.get(all)).filter((vector) => vector !== null)).toHaveLength(whole);
      await put(again, ['more']);
      await again.close();
      const last = await open();
      expect(await last.get(['more', ...all.slice(0, whole)])).toEqual(
        ['more', ...all.slice(0, whole)].map(vectorOf),
      );
      await last.close();
    }
  });

  it('empties a file that something else wrote', async () => {
    await (await open()).close();
    writeFileSync(file(1), 'not vectors at all');
    const cache = await open();
    expect(await cache.get(['mail'])).toEqual([null]);
    await put(cache, ['mail']);
    await cache.close();
    const otherSize = await open({}, 'f1', 5);
    expect(await otherSize.get(['mail'])).toEqual([null]);
    await otherSize.close();
  });

  it('stays within its limit and keeps what is in use', async () => {
    const cache = await open({ limit: 100 });
    const used = texts(10, 'used');
    await put(cache, used);
    for (let round = 0; round < 30; round++) {
      await put(cache, texts(17, `round ${round}`));
      if (round % 2 === 0) expect(await cache.get(used)).toEqual(used.map(vectorOf));
    }
    expect(await cache.get(texts(17, 'round 0'))).toEqual(texts(17).map(() => null));
    expect((await cache.get(texts(17, 'round 29'))).every((vector) => vector !== null)).toBe(true);
    await cache.close();
    const sizes = readdirSync(join(folder, 'f1')).map((name) => statSync(join(folder, 'f1', name)).size);
    expect(sizes.length).toBeLessThanOrEqual(2);
    expect(sizes.reduce((a, b) => a + b)).toBeLessThanOrEqual(2 * HEADER_BYTES + 100 * RECORD_BYTES);
    const again = await open({ limit: 100 });
    expect(await again.get(used)).toEqual(used.map(vectorOf));
    await again.close();
  });

  it('takes more than a file at once', async () => {
    const cache = await open({ limit: 10 });
    await put(cache, texts(23));
    expect((await cache.get(texts(23))).filter((vector) => vector !== null).length).toBeGreaterThanOrEqual(5);
    expect(await cache.get(['text 22'])).toEqual([vectorOf('text 22')]);
    await cache.close();
  });

  it('never fails: what cannot be written or read is reported and absent', async () => {
    const troubles: string[] = [];
    const cache = await open({ onError: (message) => troubles.push(message) });
    rmSync(join(folder, 'f1'), { recursive: true });
    await put(cache, ['mail']);
    expect(await cache.get(['mail'])).toEqual([null]);
    expect(troubles.length).toBeGreaterThan(0);
    await cache.close();
  });

  it('serves readers and writers at the same time', async () => {
    const cache = await open({ limit: 60 });
    const results = await Promise.all(
      Array.from({ length: 40 }, async (_, at) => {
        await put(cache, texts(3, `writer ${at}`));
        return cache.get(texts(3, `writer ${at}`));
      }),
    );
    const wrong = results.flatMap((vectors, at) =>
      vectors.filter((vector, i) => vector !== null && vector[0] !== `writer ${at} ${i}`.length),
    );
    expect(wrong).toEqual([]);
    await cache.close();
  });
});
