import type { Tokenizer } from '@huggingface/tokenizers';
import { UnusableModelError } from '../embedder.ts';
import { createTokenizer, messageOf, readModelFolder } from './model-folder.ts';
import { OnnxSession } from './onnx-session.ts';

const OUTPUT = 'logits';
const MAX_TOKENS = 512;
/** What lies beyond would be cut anyway, and only cost time. */
const MAX_CHARACTERS = { query: 1_000, document: 3_000 };

/**
 * A cross-encoder in ONNX: reads a query and a document together and says how well they go together. Loaded from a
 * folder with `model.onnx` and `tokenizer.json`. Heavy and synchronous inside: meant for a worker thread.
 */
export class PairModel {
  readonly #session: OnnxSession;
  readonly #tokenizer: Tokenizer;

  private constructor(session: OnnxSession, tokenizer: Tokenizer) {
    this.#session = session;
    this.#tokenizer = tokenizer;
  }

  /** @throws UnusableModelError */
  static async load(folder: string): Promise<PairModel> {
    const files = await readModelFolder(folder);
    const session = await OnnxSession.open(files);
    const output = session.outputs.find(({ name }) => name === OUTPUT);
    const last = output?.isTensor === true && output.type === 'float32' ? output.shape.at(-1) : undefined;
    if (output?.isTensor !== true || last !== 1) {
      throw new UnusableModelError(
        `The model in ${folder} gives ${session.outputNames}; a reranker needs a float32 output logits [batch, 1]: ` +
          'export a cross-encoder for sequence classification.',
      );
    }
    const model = new PairModel(session, createTokenizer(files).tokenizer);
    await model.score('send a mail', 'Sends a mail.').catch((error: unknown) => {
      throw new UnusableModelError(`The model in ${folder} fails on a first pair: ${messageOf(error)}`);
    });
    return model;
  }

  /** The larger, the better they fit; of no particular scale. */
  async score(query: string, document: string): Promise<number> {
    const encoded = this.#tokenizer.encode(query.slice(0, MAX_CHARACTERS.query), {
      text_pair: document.slice(0, MAX_CHARACTERS.document),
      return_token_type_ids: true,
    });
    const ids = truncated(encoded.ids);
    const types = truncated(encoded.token_type_ids);
    const [score] = await this.#session.run(ids, types, OUTPUT);
    if (!Number.isFinite(score)) throw new Error('it gave a score that is not finite');
    return score;
  }
}

/** The end mark stays. */
function truncated(ids: readonly number[]): readonly number[] {
  return ids.length <= MAX_TOKENS ? ids : [...ids.slice(0, MAX_TOKENS - 1), ids[ids.length - 1]];
}
