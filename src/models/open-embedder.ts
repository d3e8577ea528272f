import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../config/package-root.ts';
import type { Embedder, EmbedderListeners } from './embedder.ts';
import { OnnxEmbedder } from './onnx/onnx-embedder.ts';
import { StaticEmbedder } from './static/static-embedder.ts';
import { STATIC_MODEL_FILE, StaticModel } from './static/static-model.ts';

/** The folder of the model that comes with bandolier. */
export function bundledModelFolder(): string {
  return join(packageRoot(), 'models', 'tool-static-256');
}

/** The model folder that a setting means: `bundled`, `none` (null), or a folder. */
export function modelFolder(model: string): string | null {
  if (model === 'none') return null;
  return model === 'bundled' ? bundledModelFolder() : model;
}

/** Opens what lies in a folder: a static model, else an ONNX model. @throws UnusableModelError when it cannot be used */
export async function openModelFolder(folder: string, listeners: EmbedderListeners = {}): Promise<Embedder> {
  const file = join(folder, STATIC_MODEL_FILE);
  if (existsSync(file)) return new StaticEmbedder(await StaticModel.read(file), listeners);
  return OnnxEmbedder.open({ folder, ...listeners });
}

/** The same for a setting; null: no embedder. @throws UnusableModelError when the folder holds no model that can be used */
export async function openEmbedder(model: string): Promise<Embedder | null> {
  const folder = modelFolder(model);
  return folder === null ? null : openModelFolder(folder);
}
