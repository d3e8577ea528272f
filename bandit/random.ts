/** Uniform numbers that depend on nothing but a key and a counter, so that any draw can be made again. */
export interface Random {
  /** The draw with this number, uniform in (0, 1): never 0, never 1. Pure: same counter, same number. */
  uniform(counter: number): number;
}
