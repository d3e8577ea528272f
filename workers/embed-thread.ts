import { parentPort, workerData } from 'node:worker_threads';
import type { EmbedAnswer, EmbedRequest, EmbedThreadData } from '../src/models/onnx/embed-thread.ts';
import { SentenceModel } from '../src/models/onnx/sentence-model.ts';

/**
 * The thread in which the embedding model runs: inference blocks the event loop it is called from. Its
 * first message says whether the model could be loaded; then it answers every list of texts with their vectors.
 */
const port = parentPort;
if (port === null) throw new Error('embed-thread runs as a worker thread only.');

const tell = (answer: EmbedAnswer, transfer: ArrayBuffer[] = []): void => port.postMessage(answer, transfer);
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

try {
  const model = await SentenceModel.load((workerData as EmbedThreadData).folder);
  let last = Promise.resolve();
  port.on('message', (request: EmbedRequest) => {
    if (request.kind === 'close') {
      port.close();
      return;
    }
    const { id, texts } = request;
    last = last
      .then(() => model.embed(texts))
      .then((embedded) => tell({ kind: 'vectors', id, ...embedded }, [embedded.vectors.buffer]))
      .catch((error: unknown) => tell({ kind: 'failed', id, message: messageOf(error) }));
  });
  const { dimensions, fingerprint, settings } = model;
  const prefixes = { query: settings.queryPrefix, document: settings.documentPrefix };
  tell({ kind: 'ready', dimensions, fingerprint, prefixes });
} catch (error) {
  tell({ kind: 'unusable', message: messageOf(error) });
}
