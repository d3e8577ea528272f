import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import type { GraphThreadAnswer, GraphThreadData } from '../src/retrieval/vectors/graph-build.ts';
import { HnswGraph, loadGraphLibrary } from '../src/retrieval/vectors/hnsw-graph.ts';

/** Entry of the thread that builds one graph of vectors, writes it to a file, and ends. */
const port = parentPort;
if (port === null) throw new Error('graph-thread runs as a worker thread only.');

const tell = (answer: GraphThreadAnswer): void => port.postMessage(answer);
const { dimensions, size, file } = workerData as GraphThreadData;
// Requests come first. On Linux this concerns the calling thread alone, elsewhere the whole process.
if (process.platform === 'linux') setPriority(10);

try {
  const graph = HnswGraph.create(await loadGraphLibrary(), dimensions, size);
  let rows = 0;
  port.on('message', (batch: Float32Array) => {
    try {
      graph.add(batch);
      rows += batch.length / dimensions;
      if (rows < size) return;
      graph.write(file);
      tell({ kind: 'built' });
    } catch (error) {
      tell({ kind: 'failed', message: String(error) });
    }
    port.close();
  });
} catch (error) {
  tell({ kind: 'failed', message: String(error) });
}
