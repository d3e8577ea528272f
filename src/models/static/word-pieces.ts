/** Special tokens of BERT. Where one stands in a text it is that token, in its case and even within a word. */
const SPECIAL = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'] as const;
const ANY_SPECIAL = /(\[(?:PAD|UNK|CLS|SEP|MASK)\])/;
const UNKNOWN = '[UNK]';
/** Begins a token that continues a word. */
const CONTINUING = '##';
/** Longer words are unknown, in code points. */
const LONGEST_WORD = 100;

/** Nothing in such a text has to be cleaned. */
const PLAIN = /^[\t\n\r -~]*$/;
const INVISIBLE = /(?![\t\n\r])[\p{Cc}\p{Cf}\p{Co}\p{Cs}\ufffd]/gu;
const IDEOGRAPH = /[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]/g;
const PUNCTUATION = '\\p{P}!-/:-@[-`{-~';
const WORD = new RegExp(`[^\\s${PUNCTUATION}]+|[${PUNCTUATION}]`, 'gu');

/** What a character of a plain text is: a part of a word, a word by itself, or neither. */
const BLANK = 0;
const MARK = 1;
const LETTER = 2;
const KINDS = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (/\s/.test(character)) return BLANK;
  return new RegExp(`[${PUNCTUATION}]`, 'u').test(character) ? MARK : LETTER;
});

/**
 * Cuts texts into the tokens of a BERT vocabulary (uncased WordPiece; Wu et al. 2016, Devlin et al. 2019): lower case without
 * accents, every punctuation mark and ideograph alone, and of each word the longest token that it begins with, again and
 * again; a word that cannot be cut is `[UNK]`. Gives the same ids as `@huggingface/tokenizers`, without marks around the text.
 */
export class WordPieces {
  readonly #special: ReadonlyMap<string, number>;
  readonly #unknown: number;
  readonly #tokens: TokenTrie;

  /** @param vocabulary the tokens by id. @throws Error when a special token is missing or a token is there twice */
  constructor(vocabulary: readonly string[]) {
    this.#special = new Map(SPECIAL.map((token) => [token, vocabulary.indexOf(token)]));
    for (const [token, id] of this.#special) if (id < 0) throw new Error(`the token ${token} is missing`);
    this.#unknown = this.#special.get(UNKNOWN)!;
    this.#tokens = new TokenTrie(vocabulary);
  }

  /** Writes the ids of the text's first tokens, as many as there is room for; returns how many. */
  write(text: string, ids: Int32Array): number {
    if (!text.includes('[')) return this.#writeWords(text, ids, 0);
    let count = 0;
    for (const part of text.split(ANY_SPECIAL)) {
      const id = this.#special.get(part);
      if (id === undefined) count = this.#writeWords(part, ids, count);
      else if (count < ids.length) ids[count++] = id;
    }
    return count;
  }

  #writeWords(text: string, ids: Int32Array, before: number): number {
    if (PLAIN.test(text)) return this.#writePlain(text.toLowerCase(), ids, before);
    let count = before;
    for (const word of normalised(text).match(WORD) ?? []) {
      const isLong = word.length > LONGEST_WORD && [...word].length > LONGEST_WORD;
      count = this.#writeWord(word, 0, word.length, isLong, ids, count);
      if (count === ids.length) break;
    }
    return count;
  }

