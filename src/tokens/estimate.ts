import { MARKS, SCRIPTS, WEIGHTS } from './estimate-weights.ts';
import { type PieceVisitor, visitPieces } from './pieces.ts';
import type { TokenCounter } from './token-counter.ts';

/** Longer words are taken for words of this length and a part for each further letter. */
const LONGEST = 16;
const CASES = 3;
const PREFIXES = 3;
/** Of what follows: by case and prefix, by case and length, further letters, letters that are not ASCII, contractions, pairs. */
const LENGTHS = CASES * PREFIXES;
const FURTHER = LENGTHS + CASES * LONGEST;
const ACCENTED = FURTHER + 1;
const CONTRACTED = FURTHER + 2;
const PAIRS = FURTHER + 3;
/** The beginning of a word, the letters a–z, its end. */
const LETTERS = 28;
export const WORD_FEATURES = PAIRS + LETTERS * LETTERS;

/**
 * Calls `add` with the features of a word, some of them several times. How many tokens a word takes depends on how usual its letters
 * are beside each other: that stands for the vocabulary.
 */
export function wordFeatures(
  text: string,
  start: number,
  end: number,
  prefix: number,
  hasContraction: boolean,
  add: (feature: number) => void,
): void {
  const length = end - start;
  const form = caseOf(text, start, end);
  add(form * PREFIXES + prefix);
  add(LENGTHS + form * LONGEST + Math.min(length, LONGEST) - 1);
  for (let more = LONGEST; more < length; more++) add(FURTHER);
  if (hasContraction) add(CONTRACTED);
  let before = 0;
  for (let at = start; at < end; at++) {
    const code = text.charCodeAt(at) | 32;
    const letter = code >= 97 && code <= 122 ? code - 96 : -1;
    if (letter < 0) add(ACCENTED);
    else if (before >= 0) add(PAIRS + before * LETTERS + letter);
    before = letter;
  }
  if (before >= 0) add(PAIRS + before * LETTERS + LETTERS - 1);
}

/** 0: small letters; 1: a capital first; 2: all capitals. */
function caseOf(text: string, start: number, end: number): number {
  const isCapital = (at: number): boolean => {
    const code = text.charCodeAt(at);
    return (code >= 65 && code <= 90) || (code >= 0xc0 && code <= 0xde);
  };
  if (!isCapital(start)) return 0;
  return end - start > 1 && isCapital(end - 1) ? 2 : 1;
}

const LEAST = 0.3;
const UNKNOWN_SCRIPT = [0.4, 0.7] as const;

class Estimate implements PieceVisitor {
  tokens = 0;
  readonly #text: string;
  #word = 0;
  readonly #add = (feature: number): void => {
    this.#word += WEIGHTS[feature];
  };

  constructor(text: string) {
    this.#text = text;
  }

  word(start: number, end: number, prefix: number, hasContraction: boolean): void {
    this.#word = 0;
    wordFeatures(this.#text, start, end, prefix, hasContraction, this.#add);
    // Not 1 at least: the sum over many words is right, whereas raising the low ones would not lower the high ones.
    this.tokens += Math.max(LEAST, this.#word / 100);
  }

  script(start: number, end: number, block: number): void {
    const [base, perLetter] = SCRIPTS[block] ?? UNKNOWN_SCRIPT;
    this.tokens += base + perLetter * (end - start);
  }

  digits(): void {
    this.tokens++;
  }

  marks(start: number, end: number): void {
    const length = end - start;
    this.tokens += MARKS[Math.min(length, MARKS.length) - 1] + Math.max(0, length - MARKS.length) / 4;
  }

  blanks(length: number): void {
    this.tokens += length > 80 ? length / 80 : 1;
  }
}

/** About as many tokens as o200k has, without its vocabulary. How near it is: docs/budgets.md. */
export const ESTIMATE: TokenCounter = {
  name: 'estimate',
  count: (text) => {
    const estimate = new Estimate(text);
    visitPieces(text, estimate);
    return Math.ceil(estimate.tokens);
  },
};
