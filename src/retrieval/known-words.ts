import type { PlainWords } from './plain-words.ts';

/** Some 600 KB. */
const PLACES = 2 ** 14;
/** Where a word is looked for: at the place that its hash says and the three after it, however many words have that hash. */
const TRIED = 4;
/** Of longer words, which are rare, nothing is kept. */
const LONGEST = 24;

/** What is to know of a word. */
export interface KnownWord {
  /** Of its stem. */
  readonly term: number;
  /** Whether it says nothing about which tool is wanted. */
  readonly isStop: boolean;
}

/**
 * Keeps what the latest words are, because stemming takes ten times as long as looking that up, and the words of queries are few.
 * It is a cache of fixed size: a word may take the place of another one.
 */
export class KnownWords {
  /** Of the word that was looked up last. */
  term = 0;
  isStop = false;
  readonly #learn: (word: string) => KnownWord;
  readonly #hashes = new Int32Array(PLACES);
  /** 0: nothing is kept at this place. */
  readonly #lengths = new Uint8Array(PLACES);
  readonly #characters = new Uint8Array(PLACES * LONGEST);
  readonly #terms = new Uint32Array(PLACES);
  readonly #isStop = new Uint8Array(PLACES);

  /** @param learn says what a word is that is not known; it is in small letters. */
  constructor(learn: (word: string) => KnownWord) {
    this.#learn = learn;
  }

  /** Sets `term` and `isStop` to those of the current word. */
  lookUp(words: PlainWords): void {
    const place = this.#placeOf(words);
    if (place < 0) {
      this.#learnNew(words);
      return;
    }
    this.term = this.#terms[place];
    this.isStop = this.#isStop[place] === 1;
  }

  /** −1: the word is not known. */
  #placeOf({ hash, start, end, bytes }: PlainWords): number {
    const characters = this.#characters;
    for (let tried = 0; tried < TRIED; tried++) {
      const place = (hash + tried) & (PLACES - 1);
      if (this.#hashes[place] !== hash || this.#lengths[place] !== end - start) continue;
      const from = place * LONGEST - start;
      let at = start;
      while (at < end && characters[from + at] === bytes[at]) at++;
      if (at === end) return place;
    }
    return -1;
  }

  #learnNew({ word, hash, start, end, bytes }: PlainWords): void {
    const { term, isStop } = this.#learn(word);
    this.term = term;
    this.isStop = isStop;
    if (end - start > LONGEST) return;
    const place = this.#placeFor(hash);
    this.#hashes[place] = hash;
    this.#lengths[place] = end - start;
    this.#terms[place] = term;
    this.#isStop[place] = isStop ? 1 : 0;
    this.#characters.set(bytes.subarray(start, end), place * LONGEST);
  }

  /** The first free place of those that are tried, or else the first one. */
  #placeFor(hash: number): number {
    for (let tried = 0; tried < TRIED; tried++) {
      const place = (hash + tried) & (PLACES - 1);
      if (this.#lengths[place] === 0) return place;
    }
    return hash & (PLACES - 1);
  }
}
