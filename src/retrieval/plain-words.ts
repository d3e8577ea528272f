/** Of a character of ASCII, to find where words begin and end. */
const NONE = 0;
const DIGIT = 1;
const LOWER = 2;
const UPPER = 3;
const KINDS = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (/[0-9]/.test(character)) return DIGIT;
  if (/[a-z]/.test(character)) return LOWER;
  return /[A-Z]/.test(character) ? UPPER : NONE;
});
/** Makes a capital letter of ASCII small; small letters and digits have this bit already. */
const SMALL = 0x20;

export const FNV_OFFSET = 0x811c9dc5;
export const FNV_PRIME = 0x01000193;

/**
 * Walks over the words of a text in ASCII, as `wordsOf` has them, and makes no strings of them: most texts are ASCII, and nearly
 * all of their words are known. One object reads one text after the other.
 */
export class PlainWords {
  /** The current word begins here. */
  start = 0;
  /** It ends before this. */
  end = 0;
  /** FNV-1a of the word in small letters, as a signed number. */
  hash = 0;
  hasDigit = false;
  /** Characters of the text; in small letters up to `end`. */
  readonly bytes: Uint8Array;
  readonly #encoder = new TextEncoder();
  #length = 0;

  /** @param longest so many characters can be read of one text. */
  constructor(longest: number) {
    this.bytes = new Uint8Array(longest);
  }

  /** Begins a text; false: it is not ASCII, and has to be read in another way. */
  begin(text: string): boolean {
    const { read, written } = this.#encoder.encodeInto(text, this.bytes);
    this.#length = written;
    this.end = 0;
    // Other characters are several bytes each.
    return read === text.length && written === read;
  }

  /** Goes on to the next word; false: there is none. */
  next(): boolean {
    const { bytes } = this;
    const length = this.#length;
    let at = this.end;
    while (at < length && KINDS[bytes[at]] === NONE) at++;
    this.start = at;
    let hash = FNV_OFFSET | 0;
    let hasDigit = false;
    let before = NONE;
    for (; at < length; at++) {
      const kind = KINDS[bytes[at]];
      if (kind === NONE) break;
      if (kind === UPPER && before !== NONE && (before !== UPPER || this.#beginsName(at))) break;
      if (kind === DIGIT) hasDigit = true;
      bytes[at] |= SMALL;
      hash = Math.imul(hash ^ bytes[at], FNV_PRIME);
      before = kind;
    }
    this.end = at;
    this.hash = hash;
    this.hasDigit = hasDigit;
    return at > this.start;
  }

  /** The current word in small letters. */
  get word(): string {
    return String.fromCharCode(...this.bytes.subarray(this.start, this.end));
  }

  /** Whether a capital after others begins a word: that of Server in HTTPServer, but not that of Ds in userIDs. */
  #beginsName(at: number): boolean {
    const { bytes } = this;
    return at + 2 < this.#length && KINDS[bytes[at + 1]] === LOWER && KINDS[bytes[at + 2]] === LOWER;
  }
}
