import { randomUUID } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { ToolVectors } from '../../../bandit/tool-vectors.ts';
import { threadFile } from '../../../config/package-root.ts';
import { type GraphLibrary, HnswGraph } from './hnsw-graph.ts';

/** The first message to the thread. The vectors follow in batches; then the thread answers with the result. */
export interface GraphThreadData {
  readonly dimensions: number;
  readonly size: number;
  /** Where the graph is to be written. */
  readonly file: string;
}

export type GraphThreadAnswer =
  | { readonly kind: 'built' }
  | { readonly kind: 'failed'; readonly message: string };

export interface GraphBuildOptions {
  readonly library: GraphLibrary;
  /** For files that are deleted after seconds. */
  readonly folder: string;
}

/** About a millisecond of copying. */
const BATCH_ROWS = 2_000;

/**
 * Builds a graph of the vectors at these slots in a thread. A label is an index into `slots`. The vectors are copied in
 * batches, over several turns of the event loop: a caller that changes one meanwhile must not use the old copy. Threads
 * cannot share the graph, so it is returned as a file.
 */
export async function buildGraph(
  slots: Int32Array,
  vectors: ToolVectors,
  { library, folder }: GraphBuildOptions,
  signal: AbortSignal,
): Promise<HnswGraph> {
  const { dimensions } = vectors;
  await mkdir(folder, { recursive: true });
  const file = join(folder, `${randomUUID()}.graph`);
  signal.throwIfAborted();
  const workerData: GraphThreadData = { dimensions, size: slots.length, file };
  const thread = new Worker(threadFile('graph-thread'), { workerData, execArgv: [] });
  const end = (): void => void thread.terminate();
  signal.addEventListener('abort', end);
  try {
    const built = answerOf(thread);
    built.catch(() => undefined); // it is awaited below, if copying gets that far
    for (let start = 0; start < slots.length; start += BATCH_ROWS) {
      const batch = copyRows(slots.subarray(start, start + BATCH_ROWS), vectors);
      thread.postMessage(batch, [batch.buffer]);
      await nextTurn();
      signal.throwIfAborted();
    }
    await built;
    signal.throwIfAborted();
    return await HnswGraph.read(library, dimensions, slots.length, file);
  } finally {
    signal.removeEventListener('abort', end);
    await thread.terminate();
    await rm(file, { force: true });
  }
}

function copyRows(slots: Int32Array, vectors: ToolVectors): Float32Array<ArrayBuffer> {
  const rows = new Float32Array(slots.length * vectors.dimensions);
  for (const [at, slot] of slots.entries()) rows.set(vectors.get(slot), at * vectors.dimensions);
  return rows;
}

function answerOf(thread: Worker): Promise<void> {
  return new Promise((resolve, reject) => {
    thread.once('message', (answer: GraphThreadAnswer) => {
      if (answer.kind === 'built') resolve();
      else reject(new Error(answer.message));
    });
    thread.once('error', reject);
    thread.once('exit', () => reject(new Error('The thread that builds the vector index ended.')));
  });
}