  /** Most texts are plain: their words are found character by character, and not written anywhere. */
  #writePlain(text: string, ids: Int32Array, before: number): number {
    let count = before;
    for (let start = 0; start < text.length && count < ids.length; ) {
      const kind = KINDS[text.charCodeAt(start)];
      let end = start + 1;
      if (kind === LETTER) while (end < text.length && KINDS[text.charCodeAt(end)] === LETTER) end++;
      if (kind !== BLANK) count = this.#writeWord(text, start, end, end - start > LONGEST_WORD, ids, count);
      start = end;
    }
    return count;
  }

  /** Writes the tokens of the word from `start` to `end`, or that it is unknown; returns the count after it. */
  #writeWord(
    text: string,
    start: number,
    end: number,
    isLong: boolean,
    ids: Int32Array,
    before: number,
  ): number {
    let count = before;
    for (let at = start; at < end; at = this.#tokens.end) {
      const id = isLong ? -1 : this.#tokens.longest(text, at, end, at === start);
      if (id === -1) {
        if (before < ids.length) ids[before] = this.#unknown;
        return Math.min(before + 1, ids.length);
      }
      // Beyond the last id the word is still looked at: it may turn out to be unknown.
      if (count < ids.length) ids[count++] = id;
    }
    return count;
  }
}

function normalised(text: string): string {
  return text
    .replace(INVISIBLE, '')
    .replace(IDEOGRAPH, ' $& ')
    .toLowerCase()
    .normalize('NFD')
    .replace(/\p{Mn}/gu, '');
}

/**
 * The tokens by their UTF-16 code units, so that the longest token at a place is found in one walk: the time for a text is
 * proportional to its length, whatever somebody writes. Edges are kept in a hash table with open addressing.
 */
class TokenTrie {
  /** Where the last token that was found ends in its word. */
  end = 0;
  readonly #mask: number;
  readonly #shift: number;
  readonly #parents: Int32Array;
  readonly #units: Uint16Array;
  readonly #children: Int32Array;
  /** The id of the token that ends at a node; −1: none. */
  readonly #ids: Int32Array;
  /** Where tokens that continue a word begin; node 0 is where words begin. */
  readonly #continuing: number;

  constructor(vocabulary: readonly string[]) {
    const most = vocabulary.reduce((sum, token) => sum + token.length, 1 + CONTINUING.length);
    const bits = Math.ceil(Math.log2(2 * most));
    const places = 2 ** bits;
    this.#mask = places - 1;
    this.#shift = 32 - bits;
    this.#parents = new Int32Array(places);
    this.#units = new Uint16Array(places);
    this.#children = new Int32Array(places);
    this.#ids = new Int32Array(most).fill(-1);
    let nodes = 1;
    const add = (token: string): number => {
      let node = 0;
      for (let at = 0; at < token.length; at++) {
        const place = this.#placeOf(node, token.charCodeAt(at));
        if (this.#children[place] === 0) {
          this.#parents[place] = node;
          this.#units[place] = token.charCodeAt(at);
          this.#children[place] = nodes++;
        }
        node = this.#children[place];
      }
      return node;
    };
    this.#continuing = add(CONTINUING);
    for (const [id, token] of vocabulary.entries()) {
      const node = add(token);
      if (this.#ids[node] !== -1) throw new Error(`the token ${JSON.stringify(token)} is there twice`);
      this.#ids[node] = id;
    }
  }

  /**
   * Returns the id of the longest token that a word goes on with at `start`, and sets `end`; −1: there is none.
   * @param limit where the word ends. @param begins whether it begins at `start`.
   */
  longest(text: string, start: number, limit: number, begins: boolean): number {
    let id = -1;
    let node = begins ? 0 : this.#continuing;
    for (let at = start; at < limit; at++) {
      node = this.#children[this.#placeOf(node, text.charCodeAt(at))];
      if (node === 0) break;
      if (this.#ids[node] === -1) continue;
      id = this.#ids[node];
      this.end = at + 1;
    }
    return id;
  }

  /** The place of this edge, or the free one where it belongs. */
  #placeOf(parent: number, unit: number): number {
    let place = Math.imul(parent ^ Math.imul(unit, 0x85ebca6b), 0x9e3779b1) >>> this.#shift;
    while (this.#children[place] !== 0 && (this.#parents[place] !== parent || this.#units[place] !== unit)) {
      place = (place + 1) & this.#mask;
    }
    return place;
  }
}
