/** Counts what text takes in the context of a language model. The same text gives the same number, on every machine. */
export interface TokenCounter {
  /** `estimate`, `o200k`, or the file of a model's tokenizer. */
  readonly name: string;
  /** A whole number ≥ 0; 0 for the empty text alone. */
  count(text: string): number;
}
