import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { inSlices, mapInSteps } from '../../scheduling/slices.ts';
import { EmbeddingFile, textKey } from './embedding-file.ts';

export interface EmbeddingCacheOptions {
  /** Largest number of vectors that are kept. */
  readonly limit?: number;
  /** Is called when a read or write failed. The text is embedded again then. */
  readonly onError?: (message: string, error: unknown) => void;
}

const LIMIT = 100_000;
/** Vectors that are written with one call: encoding them holds the event loop. */
const MOST_AT_ONCE = 500;
const FILE_NAME = /^(\d+)\.vectors$/;

/** File and record of a vector. */
interface Location {
  readonly file: number;
  readonly record: number;
}

/**
 * Keeps document embeddings on disk, by text, in a folder per embedder fingerprint, so that nothing is embedded twice.
 *
 * There are two files. When the newer one holds half the limit, the older one is deleted and a new one is begun. A vector that
 * is read from the older file is copied to the newer one, so that vectors in use stay. The cache is best effort: a failure
 * never fails an embedding, writes are not synced, and damaged records count as absent.
 */
export class EmbeddingCache {
  readonly #folder: string;
  readonly #dimensions: number;
  readonly #limit: number;
  readonly #onError: (message: string, error: unknown) => void;
  readonly #files = new Map<number, EmbeddingFile>();
  /** Filled on first use. */
  #locations: Promise<Map<string, Location>> | null = null;
  /** Writes happen one after the other. */
  #lastWrite: Promise<unknown> = Promise.resolve();

  private constructor(folder: string, dimensions: number, options: EmbeddingCacheOptions) {
    this.#folder = folder;
    this.#dimensions = dimensions;
    this.#limit = options.limit ?? LIMIT;
    this.#onError = options.onError ?? (() => {});
  }

  /** Opens the cache of one embedder below `folder`. */
  static async open(
    folder: string,
    fingerprint: string,
    dimensions: number,
    options: EmbeddingCacheOptions = {},
  ): Promise<EmbeddingCache> {
    const own = join(folder, fingerprint);
    await mkdir(own, { recursive: true });
    return new EmbeddingCache(own, dimensions, options);
  }

  /** Returns the vectors of these texts, null for each that is not kept. Never rejects. */
  async get(texts: readonly string[]): Promise<(Float32Array | null)[]> {
    const locations = await this.#load().catch((error: unknown) => {
      this.#onError('Embeddings could not be read from the cache.', error);
      return new Map<string, Location>();
    });
    const keys = await inSlices(mapInSteps(texts, textKey));
    const vectors: (Float32Array | null)[] = texts.map(() => null);
    const newest = this.#newest;
    for (const [number, file] of [...this.#files]) {
      const here = [...keys.keys()].filter((at) => locations.get(keys[at])?.file === number);
      const wanted = here.map((at) => ({ key: keys[at], record: locations.get(keys[at])!.record }));
      // A file may be deleted while it is being read.
      const found = await file.read(wanted).catch(() => wanted.map(() => null));
      const moves: (readonly [string, Float32Array])[] = [];
      for (const [i, at] of here.entries()) {
        const vector = found[i];
        vectors[at] = vector;
        if (vector !== null && number !== newest) moves.push([keys[at], vector]);
      }
      if (moves.length > 0) void this.#write(moves);
    }
    return vectors;
  }

  /** Keeps the vectors of these texts. Never rejects. */
  async put(texts: readonly string[], vectors: readonly Float32Array[]): Promise<void> {
    const keys = await inSlices(mapInSteps(texts, textKey));
    await this.#write(keys.map((key, at) => [key, vectors[at]] as const));
  }

  /** Waits for what is being written. */
  async close(): Promise<void> {
    await this.#lastWrite;
    for (const file of this.#files.values()) await file.close();
    this.#files.clear();
  }

  get #newest(): number {
    return Math.max(0, ...this.#files.keys());
  }

  #load(): Promise<Map<string, Location>> {
    this.#locations ??= this.#readLocations();
    return this.#locations;
  }

  async #readLocations(): Promise<Map<string, Location>> {
    const locations = new Map<string, Location>();
    const numbers = (await readdir(this.#folder)).map((name) => Number(FILE_NAME.exec(name)?.[1] ?? 0));
    for (const number of numbers.filter((one) => one > 0).sort((a, b) => a - b)) {
      const file = await this.#openFile(number);
      for await (const [key, record] of file.keys()) locations.set(key, { file: number, record });
    }
    if (this.#files.size === 0) await this.#openFile(1);
    return locations;
  }

  async #openFile(number: number): Promise<EmbeddingFile> {
    const file = await EmbeddingFile.open(join(this.#folder, `${number}.vectors`), this.#dimensions);
    this.#files.set(number, file);
    return file;
  }

  #write(entries: readonly (readonly [string, Float32Array])[]): Promise<void> {
    const write = this.#lastWrite.then(async () => {
      try {
        const locations = await this.#load();
        const perFile = Math.max(1, Math.floor(this.#limit / 2));
        for (let done = 0; done < entries.length; ) {
          let file = this.#files.get(this.#newest)!;
          if (file.length >= perFile) file = await this.#beginFile(locations);
          const part = entries.slice(done, done + Math.min(perFile - file.length, MOST_AT_ONCE));
          const first = await file.append(part);
          for (const [at, [key]] of part.entries())
            locations.set(key, { file: this.#newest, record: first + at });
          done += part.length;
        }
      } catch (error) {
        this.#onError('Embeddings could not be written to the cache.', error);
      }
    });
    this.#lastWrite = write;
    return write;
  }

  /** Begins a new file and deletes all but the one before it. */
  async #beginFile(locations: Map<string, Location>): Promise<EmbeddingFile> {
    const before = this.#newest;
    const file = await this.#openFile(before + 1);
    for (const [number, old] of this.#files) {
      if (number >= before) continue;
      this.#files.delete(number);
      await old.close();
      await rm(join(this.#folder, `${number}.vectors`), { force: true });
    }
    for (const [key, location] of locations) if (location.file < before) locations.delete(key);
    return file;
  }
}
