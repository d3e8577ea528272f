import { UnusableModelError } from '../embedder.ts';
import { createTokenizer, fingerprintOf, messageOf, readModelFolder } from './model-folder.ts';
import { type ModelSettings, modelSettings, SETTINGS_FILE } from './model-settings.ts';
import { OnnxSession } from './onnx-session.ts';
import { TokenIds } from './token-ids.ts';

/** Outputs with one vector per text, and with one per token, by the names that exporters give them. */
const POOLED_OUTPUTS = ['sentence_embedding'];
const TOKEN_OUTPUTS = ['last_hidden_state', 'token_embeddings', 'sentence_embedding'];

/** The vectors of a list of texts, one after the other, and why some of them (by index) are missing: all zero. */
export interface Embedded {
  readonly vectors: Float32Array<ArrayBuffer>;
  readonly failures: readonly (readonly [at: number, message: string])[];
}

/**
 * A sentence embedding model in ONNX with its tokenizer, loaded from a folder with `model.onnx` and
 * `tokenizer.json`, and whatever settings files of sentence-transformers or of our own lie beside them. Pools and
 * normalises what the graph does not. Heavy and synchronous inside: meant for a worker thread.
 */
export class SentenceModel {
  readonly dimensions: number;
  readonly fingerprint: string;
  readonly settings: ModelSettings;
  readonly #loaded: LoadedModel;

  private constructor(loaded: LoadedModel, settings: ModelSettings, dimensions: number, fingerprint: string) {
    this.#loaded = loaded;
    this.settings = settings;
    this.dimensions = dimensions;
    this.fingerprint = fingerprint;
  }

  /** @throws UnusableModelError */
  static async load(folder: string): Promise<SentenceModel> {
    const files = await readModelFolder(folder);
    const settings = modelSettings(folder, files.configs);
    const session = await OnnxSession.open(files);
    const output = chooseOutput(folder, session, settings);
    const { tokenizer, definition } = createTokenizer(files);
    const raw: LoadedModel = {
      session,
      tokenIds: new TokenIds(tokenizer, definition),
      maxTokens: settings.maxTokens,
      ...output,
      normalise: false,
    };
    const trial = await run(raw, 'Read the file and send it by mail.').catch((error: unknown) => {
      throw new UnusableModelError(`The model in ${folder} fails on a first text: ${messageOf(error)}`);
    });
    // Left alone where the graph normalises, to the last bit.
    const normalise = trial.some((value) => value !== 0) && Math.abs(Math.hypot(...trial) - 1) > 1e-3;
    const { queryPrefix, documentPrefix, maxTokens } = settings;
    const own = [output.pooling ?? '', String(normalise), queryPrefix, documentPrefix];
    const isPlain = own.join() === ',false,,';
    const fingerprint = fingerprintOf(files, maxTokens, ...(isPlain ? [] : own));
    return new SentenceModel({ ...raw, normalise }, settings, trial.length, fingerprint);
  }

  /**
   * Every text is a run of its own: in a batch its vector would depend on the other texts (int8 MiniLM: cosines
   * down to .98), for a third less time at best. A text on which the model fails does not concern the others.
   */
  async embed(texts: readonly string[]): Promise<Embedded> {
    const vectors = new Float32Array(texts.length * this.dimensions);
    const failures: [number, string][] = [];
    for (const [at, text] of texts.entries()) {
      try {
        vectors.set(await run(this.#loaded, text), at * this.dimensions);
      } catch (error) {
        failures.push([at, messageOf(error)]);
      }
    }
    return { vectors, failures };
  }
}

interface Output {
  readonly output: string;
  readonly pooling: ModelSettings['pooling'];
}

interface LoadedModel extends Output {
  readonly session: OnnxSession;
  readonly tokenIds: TokenIds;
  readonly maxTokens: number;
  readonly normalise: boolean;
}

/** @throws UnusableModelError when there is none, or when it is not said how to pool it. */
function chooseOutput(folder: string, session: OnnxSession, { pooling }: ModelSettings): Output {
  const has = (names: readonly string[], rank: number): string | undefined =>
    names.find((name) =>
      session.outputs.some(
        (one) => one.name === name && one.isTensor && one.type === 'float32' && one.shape.length === rank,
      ),
    );
  const pooled = has(POOLED_OUTPUTS, 2);
  if (pooled !== undefined) return { output: pooled, pooling: null };
  const tokens = has(TOKEN_OUTPUTS, 3);
  if (tokens !== undefined && pooling !== null) return { output: tokens, pooling };
  if (tokens !== undefined) {
    throw new UnusableModelError(
      `The model in ${folder} gives one vector per token (${tokens}), and nothing says how to pool them: ` +
        `write {"pooling": "mean"} or {"pooling": "cls"}, whichever its card says, to ${SETTINGS_FILE} beside it.`,
    );
  }
  throw new UnusableModelError(
    `The model in ${folder} gives ${session.outputNames}; needed is a float32 output sentence_embedding ` +
      '[batch, dimensions] or last_hidden_state [batch, tokens, dimensions]: export it for feature extraction.',
  );
}

async function run(model: LoadedModel, text: string): Promise<Float32Array> {
  const { session, tokenIds, maxTokens, output, pooling, normalise } = model;
  const ids = truncated(tokenIds.of(text), maxTokens);
  const values = await session.run(ids, null, output);
  const vector = pooling === null ? values : pooled(values, ids.length, pooling);
  const length = lengthOf(vector);
  if (!Number.isFinite(length)) throw new Error('it gave a vector that is not finite');
  return normalise && length > 0 ? vector.map((value) => value / length) : vector;
}

/** Not finite if one of the values is not. */
function lengthOf(vector: Float32Array): number {
  let squares = 0;
  for (let at = 0; at < vector.length; at++) squares += vector[at] * vector[at];
  return Math.sqrt(squares);
}

/** One vector of the vectors of all tokens: their mean, or the first one's. */
function pooled(values: Float32Array, tokens: number, pooling: 'mean' | 'cls'): Float32Array {
  const dimensions = values.length / tokens;
  if (pooling === 'cls') return values.slice(0, dimensions);
  const sum = new Float64Array(dimensions);
  for (let at = 0; at < values.length; at++) sum[at % dimensions] += values[at];
  return Float32Array.from(sum, (value) => value / tokens);
}

/** Cut texts keep their last token, which is the end mark of the models that need one. A graph needs one token. */
function truncated(ids: readonly number[], maxTokens: number): readonly number[] {
  if (ids.length === 0) return [0];
  return ids.length <= maxTokens ? ids : [...ids.slice(0, maxTokens - 1), ids[ids.length - 1]];
}
