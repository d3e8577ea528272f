import type { Steps } from '../scheduling/slices.ts';

/** Two instructions that say nearly the same. */
export interface Duplicate {
  readonly ids: readonly [string, string];
  /** Share of the runs of three words that both have among those that either has (Jaccard), `LEAST_SIMILARITY`…1. */
  readonly similarity: number;
  /** The texts are equal but for case, punctuation and blanks. */
  readonly exact: boolean;
}

/** From here on two texts are said to be nearly the same. */
export const LEAST_SIMILARITY = 0.7;
/** So many pairs are looked for; a corpus with more has other problems. */
const MOST_PAIRS = 1_000;
const WORDS_PER_SHINGLE = 3;

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
 * Finds pairs of nearly equal texts, exactly: two sets with a Jaccard similarity of at least t share an element among the
 * first |x| − ⌈t·|x|⌉ + 1 elements of each in any common order (prefix filter, Chaudhuri et al. 2006), so that few pairs have
 * to be compared. What was computed of a text is kept for as long as the text is.
 */
export class DuplicateFinder {
  readonly #shingled = new WeakMap<Compared, Shingled>();

  /**
   * Returns the pairs of which one is among `changed`, the most similar first; of equals by id. It pauses after every text.
   * @param all the texts of a corpus, those that changed among them
   */
  *find(changed: ReadonlySet<string>, all: readonly Compared[]): Steps<readonly Duplicate[]> {
    const byShingle = new Map<number, Compared[]>();
    for (const one of all) {
      if (!changed.has(one.id)) continue;
      for (const shingle of prefixOf(this.#of(one).shingles)) {
        const sharing = byShingle.get(shingle);
        if (sharing === undefined) byShingle.set(shingle, [one]);
        else sharing.push(one);
      }
      yield;
    }
    const found: Duplicate[] = [];
    for (const one of all) {
      const mine = this.#of(one);
      const others = new Set<Compared>();
      for (const shingle of prefixOf(mine.shingles)) {
        for (const other of byShingle.get(shingle) ?? []) others.add(other);
      }
      for (const other of others) {
        // Pairs of two that changed are met twice.
        if (other === one || (changed.has(one.id) && one.id > other.id)) continue;
        const theirs = this.#of(other);
        const similarity = jaccard(mine.shingles, theirs.shingles);
        if (similarity < LEAST_SIMILARITY) continue;
        const ids: [string, string] = one.id < other.id ? [one.id, other.id] : [other.id, one.id];
        found.push({ ids, similarity, exact: mine.normal === theirs.normal });
        if (found.length === MOST_PAIRS) return inOrder(found);
      }
      yield;
    }
    return inOrder(found);
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

function prefixOf(shingles: Uint32Array): Uint32Array {
  return shingles.subarray(0, shingles.length - Math.ceil(LEAST_SIMILARITY * shingles.length) + 1);
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
