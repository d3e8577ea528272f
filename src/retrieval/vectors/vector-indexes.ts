import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { CreateVectorIndex } from '../tool-index.ts';
import { ExactIndex } from './exact-index.ts';
import { type GraphLibrary, loadGraphLibrary } from './hnsw-graph.ts';
import { HnswIndex } from './hnsw-index.ts';

/**
 * Returns how catalogs search their vectors: with a graph above 10,000 tools, and with exact scans wherever the package for
 * it is not there.
 * @param onNotice is called when the package is missing, and by the indexes.
 * @param load fetches the package; rejects where it is not there.
 */
export async function vectorIndexes(
  dataDir: string,
  onNotice: (message: string) => void,
  load: () => Promise<GraphLibrary> = loadGraphLibrary,
): Promise<CreateVectorIndex> {
  const folder = join(dataDir, 'vector-graphs');
  // What a crash may have left behind.
  await rm(folder, { recursive: true, force: true });
  try {
    const library = await load();
    return (kernels, vectors) => new HnswIndex(kernels, vectors, { library, folder, onNotice });
  } catch (error) {
    onNotice(
      `hnswlib-node is not there (${String(error).split('\n')[0]}): every query is compared with every tool, which is fine up to some 20,000`,
    );
    return (kernels, vectors) => new ExactIndex(kernels, vectors);
  }
}
