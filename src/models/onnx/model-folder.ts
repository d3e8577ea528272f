import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';
import { UnusableModelError } from '../embedder.ts';
import { CONFIG_FILES, type Json, type ModelConfigs } from './model-settings.ts';
import type { TokenizerDefinition } from './token-ids.ts';

/** What lies in the folder of a model. */
export interface ModelFiles {
  readonly folder: string;
  readonly model: Buffer;
  readonly tokenizer: Buffer;
  readonly tokenizerConfig: Buffer;
  readonly configs: ModelConfigs;
}

/** @throws UnusableModelError when the folder or one of the files that it needs is missing. */
export async function readModelFolder(folder: string): Promise<ModelFiles> {
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
  const configs: Record<string, Json> = {};
  for (const [name, file] of Object.entries(CONFIG_FILES)) {
    configs[name] = parseJson(join(folder, file), await optional(file));
  }
  return {
    folder,
    model: await required('model.onnx'),
    tokenizer: await required('tokenizer.json'),
    tokenizerConfig: await optional('tokenizer_config.json'),
    configs: configs as unknown as ModelConfigs,
  };
}

/** @throws UnusableModelError */
export function createTokenizer({ folder, tokenizer, tokenizerConfig }: ModelFiles): {
  readonly tokenizer: Tokenizer;
  readonly definition: TokenizerDefinition;
} {
  const file = join(folder, 'tokenizer.json');
  const definition = parseJson(file, tokenizer);
  const config = parseJson(join(folder, 'tokenizer_config.json'), tokenizerConfig);
  try {
    return { tokenizer: new Tokenizer(definition, config), definition };
  } catch (error) {
    throw new UnusableModelError(`${file} is no tokenizer that can be used (${messageOf(error)}).`);
  }
}

/** Changes with the files of a model and with anything else that decides what comes out of it. */
export function fingerprintOf(files: ModelFiles, ...more: readonly (string | number)[]): string {
  const digests = [files.model, files.tokenizer, files.tokenizerConfig].map((bytes) =>
    createHash('sha256').update(bytes).digest('hex'),
  );
  return createHash('sha256')
    .update(JSON.stringify(['onnx 1', ...digests, ...more]))
    .digest('hex')
    .slice(0, 32);
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function parseJson(file: string, bytes: Buffer): Record<string, unknown> {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    throw new UnusableModelError(`${file} is no JSON (${messageOf(error)}): fetch it again.`);
  }
}
