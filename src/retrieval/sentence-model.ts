import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { UnusableModelError } from './embedder.ts';
import { TokenIds } from './token-ids.ts';

const OUTPUT = 'sentence_embedding';
const INPUTS = ['input_ids', 'attention_mask', 'token_type_ids'];
const MAX_TOKENS = { static: 512, transformer: 128 };
/** A static model adds vectors, so its card says so; anything else is taken for a transformer. */
const STATIC_MODEL_TYPE = 'static-embedding';

/**
 * A sentence embedding model in ONNX with its tokenizer, loaded from a folder with `model.onnx` and
 * `tokenizer.json` (and `tokenizer_config.json`, `config.json` if there are any). The graph does its own pooling
 * and normalising. Heavy and synchronous inside: meant for a worker thread.
 */
export class SentenceModel {
  readonly dimensions: number;
  readonly fingerprint: string;
  readonly #session: InferenceSession;
  readonly #tokenIds: TokenIds;
  readonly #maxTokens: number;

  private constructor(loaded: LoadedModel, dimensions: number, fingerprint: string) {
    this.#session = loaded.session;
    this.#tokenIds = loaded.tokenIds;
    this.#maxTokens = loaded.maxTokens;
    this.dimensions = dimensions;
    this.fingerprint = fingerprint;
  }

  /** @throws UnusableModelError */
  static async load(folder: string): Promise<SentenceModel> {
    const files = await readModelFolder(folder);
    const loaded: LoadedModel = {
      session: await createSession(folder, files.model),
      tokenIds: createTokenizer(folder, files),
      maxTokens: files.config.model_type === STATIC_MODEL_TYPE ? MAX_TOKENS.static : MAX_TOKENS.transformer,
    };
    const trial = await run(loaded, 'Read the file and send it by mail.').catch((error: unknown) => {
      throw new UnusableModelError(`The model in ${folder} fails on a first text: ${messageOf(error)}`);
    });
    checkVector(folder, trial);
    return new SentenceModel(loaded, trial.length, fingerprintOf(files, loaded.maxTokens));
  }

  /**
   * One vector per text, one after the other in a single array. Every text is a run of its own: in a batch its
   * vector would depend on the other texts (int8 MiniLM: cosines down to .98), for a third less time at best.
   */
  async embed(texts: readonly string[]): Promise<Float32Array<ArrayBuffer>> {
    const vectors = new Float32Array(texts.length * this.dimensions);
    const loaded = { session: this.#session, tokenIds: this.#tokenIds, maxTokens: this.#maxTokens };
    for (const [at, text] of texts.entries()) vectors.set(await run(loaded, text), at * this.dimensions);
    return vectors;
  }
}

interface LoadedModel {
  readonly session: InferenceSession;
  readonly tokenIds: TokenIds;
  readonly maxTokens: number;
}

async function run({ session, tokenIds, maxTokens }: LoadedModel, text: string): Promise<Float32Array> {
  const ids = truncated(tokenIds.of(text), maxTokens);
  const shape = [1, ids.length];
  const feeds: Record<string, Tensor> = {
    input_ids: new Tensor('int64', BigInt64Array.from(ids, BigInt), shape),
    attention_mask: new Tensor('int64', new BigInt64Array(ids.length).fill(1n), shape),
  };
  if (session.inputNames.includes('token_type_ids')) {
    feeds.token_type_ids = new Tensor('int64', new BigInt64Array(ids.length), shape);
  }
  const output = (await session.run(feeds, [OUTPUT]))[OUTPUT];
  return output.data as Float32Array;
}

/** Cut texts keep their last token, which is the end mark of the models that need one. A graph needs one token. */
function truncated(ids: readonly number[], maxTokens: number): readonly number[] {
  if (ids.length === 0) return [0];
  return ids.length <= maxTokens ? ids : [...ids.slice(0, maxTokens - 1), ids[ids.length - 1]];
}

interface ModelFiles {
  readonly model: Buffer;
  readonly tokenizer: Buffer;
  readonly tokenizerConfig: Buffer;
  readonly config: Readonly<Record<string, unknown>>;
}

async function readModelFolder(folder: string): Promise<ModelFiles> {
  const isFolder = await stat(folder).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isFolder) {
    throw new UnusableModelError(
      `There is no model folder ${folder}. Give the path of a folder with model.onnx and tokenizer.json.`,
    );
  }
  const required = (name: string): Promise<Buffer> =>
    readFile(join(folder, name)).catch((error: unknown) => {
      throw new UnusableModelError(
        `${join(folder, name)} cannot be read (${messageOf(error)}). A model folder needs model.onnx and tokenizer.json.`,
      );
    });
  const optional = (name: string): Promise<Buffer> =>
    readFile(join(folder, name)).catch(() => Buffer.from('{}'));
  const config = await optional('config.json');
  return {
    model: await required('model.onnx'),
    tokenizer: await required('tokenizer.json'),
    tokenizerConfig: await optional('tokenizer_config.json'),
    config: parseJson(join(folder, 'config.json'), config),
  };
}

