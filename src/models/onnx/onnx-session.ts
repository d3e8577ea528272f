import { join } from 'node:path';
import { UnusableModelError } from '../embedder.ts';
import { type ModelFiles, messageOf } from './model-folder.ts';

/**
 * The part of onnxruntime-node (1.30.0) that is used here. It is declared by hand, because the package is optional, and the
 * code has to compile without it.
 */
interface Runtime {
  readonly InferenceSession: {
    create(model: Uint8Array, options: Readonly<Record<string, number>>): Promise<NativeSession>;
  };
  readonly Tensor: new (type: 'int64', data: BigInt64Array, shape: readonly number[]) => NativeTensor;
}

interface NativeSession {
  readonly inputNames: readonly string[];
  readonly outputMetadata: readonly GraphOutput[];
  run(
    feeds: Readonly<Record<string, NativeTensor>>,
    outputs: readonly string[],
  ): Promise<Record<string, NativeTensor>>;
}

interface NativeTensor {
  readonly data: unknown;
}

/** What a graph gives. */
export type GraphOutput =
  | { readonly isTensor: false; readonly name: string }
  | {
      readonly isTensor: true;
      readonly name: string;
      readonly type: string;
      /** A size that depends on the input has a name instead of a number. */
      readonly shape: readonly (number | string)[];
    };

/** Not a literal, so that neither compiler nor bundler looks for the package. */
const RUNTIME: string = 'onnxruntime-node';
const INPUTS = ['input_ids', 'attention_mask', 'token_type_ids'];

/** An ONNX graph that takes tokens, in its runtime. */
export class OnnxSession {
  readonly #runtime: Runtime;
  readonly #native: NativeSession;

  private constructor(runtime: Runtime, native: NativeSession) {
    this.#runtime = runtime;
    this.#native = native;
  }

  /** @throws UnusableModelError: also when onnxruntime-node is not installed */
  static async open({ folder, model }: ModelFiles): Promise<OnnxSession> {
    const runtime = await loadRuntime(folder);
    // One thread: more spin on the cores that others need, and cpusets make the defaults fail. Errors come as exceptions.
    const options = { intraOpNumThreads: 1, interOpNumThreads: 1, logSeverityLevel: 4 };
    const native = await runtime.InferenceSession.create(model, options).catch((error: unknown) => {
      throw new UnusableModelError(
        `${join(folder, 'model.onnx')} is no ONNX model that can be loaded (${messageOf(error)}). ` +
          'If it was copied or downloaded it may be cut short: fetch it again.',
      );
    });
    const names = native.inputNames;
    if (
      !INPUTS.slice(0, 2).every((name) => names.includes(name)) ||
      !names.every((name) => INPUTS.includes(name))
    ) {
      throw new UnusableModelError(
        `The model in ${folder} takes ${names.join(', ')}; needed are input_ids and attention_mask ` +
          '(token_type_ids may be there): export it for feature extraction.',
      );
    }
    return new OnnxSession(runtime, native);
  }

  get outputs(): readonly GraphOutput[] {
    return this.#native.outputMetadata;
  }

  /** The outputs with their shapes, for messages. */
  get outputNames(): string {
    const names = this.outputs.map((one) =>
      one.isTensor ? `${one.name} [${one.shape.join(', ')}]` : one.name,
    );
    return names.join(', ');
  }

  /** Runs the graph for one text. @param types 0 or 1 per token: the first or the second text of a pair; null: all 0 */
  async run(ids: readonly number[], types: readonly number[] | null, output: string): Promise<Float32Array> {
    const shape = [1, ids.length];
    const { Tensor } = this.#runtime;
    const feeds: Record<string, NativeTensor> = {
      input_ids: new Tensor('int64', bigIntegers(ids), shape),
      attention_mask: new Tensor('int64', new BigInt64Array(ids.length).fill(1n), shape),
    };
    if (this.#native.inputNames.includes('token_type_ids')) {
      const values = types === null ? new BigInt64Array(ids.length) : bigIntegers(types);
      feeds.token_type_ids = new Tensor('int64', values, shape);
    }
    return (await this.#native.run(feeds, [output]))[output].data as Float32Array;
  }
}

async function loadRuntime(folder: string): Promise<Runtime> {
  try {
    return (await import(RUNTIME)) as Runtime;
  } catch (error) {
    const found = (error as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND';
    throw new UnusableModelError(
      `The model in ${folder} needs the package onnxruntime-node, which ` +
        (found ? `cannot be loaded (${messageOf(error)})` : 'is not installed') +
        ': npm install onnxruntime-node@1.30.0',
    );
  }
}

/** `BigInt64Array.from` with a function takes fifteen times as long. */
function bigIntegers(values: readonly number[]): BigInt64Array {
  const integers = new BigInt64Array(values.length);
  for (let at = 0; at < values.length; at++) integers[at] = BigInt(values[at]);
  return integers;
}
