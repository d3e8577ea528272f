import { parentPort, workerData } from 'node:worker_threads';
import type { RerankTask, RerankThreadAnswer } from '../src/models/onnx/onnx-reranker.ts';
import { PairModel } from '../src/models/onnx/pair-model.ts';
import type { RerankAnswer } from '../src/models/reranker.ts';

/** The thread in which a cross-encoder runs. Does one task after the other, and none whose time has passed. */
const port = parentPort;
if (port === null) throw new Error('rerank-thread runs as a worker thread only.');
const tell = (answer: RerankThreadAnswer): void => port.postMessage(answer);
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

try {
  const model = await PairModel.load((workerData as { folder: string }).folder);
  let last = Promise.resolve();
  // Null: finish what has been begun, then end.
  port.on('message', (task: RerankTask | null) => {
    if (task === null) {
      port.close();
      return;
    }
    last = last
      .then(() => answer(model, task))
      .catch((error: unknown) => ({ missing: `the reranker failed: ${messageOf(error)}` }))
      .then((result) => tell({ kind: 'answer', id: task.id, answer: result }));
  });
  tell({ kind: 'ready' });
} catch (error) {
  tell({ kind: 'unusable', message: messageOf(error) });
}

async function answer(model: PairModel, { query, documents, deadline }: RerankTask): Promise<RerankAnswer> {
  const scores: number[] = [];
  for (const document of documents) {
    if (Date.now() > deadline) return { missing: 'too late' };
    scores.push(await model.score(query, document));
  }
  return { scores };
}
