import { readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';
import { ESTIMATE } from './estimate.ts';
import { o200k } from './o200k.ts';
import type { TokenCounter } from './token-counter.ts';

/**
 * @param name `estimate`, `o200k`, or a model's `tokenizer.json` or the folder with it
 * @throws MissingTokenizerError, UnusableTokenizerError
 */
export async function openTokenCounter(name: string): Promise<TokenCounter> {
  if (name === 'estimate') return ESTIMATE;
  if (name === 'o200k') return o200k();
  return modelTokens(name.endsWith('.json') ? name : join(name, 'tokenizer.json'));
}

/** The tokenizer of the setting cannot be read. */
export class UnusableTokenizerError extends Error {
  override readonly name = 'UnusableTokenizerError';

  constructor(file: string, cause: unknown) {
    super(
      `The tokenizer "${file}" cannot be read: BANDOLIER_TOKENIZER has to be \`estimate\`, \`o200k\`, or a model's tokenizer.json or the folder with it.`,
      { cause },
    );
  }
}

async function modelTokens(file: string): Promise<TokenCounter> {
  try {
    const config = join(dirname(file), 'tokenizer_config.json');
    const [json, settings] = await Promise.all([
      readFile(file, 'utf8'),
      readFile(config, 'utf8').catch(() => '{}'),
    ]);
    const tokenizer = new Tokenizer(JSON.parse(json), JSON.parse(settings));
    const count = (text: string): number => tokenizer.encode(text, { add_special_tokens: false }).ids.length;
    count('works');
    return { name: `${basename(dirname(file))}/${basename(file)}`, count };
  } catch (cause) {
    throw new UnusableTokenizerError(file, cause);
  }
}
