/** What each piece of a text is told to; positions are UTF-16 code units of the text. */
export interface PieceVisitor {
  /** Latin letters, with or without a contraction behind them. @param prefix 0: nothing before it belongs to it; 1: a blank; 2: another character */
  word(start: number, end: number, prefix: number, hasContraction: boolean): void;
  /** Letters of another script, with what belongs to them before them. `block`: code of such a letter without its last eight bits. */
  script(start: number, end: number, block: number): void;
  /** One to three digits. */
  digits(): void;
  /** Neither letters nor digits. */
  marks(start: number, end: number): void;
  blanks(length: number): void;
}

const OTHER = 0;
const LETTER = 1;
const UPPER = 2;
const DIGIT = 3;
const BLANK = 4;
const NEWLINE = 5;

const ASCII = Uint8Array.from({ length: 128 }, (_, code) => {
  if (code >= 97 && code <= 122) return LETTER;
  if (code >= 65 && code <= 90) return UPPER;
  if (code >= 48 && code <= 57) return DIGIT;
  if (code === 10 || code === 13) return NEWLINE;
  return code === 32 || (code >= 9 && code <= 12) ? BLANK : OTHER;
});

/**
 * Takes a text apart as o200k does before it looks into its vocabulary: words split where a capital follows a small letter, up to
 * three digits, runs of marks, runs of blanks. It reads the text once, in linear time; rare characters may be taken for others.
 */
export function visitPieces(text: string, visitor: PieceVisitor): void {
  const end = text.length;
  let at = 0;
  while (at < end) {
    const kind = kindOf(text.charCodeAt(at));
    const next = at + 1 < end ? kindOf(text.charCodeAt(at + 1)) : NEWLINE;
    const isLetter = kind === LETTER || kind === UPPER;
    const isPrefix = (kind === OTHER || kind === BLANK) && (next === LETTER || next === UPPER);
    if (isLetter || isPrefix) at = visitLetters(text, isPrefix ? at + 1 : at, prefixOf(kind), visitor);
    else if (kind === DIGIT) {
      const start = at;
      while (at < end && at < start + 3 && kindOf(text.charCodeAt(at)) === DIGIT) at++;
      visitor.digits();
    } else if (kind === OTHER || (kind === BLANK && next === OTHER && text.charCodeAt(at) === 32)) {
      const start = at++;
      while (at < end && kindOf(text.charCodeAt(at)) === OTHER) at++;
      visitor.marks(start, at);
      while (at < end && kindOf(text.charCodeAt(at)) === NEWLINE) at++;
    } else {
      const start = at;
      while (at < end && isBlank(kindOf(text.charCodeAt(at)))) at++;
      // The last blank belongs to what follows it.
      const follows = at < end && at - start > 1 && text.charCodeAt(at - 1) === 32;
      if (follows) at--;
      visitor.blanks(at - start);
    }
  }
}

function prefixOf(kind: number): number {
  if (kind === BLANK) return 1;
  return kind === OTHER ? 2 : 0;
}

/** Visits a piece of letters, capitals first. Returns where it ends. */
function visitLetters(text: string, start: number, prefix: number, visitor: PieceVisitor): number {
  const end = text.length;
  let at = start;
  let block = 0;
  const takeAll = (wanted: number): void => {
    for (; at < end; at++) {
      const code = text.charCodeAt(at);
      if (kindOf(code) !== wanted) return;
      if (code > 0x24f && code >> 8 !== 0x1e) block = blockOf(code);
    }
  };
  takeAll(UPPER);
  takeAll(LETTER);
  if (block > 0) {
    visitor.script(prefix > 0 ? start - 1 : start, at, block);
    return at;
  }
  const wordEnd = at;
  if (text.charCodeAt(at) === 39) at += contractionAt(text, at);
  visitor.word(start, wordEnd, prefix, at > wordEnd);
  return at;
}

const CONTRACTION = /'(?:s|t|re|ve|m|ll|d)(?![a-z])/iy;

function contractionAt(text: string, at: number): number {
  CONTRACTION.lastIndex = at;
  return CONTRACTION.exec(text)?.[0].length ?? 0;
}

/** Ideographs have one block, and so have Hangul. */
function blockOf(code: number): number {
  if (code >= 0x3400 && code < 0xa000) return 0x4e;
  return code >= 0xac00 && code < 0xd7b0 ? 0xac : code >> 8;
}

function isBlank(kind: number): boolean {
  return kind === BLANK || kind === NEWLINE;
}

function kindOf(code: number): number {
  if (code < 128) return ASCII[code];
  if (code < 0xc0) return code === 0xa0 ? BLANK : OTHER;
  if (code < 0xdf) return code === 0xd7 ? OTHER : UPPER;
  if (code < 0x2000) return code === 0xf7 ? OTHER : LETTER;
  if (code < 0x2c00) return code <= 0x200a ? BLANK : OTHER;
  if (code < 0x3040) return code === 0x3000 ? BLANK : code < 0x2e00 ? LETTER : OTHER;
  if (code >= 0xd800 && code < 0xe000) return OTHER;
  if (code >= 0xfe10 && code < 0xfe70) return OTHER;
  return code >= 0xff00 && code < 0xff66 ? OTHER : LETTER;
}
