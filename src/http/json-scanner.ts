import type { Problem } from '../errors/problem.ts';
import { invalid, notJson, tooLarge } from './body-problems.ts';

/** How much one body may hold, for one kind of requests. Whatever exceeds it is refused while the body is being read. */
export interface BodyLimits {
  readonly bytes: number;
  /** Values, in arrays and objects together. */
  readonly values: number;
  /** Elements of all its lists together. */
  readonly elements: number;
  readonly tooManyElements: (list: string) => Problem;
  /** How much of it may be in no list, which is parsed at a stretch; absent: what `MAX_PIECE_BYTES` and `MAX_LOOSE_VALUES` say. */
  readonly loose?: { readonly bytes: number; readonly values: number };
}

export const ORDINARY_BODY: BodyLimits = {
  bytes: 1024 * 1024,
  values: 100_000,
  elements: 10_000,
  tooManyElements: (list) => invalid([{ path: list, message: 'makes it more than 10000 elements' }]),
};

/** Nested arrays and objects: a schema of depth 64 inside `tools[i].inputSchema`, and some room. */
export const MAX_JSON_DEPTH = 72;
/** One element of a list is parsed and checked at a stretch, and so is everything that is in no list. */
export const MAX_PIECE_BYTES = 1024 * 1024;
export const MAX_ELEMENT_VALUES = 10_000;
export const MAX_LOOSE_VALUES = 2_000;

/** An array that is a member of the body: `"tools": [ … ]`. */
export interface JsonList {
  readonly key: string;
  /** Bytes between its brackets: from `start` to `end`. */
  readonly start: number;
  end: number;
  /** Where its elements begin and end, in turn; the commas belong to none. */
  bounds: number[];
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Looks at the bytes of a body as they come: refuses it as soon as it is too much, and notes where the elements of
 * its lists are, so that they can be parsed one by one. It is no parser: whether all of it is JSON turns out when
 * the pieces are parsed.
 */
export class JsonScanner {
  /** In the order of the body. */
  readonly lists: JsonList[] = [];
  readonly #limits: BodyLimits;
  /** What closes each of the open arrays and objects. */
  readonly #closers: number[] = [];
  #at = 0;
  #depth = 0;
  #inString = false;
  #escaped = false;
  #values = 0;
  #looseValues = 0;
  #elements = 0;
  /** The list that is being read. */
  #list: JsonList | null = null;
  #valuesBeforeElement = 0;
  /** Bytes in lists that have ended. */
  #listed = 0;
  /** The last string that is no deeper than the members of the body: where an array opens, its key. */
  #stringStart = 0;
  #stringEnd = 0;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  /** Values in arrays and objects, so far. */
  get values(): number {
    return this.#values;
  }

  /** @param bytes the body so far, from its beginning. @throws Problem */
  scan(bytes: Uint8Array): void {
    let inString = this.#inString;
    let escaped = this.#escaped;
    for (let at = this.#at; at < bytes.length; at++) {
      const byte = bytes[at];
      if (inString) {
        if (escaped) escaped = false;
        else if (byte === BACKSLASH) escaped = true;
        else if (byte === QUOTE) {
          inString = false;
          if (this.#depth === 1) this.#stringEnd = at + 1;
        }
      } else if (byte === QUOTE) {
        inString = true;
        if (this.#depth === 1) this.#stringStart = at;
      } else if (byte === COMMA) {
        this.#countValue();
        if (this.#list !== null && this.#depth === 2) {
          this.#endElement(this.#list, at);
          this.#beginElement(this.#list, at + 1);
        }
      } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        this.#countValue();
        this.#open(bytes, at);
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
        this.#close(bytes, at);
      }
    }
    this.#inString = inString;
    this.#escaped = escaped;
    this.#at = bytes.length;
    this.#checkPiece(bytes.length);
  }

  #open(bytes: Uint8Array, at: number): void {
    if (this.#depth === MAX_JSON_DEPTH)
      throw this.#refusal(`is nested more than ${MAX_JSON_DEPTH} levels deep`);
    this.#closers[this.#depth++] = bytes[at] === OPEN_ARRAY ? CLOSE_ARRAY : CLOSE_OBJECT;
    if (this.#depth !== 2 || bytes[at] !== OPEN_ARRAY || this.#closers[0] !== CLOSE_OBJECT) return;
    const key = keyOf(bytes.subarray(this.#stringStart, this.#stringEnd));
    if (this.lists.some((list) => list.key === key))
      throw invalid([{ path: key, message: 'is there twice' }]);
    this.#list = { key, start: at + 1, end: at + 1, bounds: [] };
    this.#beginElement(this.#list, at + 1);
  }

  #close(bytes: Uint8Array, at: number): void {
    if (this.#depth === 0 || this.#closers[--this.#depth] !== bytes[at]) throw notJson(this.#path());
    const list = this.#list;
    if (list === null || this.#depth !== 1) return;
    list.end = at;
    if (list.bounds.length === 1 && isBlank(bytes.subarray(list.start, at))) list.bounds = [];
    else this.#endElement(list, at);
    this.lists.push(list);
    this.#listed += at - list.start;
    this.#list = null;
  }

  #beginElement(list: JsonList, at: number): void {
    list.bounds.push(at);
    this.#valuesBeforeElement = this.#values;
  }

  #endElement(list: JsonList, at: number): void {
    this.#checkPiece(at);
    if (++this.#elements > this.#limits.elements) throw this.#limits.tooManyElements(list.key);
    list.bounds.push(at);
  }

  #countValue(): void {
    const { values } = this.#limits;
    if (++this.#values > values) throw this.#refusal(`is where it becomes more than ${values} values`);
    if (this.#list === null) {
      const most = this.#limits.loose?.values ?? MAX_LOOSE_VALUES;
      if (++this.#looseValues <= most) return;
      throw this.#refusal(`has more than ${most} values outside of its lists`);
    }
    if (this.#values - this.#valuesBeforeElement <= MAX_ELEMENT_VALUES) return;
    throw this.#refusal(`has more than ${MAX_ELEMENT_VALUES} values`);
  }

  /** Is what is being read at `at`, an element or what is in no list, still short enough? */
  #checkPiece(at: number): void {
    const bytes = this.#list === null ? at - this.#listed : at - (this.#list.bounds.at(-1) ?? at);
    const most = this.#list === null ? (this.#limits.loose?.bytes ?? MAX_PIECE_BYTES) : MAX_PIECE_BYTES;
    if (bytes > most) throw tooLarge(most, this.#path());
  }

  #refusal(message: string): Problem {
    return invalid([{ path: this.#path() ?? '(root)', message }]);
  }

  /** Which element is being read; null: none. */
  #path(): string | null {
    return this.#list && `${this.#list.key.slice(0, 100)}[${(this.#list.bounds.length - 1) / 2}]`;
  }
}

/** A key as JSON has it, escapes and all; whatever it is if it is none. */
function keyOf(bytes: Uint8Array): string {
  const text = Buffer.from(bytes).toString();
  try {
    return String(JSON.parse(text));
  } catch {
    return text;
  }
}

function isBlank(bytes: Uint8Array): boolean {
  return bytes.every(
    (byte) => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d && byte !== 0x0b && byte !== 0x0c),
  );
}
