import type { Steps } from '../scheduling/slices.ts';

/** Two instructions that say nearly the same. */
export interface Duplicate {
  readonly ids: readonly [string, string];
  /** Share of the runs of three words that both have among those that either has (Jaccard), `LEAST_SIMILARITY`…1. */
  readonly similarity: number;
  /** The texts are equal but for case, punctuation and blanks. */
  readonly exact: boolean;
}

export interface DuplicateReport {
  /** The most similar first; of equals by id. */
  readonly pairs: readonly Duplicate[];
  /** False: the search ended before all was compared. */
  readonly complete: boolean;
}

/** From here on two texts are said to be nearly the same. */
export const LEAST_SIMILARITY = 0.7;
/** So many pairs are looked for; a corpus with more has other problems. */
const MOST_PAIRS = 1_000;
/** Shingles that one search reads, at most: about a second. */
const MOST_READ = 200_000_000;
/** A text that is met in the index takes as long as so many shingles. */
const READ_PER_MEETING = 16;
const WORDS_PER_SHINGLE = 3;
/** How often shingles occur is counted in so many places: those that share one only seem more common. */
const FREQUENCIES = 2 ** 20;

interface Compared {
  readonly id: string;
  readonly text: string;
}

interface Shingled {
  /** The words alone. */
  readonly normal: string;
  /** Hashes of the runs of three words, each once, in ascending order. */
  readonly shingles: Uint32Array;
}

/**
 * Finds pairs of nearly equal texts: two sets with a Jaccard similarity of at least t share an element among the first
 * |x| − ⌈t·|x|⌉ + 1 elements of each in any common order (prefix filter, Chaudhuri et al. 2006). The rarest come first, so that texts
 * with a phrase in common are seldom compared. What was computed of a text is kept for as long as the text is.
 */
export class DuplicateFinder {
  readonly #shingled = new WeakMap<Compared, Shingled>();

  /**
   * Returns the pairs of which one is among `changed`: all of them, unless there are too many or too much would have to be read. It
   * pauses after every text and every comparison.
   * @param all the texts of a corpus, those that changed among them
   */
  *find(changed: ReadonlySet<string>, all: readonly Compared[]): Steps<DuplicateReport> {
    if (changed.size === 0) return { pairs: [], complete: true };
    const frequency = new Uint32Array(FREQUENCIES);
    for (const one of all) {
      for (const shingle of this.#of(one).shingles) frequency[shingle % FREQUENCIES]++;
      yield;
    }
    const byShingle = new Map<number, Compared[]>();
    for (const one of all) {
      if (!changed.has(one.id)) continue;
      for (const shingle of prefixOf(this.#of(one).shingles, frequency)) {
        const sharing = byShingle.get(shingle);
        if (sharing === undefined) byShingle.set(shingle, [one]);
        else sharing.push(one);
      }
      yield;
    }
    const found: Duplicate[] = [];
    let read = 0;
    for (const one of all) {
      const mine = this.#of(one);
      const others = new Set<Compared>();
      for (const shingle of prefixOf(mine.shingles, frequency)) {
        const sharing = byShingle.get(shingle);
        if (sharing === undefined) continue;
        read += sharing.length * READ_PER_MEETING;
        if (read > MOST_READ) return { pairs: inOrder(found), complete: false };
        for (const other of sharing) others.add(other);
        yield;
      }
      for (const other of others) {
        // Pairs of two that changed are met twice.
        if (other === one || (changed.has(one.id) && one.id > other.id)) continue;
        const theirs = this.#of(other);
        read += mine.shingles.length + theirs.shingles.length;
        if (read > MOST_READ) return { pairs: inOrder(found), complete: false };
        const similarity = jaccard(mine.shingles, theirs.shingles);
        yield;
        if (similarity < LEAST_SIMILARITY) continue;
        if (found.length === MOST_PAIRS) return { pairs: inOrder(found), complete: false };
        const ids: [string, string] = one.id < other.id ? [one.id, other.id] : [other.id, one.id];
        found.push({ ids, similarity, exact: mine.normal === theirs.normal });
      }
      yield;
    }
    return { pairs: inOrder(found), complete: true };
  }

  #of(one: Compared): Shingled {
    const known = this.#shingled.get(one);
    if (known !== undefined) return known;
    const words = one.text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
    const made = { normal: words.join(' '), shingles: shinglesOf(words) };
    this.#shingled.set(one, made);
    return made;
  }
}

function inOrder(found: readonly Duplicate[]): readonly Duplicate[] {
  const key = ({ ids }: Duplicate): string => ids.join('\n');
  return found.toSorted((a, b) => b.similarity - a.similarity || (key(a) < key(b) ? -1 : 1));
}

function shinglesOf(words: readonly string[]): Uint32Array {
  const hashes = new Set<number>();
  const last = Math.max(0, words.length - WORDS_PER_SHINGLE);
  for (let at = 0; at <= last; at++) hashes.add(hashOf(words.slice(at, at + WORDS_PER_SHINGLE).join(' ')));
  return Uint32Array.from(hashes).sort();
}

/** FNV-1a over UTF-16. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

/** Returns the rarest shingles of a text; of equally rare ones those with the least hash. */
function prefixOf(shingles: Uint32Array, frequency: Uint32Array): Float64Array {
  const ordered = Float64Array.from(
    shingles,
    (hash) => frequency[hash % FREQUENCIES] * 2 ** 32 + hash,
  ).sort();
  const length = shingles.length - Math.ceil(LEAST_SIMILARITY * shingles.length) + 1;
  return ordered.subarray(0, length).map((key) => key % 2 ** 32);
}

function jaccard(a: Uint32Array, b: Uint32Array): number {
  if (Math.min(a.length, b.length) < LEAST_SIMILARITY * Math.max(a.length, b.length)) return 0;
  let shared = 0;
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) {
      shared++;
      i++;
      j++;
    } else if (a[i] < b[j]) i++;
    else j++;
  }
  return shared / (a.length + b.length - shared);
}
