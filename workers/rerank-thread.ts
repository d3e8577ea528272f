import { parentPort, workerData } from 'node:worker_threads';
import type {
  RerankTask,
  RerankThreadAnswer,
  RerankThreadRequest,
} from '../src/models/onnx/onnx-reranker.ts';
import { PairModel } from '../src/models/onnx/pair-model.ts';
import type { RerankAnswer } from '../src/models/reranker.ts';

/** Entry of the thread in which a cross-encoder runs: one task after the other, none that is late or cancelled. */
const port = parentPort;
if (port === null) throw new Error('rerank-thread runs as a worker thread only.');
const tell = (answer: RerankThreadAnswer): void => port.postMessage(answer);
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

try {
  const model = await PairModel.load((workerData as { folder: string }).folder);
  let last = Promise.resolve();
  const cancelled = new Set<number>();
  port.on('message', (request: RerankThreadRequest) => {
    if (request.kind === 'close') port.close();
    if (request.kind === 'cancel') cancelled.add(request.id);
    if (request.kind !== 'rerank') return;
    const { id } = request;
    last = last
      .then(() => answer(model, request, () => cancelled.has(id)))
      .catch((error: unknown) => ({ missing: `the reranker failed: ${messageOf(error)}` }))
      .then((result) => {
        cancelled.delete(id);
        tell({ kind: 'answer', id, answer: result });
      });
  });
  tell({ kind: 'ready' });
} catch (error) {
  tell({ kind: 'unusable', message: messageOf(error) });
}

async function answer(
  model: PairModel,
  { query, documents, deadline }: RerankTask,
  isCancelled: () => boolean,
): Promise<RerankAnswer> {
  const scores: number[] = [];
  for (const document of documents) {
    if (isCancelled() || Date.now() > deadline) return { missing: 'too late' };
    scores.push(await model.score(query, document));
  }
  return { scores };
}