async function createSession(folder: string, model: Buffer): Promise<InferenceSession> {
  // One thread: more spin on the cores that others need, and cpusets make the defaults fail.
  const options = { intraOpNumThreads: 1, interOpNumThreads: 1, logSeverityLevel: 4 } as const; // errors come as exceptions
  const session = await InferenceSession.create(model, options).catch((error: unknown) => {
    throw new UnusableModelError(
      `${join(folder, 'model.onnx')} is no ONNX model that can be loaded (${messageOf(error)}). ` +
        'If it was copied or downloaded it may be cut short: fetch it again.',
    );
  });
  const unknown = session.inputNames.filter((name) => !INPUTS.includes(name));
  if (
    unknown.length > 0 ||
    !session.inputNames.includes('input_ids') ||
    !session.inputNames.includes('attention_mask')
  ) {
    throw new UnusableModelError(
      `The model in ${folder} takes ${session.inputNames.join(', ')}; needed are input_ids and attention_mask ` +
        '(token_type_ids may be there): export it for feature extraction.',
    );
  }
  const output = session.outputMetadata.find(({ name }) => name === OUTPUT);
  if (output?.isTensor !== true || output.type !== 'float32' || output.shape.length !== 2) {
    const outputs = session.outputMetadata.map((one) =>
      one.isTensor ? `${one.name} [${one.shape.join(', ')}]` : one.name,
    );
    throw new UnusableModelError(
      `The model in ${folder} gives ${outputs.join(', ')}; needed is a float32 output ${OUTPUT} [batch, dimensions]: ` +
        'export it with pooling and normalising in the graph.',
    );
  }
  return session;
}

function createTokenizer(folder: string, files: ModelFiles): TokenIds {
  const file = join(folder, 'tokenizer.json');
  const definition = parseJson(file, files.tokenizer);
  const config = parseJson(join(folder, 'tokenizer_config.json'), files.tokenizerConfig);
  try {
    return new TokenIds(new Tokenizer(definition, config), definition);
  } catch (error) {
    throw new UnusableModelError(`${file} is no tokenizer that can be used (${messageOf(error)}).`);
  }
}

function checkVector(folder: string, vector: Float32Array): void {
  const length = Math.hypot(...vector);
  if (vector.length > 0 && (length === 0 || Math.abs(length - 1) < 1e-3)) return;
  throw new UnusableModelError(
    `The model in ${folder} gives vectors of length ${length} (${vector.length} dimensions); needed are unit vectors: ` +
      'export it with normalising in the graph.',
  );
}

function fingerprintOf(files: ModelFiles, maxTokens: number): string {
  const digests = [files.model, files.tokenizer, files.tokenizerConfig].map((bytes) =>
    createHash('sha256').update(bytes).digest('hex'),
  );
  return createHash('sha256')
    .update(JSON.stringify(['onnx 1', ...digests, maxTokens]))
    .digest('hex')
    .slice(0, 32);
}

function parseJson(file: string, bytes: Buffer): Record<string, unknown> {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    throw new UnusableModelError(`${file} is no JSON (${messageOf(error)}): fetch it again.`);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
