import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { CreateVectorIndex } from '../tool-index.ts';
import { ExactIndex } from './exact-index.ts';
import { type GraphLibrary, loadGraphLibrary } from './hnsw-graph.ts';
import { HnswIndex } from './hnsw-index.ts';

/**
 * Returns what creates the vector indexes of catalogs: graphs above 10,000 tools, or exact scans when the package for graphs
 * is not installed.
 * @param onNotice is called when the package is missing, and by the indexes.
 * @param load loads the package; rejects when it is not installed.
 */
export async function vectorIndexes(
  dataDir: string,
  onNotice: (message: string) => void,
  load: () => Promise<GraphLibrary> = loadGraphLibrary,
): Promise<CreateVectorIndex> {
  const folder = join(dataDir, 'vector-graphs');
  // A crash may have left files.
  await rm(folder, { recursive: true, force: true });
  try {
    const library = await load();
    return (kernels, vectors, onChange) => {
      return new HnswIndex(kernels, vectors, { library, folder, onNotice, onChange });
    };
  } catch (error) {
    onNotice(
      `hnswlib-node cannot be loaded (${String(error).split('\n')[0]}): every query is compared with every tool, which is fine up to some 20,000`,
    );
    return (kernels, vectors) => new ExactIndex(kernels, vectors);
  }
}
