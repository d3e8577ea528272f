import { join } from 'node:path';
import { packageRoot } from '../../../config/package-root.ts';
import type { Embedder } from '../embedder.ts';
import { OnnxEmbedder, type OnnxEmbedderOptions } from './onnx-embedder.ts';

/** The model folder that a setting means: `bundled`, `none` (null), or a folder. */
export function modelFolder(model: string): string | null {
  if (model === 'none') return null;
  return model === 'bundled' ? join(packageRoot(), 'models', 'tool-static-256') : model;
}

/** @throws UnusableModelError when the folder holds no model that can be used. */
export async function openEmbedder(
  model: string,
  listeners: Pick<OnnxEmbedderOptions, 'onChange' | 'onTexts'> = {},
): Promise<Embedder | null> {
  const folder = modelFolder(model);
  return folder === null ? null : OnnxEmbedder.open({ folder, ...listeners });
}
