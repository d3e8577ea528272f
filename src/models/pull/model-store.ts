import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

const NAME = /^[A-Za-z0-9][\w.-]{0,95}(?:\/[A-Za-z0-9][\w.-]{0,95})?$/;

/** Where pulled models lie: a folder each, `owner--name` for `owner/name`. */
export function modelsFolder(dataDir: string): string {
  return join(dataDir, 'models');
}

/** The folder of a pulled model, there or not; null where this can be the name of none. */
export function pulledModelFolder(dataDir: string, name: string): string | null {
  return NAME.test(name) ? join(modelsFolder(dataDir), name.replace('/', '--')) : null;
}

/** Names of the models that were pulled. */
export async function pulledModels(dataDir: string): Promise<string[]> {
  const folder = modelsFolder(dataDir);
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries
    .filter(
      (entry) =>
        entry.isDirectory() && NAME.test(entry.name) && existsSync(join(folder, entry.name, 'model.onnx')),
    )
    .map(({ name }) => name.replace('--', '/'))
    .sort();
}
