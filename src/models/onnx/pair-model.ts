import type { Tokenizer } from '@huggingface/tokenizers';
import { type InferenceSession, Tensor } from 'onnxruntime-node';
import { UnusableModelError } from '../embedder.ts';
import { createSession, createTokenizer, messageOf, readModelFolder } from './model-folder.ts';

const OUTPUT = 'logits';
const MAX_TOKENS = 512;
/** What lies beyond would be cut anyway, and only cost time. */
const MAX_CHARACTERS = { query: 1_000, document: 3_000 };

/**
 * A cross-encoder in ONNX: reads a query and a document together and says how well they go together. Loaded from a
 * folder with `model.onnx` and `tokenizer.json`. Heavy and synchronous inside: meant for a worker thread.
 */
export class PairModel {
  readonly #session: InferenceSession;
  readonly #tokenizer: Tokenizer;

  private constructor(session: InferenceSession, tokenizer: Tokenizer) {
    this.#session = session;
    this.#tokenizer = tokenizer;
  }

  /** @throws UnusableModelError */
  static async load(folder: string): Promise<PairModel> {
    const files = await readModelFolder(folder);
    const session = await createSession(files);
    const output = session.outputMetadata.find(({ name }) => name === OUTPUT);
    const last = output?.isTensor === true && output.type === 'float32' ? output.shape.at(-1) : undefined;
    if (output?.isTensor !== true || last !== 1) {
      const outputs = session.outputMetadata.map((one) =>
        one.isTensor ? `${one.name} [${one.shape.join(', ')}]` : one.name,
      );
      throw new UnusableModelError(
        `The model in ${folder} gives ${outputs.join(', ')}; a reranker needs a float32 output logits [batch, 1]: ` +
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
    const shape = [1, ids.length];
    const feeds: Record<string, Tensor> = {
      input_ids: new Tensor('int64', BigInt64Array.from(ids, BigInt), shape),
      attention_mask: new Tensor('int64', new BigInt64Array(ids.length).fill(1n), shape),
    };
    if (this.#session.inputNames.includes('token_type_ids')) {
      feeds.token_type_ids = new Tensor('int64', BigInt64Array.from(types, BigInt), shape);
    }
    const [score] = (await this.#session.run(feeds, [OUTPUT]))[OUTPUT].data as Float32Array;
    if (!Number.isFinite(score)) throw new Error('it gave a score that is not finite');
    return score;
  }
}

/** The end mark stays. */
function truncated(ids: readonly number[]): readonly number[] {
  return ids.length <= MAX_TOKENS ? ids : [...ids.slice(0, MAX_TOKENS - 1), ids[ids.length - 1]];
}
