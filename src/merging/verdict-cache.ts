import type { PairVerdict } from './judge.ts';

/** About 30 MB of verdicts at most. */
const MAX_VERDICTS = 100_000;

/** Verdicts by unordered pair of definition hashes; the ones that were used longest ago go first. */
export class VerdictCache {
  readonly #verdicts = new Map<string, PairVerdict>();
  readonly #max: number;

  constructor(max = MAX_VERDICTS) {
    this.#max = max;
  }

  get(a: string, b: string): PairVerdict | undefined {
    const key = keyOf(a, b);
    const verdict = this.#verdicts.get(key);
    if (verdict !== undefined) this.#put(key, verdict);
    return verdict;
  }

  set(a: string, b: string, verdict: PairVerdict): void {
    this.#put(keyOf(a, b), verdict);
  }

  #put(key: string, verdict: PairVerdict): void {
    this.#verdicts.delete(key);
    this.#verdicts.set(key, verdict);
    const [oldest] = this.#verdicts.keys();
    if (this.#verdicts.size > this.#max) this.#verdicts.delete(oldest);
  }
}

const keyOf = (a: string, b: string) => (a < b ? `${a} ${b}` : `${b} ${a}`);
