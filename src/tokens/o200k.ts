import type { TokenCounter } from './token-counter.ts';

/** The vocabulary is looked through in a time that grows with the square of such a run. */
const LONG_RUN = /[\p{L}\p{M}]{128}|[^\s\p{L}\p{N}]{128}|\s{128}/gu;

/** As `o200k_base` counts, the encoding of OpenAI's models since GPT-4o. @throws MissingTokenizerError */
export async function o200k(): Promise<TokenCounter> {
  const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base').catch((cause: unknown) => {
    throw new MissingTokenizerError(cause);
  });
  // What looks like a special token is text.
  const options = { disallowedSpecial: new Set<string>() };
  return {
    name: 'o200k',
    count: (text) => countTokens(text.replace(LONG_RUN, '$& '), options),
  };
}

/** The package with the vocabulary is not there. */
export class MissingTokenizerError extends Error {
  override readonly name = 'MissingTokenizerError';

  constructor(cause: unknown) {
    super(
      'The tokenizer `o200k` needs the package gpt-tokenizer, which is not installed: run `npm install gpt-tokenizer@4.0.0`, or set BANDOLIER_TOKENIZER to `estimate`.',
      { cause },
    );
  }
}
