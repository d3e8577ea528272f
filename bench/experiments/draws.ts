import { randomFor } from '../../bandit/random.ts';

/** A stream of draws with a name: the same name, the same stream. */
export class Draws {
  readonly #random: ReturnType<typeof randomFor>;
  #next = 0;

  constructor(name: string) {
    this.#random = randomFor(name);
  }

  uniform(): number {
    return this.#random.uniform(this.#next++);
  }

  /** 1 with this probability, else 0. */
  coin(probability: number): 0 | 1 {
    return this.uniform() < probability ? 1 : 0;
  }

  /** Standard normal (Box–Muller, one of the two). */
  normal(): number {
    return Math.sqrt(-2 * Math.log(this.uniform())) * Math.cos(2 * Math.PI * this.uniform());
  }
}
