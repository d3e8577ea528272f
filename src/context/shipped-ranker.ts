import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ContextRanker } from '../../bandit/ranking/context-ranker.ts';
import { packageRoot } from '../../config/package-root.ts';

/** The ranker that is in the package. @throws TreesUnreadableError, or what reading the file throws: the package is damaged */
export async function shippedContextRanker(): Promise<ContextRanker> {
  return ContextRanker.decode(
    await readFile(join(packageRoot(), 'models', 'context-ranker', 'context-ranker.bin')),
  );
}
